"""Verdicts read from details, and the calibration of their confidences."""

from typing import Any

import numpy as np
import pytest

from rag_evaluator.features.certify import BINARY, Label, Labelled, ratings_of, row_calibration, statement_figures
from rag_evaluator.results import numbers_of
from rag_evaluator.statistics import Scale


def record(*verdicts: int, confidence: tuple[float, ...] = (), **more: Any) -> dict[str, Any]:
    parts = [{"statement": f" s{place} ", "reason": "r", "verdict": value} for place, value in enumerate(verdicts)]
    first = {"response": {"statements": [f"s{place}" for place in range(len(verdicts))]}, "confidence": []}
    return {"judgements": [first, {"response": {"statements": parts}, "confidence": list(confidence), **more}]}


def test_verdicts_have_their_statement_and_their_confidence() -> None:
    found = numbers_of(record(1, 0, confidence=(0.9, 0.7)))
    assert [(verdict.value, verdict.statement, verdict.confidence) for verdict in found] == [
        (1.0, "s0", 0.9),
        (0.0, "s1", 0.7),
    ]
    assert [verdict.confidence for verdict in numbers_of(record(1, 0))] == [None, None]
    assert not list(numbers_of({"judgements": [{"response": None, "error": "e", "confidence": []}]}))


def statement(row: int, text: str, value: float, annotator: str = "") -> Label:
    return Label(row, "faithfulness", annotator, text, value, f"l.csv, row {row}")


def test_a_judge_that_says_nine_tenths_and_is_right_as_often_is_calibrated() -> None:
    """120 verdicts of 1 with 0.9, of which people confirm 108: the error is 0 and below what chance gives."""
    records = {row: [record(1, 1, confidence=(0.9, 0.9))] for row in range(60)}
    labels = [statement(row, f"s{place}", float(row >= 12 or place)) for row in range(60) for place in (0, 1)]
    found = statement_figures(labels, records, 0.95)
    assert found["calibration"]["n"] == 120
    assert found["calibration"]["error"] == pytest.approx(0.0, abs=1e-9)
    assert found["calibration"]["expected"] > 0.01
    assert found["binary"]["confusion"]["true_positive"] == 108


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


def test_rows_count_in_the_calibration_where_one_verdict_made_the_score() -> None:
    """110 rows with one verdict, right in 88; ten rows with two verdicts do not count."""
    records = {row: [record(1, confidence=(0.8,))] for row in range(110)}
    records |= {row: [record(1, 1, confidence=(0.8, 0.8))] for row in range(110, 120)}
    labels = [Label(row, "m", "", None, float(row >= 22), "") for row in range(120)]
    metric = Labelled("m", np.ones(120), Scale(), ratings_of(labels, 120), BINARY, "all")
    found = row_calibration(metric, records)
    assert found["n"] == 110
    assert found["error"] == pytest.approx(0.0, abs=1e-9)
