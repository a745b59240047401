"""How small a difference n rows can show, and how many rows an effect needs."""

from itertools import pairwise

import numpy as np
import pytest

from rag_evaluator.statistics import MetricComparison, Paired, Scale, compare_scores, difference_test

WIDE = Scale(kind="continuous")


def compared(std: float, rows: int, effect: float = 0.05, scale: Scale | None = None) -> MetricComparison:
    """Two runs whose differences, half of them up and half down, have this standard deviation.

    Without a scale the deviation is its whole range: so no large fall is possible that no row shows.
    """
    signs = np.resize([1.0, -1.0], rows)
    differences = signs * std / np.std(signs, ddof=1)
    [row] = compare_scores(
        [Paired("m", np.zeros(rows), differences, scale or Scale(0.0, std, "continuous"))], effect=effect
    )
    return row


def test_half_a_standard_deviation_needs_34_pairs() -> None:
    """The entry of Cohen's tables for a paired t test: d = 0.5, alpha = 0.05 two-sided, power 0.8."""
    row = compared(0.3, 34, 0.15)
    assert row.rows_needed == 34
    assert row.smallest_difference == pytest.approx(0.15, abs=0.002)


def simulated(mean: float, std: float, rows: int) -> float:
    """How often a difference with this true mean has a p of at most 0.05."""
    drawn = np.random.default_rng(6).normal(mean, std, (600, rows))
    return float(np.mean([(difference_test(row, WIDE).p or 0) <= 0.05 for row in drawn]))


@pytest.mark.parametrize(("mean", "std"), [(0.05, 0.1), (0.1, 0.2), (0.15, 0.3)])
def test_the_rows_that_are_needed_find_the_difference_in_80_of_100_cases(mean: float, std: float) -> None:
    rows = compared(std, 100, mean, WIDE).rows_needed
    assert rows is not None
    assert rows > (compared(std, 100, mean).rows_needed or 0)
    assert simulated(mean, std, rows) == pytest.approx(0.8, abs=0.04)
    assert compared(std, rows, scale=WIDE).smallest_difference == pytest.approx(mean, rel=0.03)


@pytest.mark.parametrize("scale", [Scale(), WIDE])
def test_rows_of_a_cluster_that_are_all_equal_count_as_one_row(scale: Scale) -> None:
    a = np.array([0.2, 0.4, 0.4, 0.6, 0.9, 0.5])
    b = np.array([0.3, 0.4, 0.7, 0.5, 1.0, 0.8])
    [alone] = compare_scores([Paired("m", a, b, scale)])
    five = [str(place) for place in range(6) for _ in range(5)]
    [of_clusters] = compare_scores([Paired("m", a.repeat(5), b.repeat(5), scale)], five)
    assert of_clusters.difference.ci_low == pytest.approx(alone.difference.ci_low)
    assert of_clusters.smallest_difference == pytest.approx(alone.smallest_difference)
    assert alone.rows_needed is not None
    assert of_clusters.rows_needed == 5 * alone.rows_needed


def test_a_difference_that_the_scale_does_not_have_is_none_that_rows_can_show() -> None:
    [few] = compare_scores([Paired("m", np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]), Scale())])
    assert few.smallest_difference is None
    assert few.rows_needed is not None


@pytest.mark.parametrize("differences", [[], [0.0] * 50, [1e-9, -1e-9] * 25])
def test_without_a_spread_nothing_is_promised(differences: list[float]) -> None:
    [row] = compare_scores([Paired("m", np.zeros(len(differences)), np.array(differences), WIDE)])
    assert row.smallest_difference is None
    assert row.rows_needed is None


@pytest.mark.filterwarnings("error")
def test_an_effect_far_from_usual_gives_a_number_without_a_warning() -> None:
    assert compared(0.5, 50, 1e-4).rows_needed == pytest.approx(196_222_000, rel=1e-3)
    assert compared(0.001, 50, 1.0, WIDE).rows_needed == 5  # 2 (5 log(1 + k) + 0.4 log(1 - k)) > 1.96², k = 4.6 / 5.4


def test_every_number_of_rows_has_a_smallest_difference_above_zero_that_falls_with_the_rows() -> None:
    # the solver of scipy gives -0.33 standard deviations for 73 rows, in an array
    smallest = [compared(0.1, rows).smallest_difference or 0.0 for rows in range(12, 121)]
    assert all(later < earlier for earlier, later in pairwise(smallest))
    assert min(smallest) > 0
