"""Rows of a test set that exists already, as candidates: what people or other programs have made is checked, too."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rag_evaluator.dataset import Sample
from rag_evaluator.files.digest import short_digest
from rag_evaluator.tasks.testset.candidate import Candidate

CONTEXTS = ("reference_contexts", "retrieved_contexts")  # the first that a row has holds its answer
READ = ("user_input", "reference", "answerable", *CONTEXTS)
NO_QUESTION, NO_ANSWER, NO_CONTEXT = "no question in this row", "no reference in this row", "no context in this row"


@dataclass(frozen=True)
class RowUnit:
    """A row to be checked; `index` is its place."""

    index: int
    sample: Sample

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits of what is checked."""
        return short_digest(self.sample.digest_of(READ))


def units_of(samples: Sequence[Sample]) -> list[RowUnit]:
    """The rows of a dataset, in order."""
    return [RowUnit(sample.index, sample) for sample in samples]


@dataclass(frozen=True)
class Contexts:
    """All contexts of a dataset, each once.

    Attributes:
        texts: in order of first appearance.
        places: text -> place.
    """

    texts: Sequence[str]
    places: dict[str, int]

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> "Contexts":
        """Those of all rows, retrieved or correct."""
        texts = dict.fromkeys(text for sample in samples for name in CONTEXTS for text in sample.columns.get(name, ()))
        return cls(list(texts), {text: place for place, text in enumerate(texts)})


def missing_of(sample: Sample) -> str | None:
    """Why a row cannot be checked; None if it can."""
    if not sample.has("user_input"):
        return NO_QUESTION
    if sample.columns.get("answerable") is False:
        return None
    if not sample.has("reference"):
        return NO_ANSWER
    return None if any(sample.has(name) for name in CONTEXTS) else NO_CONTEXT


def candidate_of(sample: Sample, contexts: Contexts, vector: Sequence[float]) -> Candidate:
    """The row as a candidate; its kind says only whether it is meant to be answered."""
    own: list[str] = next((sample.columns[name] for name in CONTEXTS if sample.has(name)), [])
    kind = "unanswerable" if sample.columns.get("answerable") is False else "single_fact"
    return Candidate(
        kind,
        sample.columns["user_input"].strip(),
        str(sample.columns.get("reference", "")).strip(),
        tuple(contexts.places[text] for text in own),
        tuple(own),
        tuple(vector),
    )
