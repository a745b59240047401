"""docs/intervals.md and docs/tests-and-labels.md: the numbers of their examples are what the code gives."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from rag_evaluator import METRICS
from rag_evaluator.statistics import Scale, difference_interval, difference_test, mean_interval, missing_bounds

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [(DOCS / name).read_text("utf-8") for name in ("intervals.md", "tests-and-labels.md")]
TEXT = re.sub(r"\s+", " ", "\n".join(PAGES))
SCORES = [1, 1, 1, 1, 1, 0.5, 0.5, 0]
JUDGED = Scale()


def ends(estimate: object) -> str:
    return f"[{estimate.ci_low:.3f}, {estimate.ci_high:.3f}]".replace("-", "−")  # type: ignore[attr-defined]


def test_each_step_of_the_example_is_what_the_code_computes() -> None:
    assert "judged scores " + ", ".join(map(str, SCORES)) in TEXT
    values = np.array([*SCORES, 0, 1])
    weights = np.array([1] * 8 + [5 / 8] * 2)
    shares = weights / weights.sum()
    mean = np.sum(shares * values)
    variance = np.sum((shares * (values - mean)) ** 2 / (1 - shares))
    assert f"m' = 6.625 / 9.25 = {mean:.4f}" in TEXT
    assert f"/ (1 − p) = {variance:.5f}" in TEXT
    assert f"n_eff = 0.2033 / 0.01613 × 8 / (8 + 2 w) = {mean * (1 - mean) / variance * 8 / 9.25:.2f} rows" in TEXT
    assert f"The result is 0.75 {ends(mean_interval(SCORES, JUDGED))}." in TEXT


def test_the_other_examples_are_what_the_code_computes() -> None:
    assert f"which is {ends(difference_interval([0] * 9 + [1], JUDGED))}." in TEXT
    ties = np.array([0.0] * 9 + [1.0])
    p = difference_test(ties, JUDGED).p or 0.0
    assert f"the root is {stats.norm.isf(p / 2):.3f}" in TEXT
    assert f"the larger one: {p:.3f}." in TEXT
    relevancy = [0.9, 0.8, 0.85, 0.95, 0.75, 0.85, 0.9, 0.8, 0, 0]
    assert f"`answer_relevancy` {', '.join(map(str, relevancy))}." in TEXT
    assert f": {ends(mean_interval(relevancy, METRICS['answer_relevancy'].scale))}." in TEXT
    clustered = mean_interval(SCORES, JUDGED, clusters=[1, 1, 2, 2, 3, 3, 4, 4])
    assert f"these four numbers give 0.75 {ends(clustered)}." in TEXT
    assert f"Wilson's says [{mean_interval([1] * 20, JUDGED).ci_low:.2f}, 1]" in TEXT
    low, high = missing_bounds([*SCORES, None, float("nan")], JUDGED)
    assert f"the bounds of the example are 6 / 10 = {low} and 8 / 10 = {high}." in TEXT


def test_the_page_names_every_method() -> None:
    for scores in ([], [0.5], [0.5, 0.7]):
        for scale in (JUDGED, Scale(kind="continuous"), METRICS["answer_relevancy"].scale):
            for function in (mean_interval, difference_interval):
                assert f"`{function(scores, scale).ci_method}`" in TEXT
    assert f"`{mean_interval([0, 1], JUDGED, clusters='aa').ci_method}`" in TEXT
    assert f"`{mean_interval([0, 1], JUDGED, weights=[1, 1e9]).ci_method}`" in TEXT


def test_bounds_of_missing_scores_use_the_range() -> None:
    assert missing_bounds([0.5, None], Scale(-1.0, 1.0)) == (-0.25, 0.75)
    assert missing_bounds([0.2, 0.4], JUDGED) == (pytest.approx(0.3), pytest.approx(0.3))
    assert missing_bounds([None], JUDGED) == (0.0, 1.0)
    assert missing_bounds([], JUDGED) == (None, None)
