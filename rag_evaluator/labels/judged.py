"""What the judge said one by one: its verdicts on statements, with their confidences, from `details.jsonl`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rag_evaluator.dataset.keys import as_key
from rag_evaluator.results.reasons import parts_of

Record = Mapping[str, Any]  # a line of `details.jsonl`; Any: JSON


class JudgedVerdict(NamedTuple):
    """A number in an answer of the judge.

    Attributes:
        statement: the text that it is about; None where the answer names none.
        confidence: its probability among those that were allowed; None where the judge gives none.
    """

    value: float
    statement: str | None
    confidence: float | None


def verdicts_of(record: Record) -> list[JudgedVerdict]:
    """The verdicts and ratings behind a score, in order."""
    return [verdict for judgement in record.get("judgements", ()) for verdict in _verdicts(judgement)]


def _verdicts(judgement: Mapping[str, Any]) -> Iterator[JudgedVerdict]:
    found = [
        (float(value), as_key(part.get("statement")))
        for _, part in parts_of(judgement.get("response"))
        for value in part.values()
        if isinstance(value, int | float)
    ]
    confidences: Sequence[float | None] = judgement.get("confidence") or ()
    if len(confidences) != len(found):
        confidences = [None] * len(found)
    for (value, statement), confidence in zip(found, confidences, strict=True):
        yield JudgedVerdict(value, statement, confidence)


def doubt(records: Sequence[Record]) -> float | None:
    """How unsure the judge was of a row: 1 less its mean confidence, from 0; None where it gave no confidences."""
    confidences = [
        verdict.confidence for record in records for verdict in verdicts_of(record) if verdict.confidence is not None
    ]
    return 1 - sum(confidences) / len(confidences) if confidences else None
