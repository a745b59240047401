"""A candidate: a question with its answer, what it was made from, and what the filters say of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rag_evaluator.tasks.testset.kinds import KINDS

NOT_CHECKED = "could not be checked"  # how the reason of a verdict begins that is none


@dataclass(frozen=True)
class FilterVerdict:
    """What a filter says.

    Attributes:
        keep: whether the candidate stays.
        reason: why not, or why it could not be checked.
        details: what the filter saw: answers, probabilities. Any: JSON.
    """

    keep: bool
    reason: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"keep": self.keep, "reason": self.reason, **self.details}


@dataclass(frozen=True)
class Candidate:
    """A question that may become part of a test set.

    Attributes:
        kind: name of a row of `KINDS`.
        question, answer: texts without blanks around them.
        chunks: places in the corpus of what it was made from.
        contexts: their texts.
        vector: of the question.
    """

    kind: str
    question: str
    answer: str
    chunks: tuple[int, ...]
    contexts: tuple[str, ...]
    vector: tuple[float, ...] = field(repr=False, default=())

    @property
    def is_answerable(self) -> bool:
        """Whether its documents are meant to hold the answer."""
        return KINDS[self.kind].answerable

    def to_json(self) -> dict[str, Any]:
        """All but texts and vector, which are kept elsewhere."""
        fields = asdict(self)
        return {name: fields[name] for name in ("kind", "question", "answer", "chunks")}
