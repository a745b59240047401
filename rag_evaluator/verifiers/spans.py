"""What marks of people in a response say of its sentences."""

from collections import defaultdict

from rag_evaluator.config import Language
from rag_evaluator.dataset import Sample, as_key, library_errors

from .counted import sentences_of


def labels_by_spans(sample: Sample, column: str, language: Language) -> dict[str | None, int | None]:
    """Sentence of a response -> 1 where people accept it, 0 where not, None where they have not decided.

    Args:
        column: of the row: `start` and `end` of each span in the response as written, and `label`; without one a span
            is not accepted. Of all that overlap a sentence 0 counts before None, both before 1; a sentence without a
            span is accepted.

    Raises `DatasetError` for what are no spans.
    """
    text = sample.columns.get("response", "")
    places = sample.response.places if sample.response else range(len(text))
    marks = defaultdict[str | None, set[int | None]](set)
    with library_errors(f"{sample.where}, column '{column}'", "objects with start, end and label", "Correct them."):
        spans = [(span["start"], span["end"], span.get("label", 0)) for span in sample.row[column]]
        for sentence in sentences_of(text, language):
            first = places[sentence.start]
            last = places[sentence.end - 1]
            marks[as_key(sentence.text)] |= {label for start, end, label in spans if start <= last and end > first}
    return {text: next((label for label in (0, None) if label in found), 1) for text, found in marks.items()}
