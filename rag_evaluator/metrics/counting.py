"""The free baseline of a row: what counting words and sentences gives of it, without a model."""

import math
from collections.abc import Mapping, Sequence

from rag_evaluator.config import find_language
from rag_evaluator.dataset import Sample
from rag_evaluator.verifiers import StopWords, sentences_of, share_of_words

from .options import SupportOptions
from .row import Component, Metric
from .table import METRICS

COUNTED: Mapping[Component, tuple[Sequence[str], Sequence[str]]] = {
    "generation": (("response",), ("reference", "retrieved_contexts", "reference_contexts", "user_input")),
    "retrieval": (("user_input", "reference", "response", "reference_contexts"), ("retrieved_contexts",)),
}
"""Part of the system -> texts whose words are counted, all that a metric reads; and where they are looked for, in the
first of these columns that it reads."""
EVERY = ("user_input", "response", "reference", "retrieved_contexts", "reference_contexts")
NOTHING: Mapping[str, float] = {"words": math.nan, "sentences": math.nan}
"""Of a row in which nothing can be counted."""


class RowCounter:
    """What counting gives of rows for a metric.

    Args:
        metric: its columns say what is counted, and where.
        language: of the texts.
    """

    def __init__(self, metric: Metric, language: str) -> None:
        self.language = find_language(language)
        self.stop_words = StopWords.of(self.language.name).words
        texts, places = COUNTED[metric.component]
        if metric.settings is SupportOptions:  # its columns are the evidence and the text
            places, texts = ((column,) for column in metric.columns)
        self.texts = [column for column in texts if column in metric.columns]
        self.places = [column for column in places if column in metric.columns]

    def count(self, sample: Sample, statement: str | None = None) -> dict[str, float]:
        """Return `words`, the `share_of_words` of the row's texts, or of a statement, that the evidence has; and
        `sentences`, the negative number of sentences of these texts, so that fewer are better.

        A value depends on no other row. Where no content word is there all words count. NaN: the row has no such text,
        or no evidence.
        """
        text = "\n".join(_text(sample, column) for column in self.texts if sample.has(column))
        evidence = next((column for column in self.places if sample.value(column) is not None), None)
        if not text or evidence is None:
            return dict(NOTHING)
        sides = (statement or text, _text(sample, evidence))
        share = share_of_words(*sides, self.stop_words)
        if math.isnan(share):  # "no"
            share = share_of_words(*sides, ())
        return {"words": share, "sentences": -float(len(sentences_of(text, self.language)))}


def counter_of(name: str, component: Component, language: str) -> RowCounter:
    """Return the counter of a metric by its name; one of the user's own may read every text."""
    return RowCounter(METRICS.get(name) or Metric("", EVERY, component=component), language)


def _text(sample: Sample, column: str) -> str:
    value = sample.value(column)
    return value if isinstance(value, str) else "\n".join(value or ())
