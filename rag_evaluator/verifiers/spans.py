"""What marks of people in a response say of its sentences."""

from collections import defaultdict
from collections.abc import Sequence

from rag_evaluator.config import Language
from rag_evaluator.dataset import Sample, as_key
from rag_evaluator.files import Json

from .counted import sentences_of


def labels_by_spans(sample: Sample, spans: Sequence[Json], language: Language) -> dict[str | None, int | None]:
    """Sentence of a response -> 1 where people accept it, 0 where not, None where they have not decided.

    Args:
        spans: `start` and `end` in the response as written, and `label`; without one the span is not accepted. Of all
            that overlap a sentence 0 counts before None, both before 1; a sentence without a span is accepted.
    """
    text = sample.columns.get("response", "")
    places = sample.response.places if sample.response else range(len(text))
    marks = defaultdict[str | None, set[int | None]](set)
    for sentence in sentences_of(text, language):
        start = places[sentence.start]
        end = places[sentence.end - 1]
        found = {span.get("label", 0) for span in spans if span["start"] <= end and span["end"] > start}
        marks[as_key(sentence.text)] |= found
    return {text: next((label for label in (0, None) if label in found), 1) for text, found in marks.items()}
