"""AUCs of several scores: what differences mean, and that their intervals hold together."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.judges import simulated
from rag_evaluator.statistics import compare_with_baselines, rank_areas

LABELS = np.array([1, 1, 1, 0, 0, 0] * 8, dtype=float)
RNG = np.random.default_rng(0)
GOOD = LABELS + RNG.standard_normal(48)
POOR = RNG.standard_normal(48)


def test_two_scores_have_the_interval_of_certify() -> None:
    """Rows that depend on nothing; DeLong's factor for each class is that of leaving rows out."""
    ranking = rank_areas({"good": GOOD, "poor": POOR}, LABELS, draws=200_000)
    beside = compare_with_baselines(GOOD, LABELS, {"poor": POOR})
    assert beside is not None
    difference = ranking.differences["good", "poor"]
    assert ranking.areas["good"] == beside.area
    assert difference.value == pytest.approx(beside.baselines["poor"].difference.value)
    assert ranking.quantile == pytest.approx(stats.t(23).ppf(0.975), abs=0.02)
    assert difference.ci_low == pytest.approx(beside.baselines["poor"].difference.ci_low, abs=0.01)


def test_a_pair_with_a_missing_score_counts_half() -> None:
    silent = np.where(np.arange(48) < 24, LABELS, np.nan)  # right wherever it answers: 1/4 of the pairs
    ranking = rank_areas({"silent": silent, "perfect": LABELS}, LABELS)
    assert ranking.areas["silent"].value == 0.625
    assert ranking.differences["perfect", "silent"].ci_low > 0  # type: ignore[operator]


def test_scores_without_an_error_are_not_certain_and_equal_ones_are_the_same() -> None:
    ranking = rank_areas({"a": LABELS, "b": LABELS * 2, "c": LABELS.copy(), "poor": POOR}, LABELS)
    assert ranking.same == {("a", "c"), ("c", "a")}
    assert ranking.differences["a", "c"].ci_high == 0
    assert ranking.differences["a", "b"].ci_high > 0.05  # type: ignore[operator]
    assert ranking.areas["a"].ci_low < 1  # type: ignore[operator]


def test_more_labels_are_told_where_they_would_show_it() -> None:
    ranking = rank_areas({"good": GOOD, "poor": POOR}, LABELS)
    assert ranking.more_labels("poor", "good", 0.0) is None
    few, more = (ranking.more_labels("good", "poor", limit) for limit in (-0.2, -0.1))
    assert few is not None and more is not None and few < more


@pytest.mark.slow
@pytest.mark.parametrize("size", [120, 240])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_intervals_hold_together(size: int, share: float) -> None:
    data, covered, different = simulated(size, share, 1000)
    assert covered / data >= 0.93
    assert different / data <= 15 / 200
