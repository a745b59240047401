"""Verdicts read from details, compared with labels of statements."""

from typing import Any

from rag_evaluator.features.certify.certification import statement_figures
from rag_evaluator.features.certify.table import Label


def record(*verdicts: int, confidence: tuple[float, ...] = (), **more: Any) -> dict[str, Any]:
    parts = [{"statement": f" s{place} ", "reason": "r", "verdict": value} for place, value in enumerate(verdicts)]
    first = {"response": {"statements": [f"s{place}" for place in range(len(verdicts))]}, "confidence": []}
    return {"judgements": [first, {"response": {"statements": parts}, "confidence": list(confidence), **more}]}


def statement(row: int, text: str, value: float, annotator: str = "") -> Label:
    return Label(row, "faithfulness", annotator, text, value, f"l.csv, row {row}")


def test_the_probability_of_1_makes_the_auc_of_statements() -> None:
    """All verdicts are 1, so that only the confidences can tell: 0.9 where people agree, 0.6 where not."""
    records = {row: [record(1, confidence=(0.9 if row % 2 else 0.6,))] for row in range(40)}
    found = statement_figures([statement(row, "s0", float(row % 2)) for row in range(40)], records, 0.95)
    assert found["binary"]["auc"]["value"] == 1.0
    assert found["binary"]["agreement"]["mean"] == 0.5


def test_statements_with_several_verdicts_that_differ_are_counted_and_left_out() -> None:
    twice = {"judgements": [{"response": [{"statement": "s0", "verdict": value} for value in (0, 1)]}]}
    records = {0: [twice], **{row: [record(1)] for row in range(1, 31)}}
    labels = [statement(row, "s0", 1.0) for row in range(31)] + [statement(1, "s0", 0.0, "bob")]
    found = statement_figures(labels, records, 0.95)
    assert (found["labels"], found["unclear"], found["tied"]) == (29, 1, 1)
