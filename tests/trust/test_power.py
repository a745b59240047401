"""How small a difference n rows can show, and how many rows an effect needs."""

from itertools import pairwise

import numpy as np
import pytest

from rag_evaluator.statistics import Paired, Scale, compare_scores, difference_test
from rag_evaluator.statistics.paired import rows_needed, smallest_difference


def test_half_a_standard_deviation_needs_34_pairs() -> None:
    """The entry of Cohen's tables for a paired t test: d = 0.5, alpha = 0.05 two-sided, power 0.8."""
    assert rows_needed(0.3, 0.15) == 34
    assert smallest_difference(0.3, 34) == pytest.approx(0.15, abs=0.002)


def test_more_rows_show_a_smaller_difference_in_units_of_the_metric() -> None:
    assert smallest_difference(0.2, 10_000) == pytest.approx(2.802 * 0.2 / 100, rel=1e-3)  # 1.960 + 0.842 = 2.802
    assert smallest_difference(0.2, 100) == pytest.approx(2 * (smallest_difference(0.1, 100) or 0))


def simulated(mean: float, std: float, rows: int) -> float:
    """How often a difference with this true mean has a p of at most 0.05."""
    drawn = np.random.default_rng(6).normal(mean, std, (600, rows))
    return float(np.mean([(difference_test(row, Scale(kind="continuous")).p or 0) <= 0.05 for row in drawn]))


@pytest.mark.parametrize(("mean", "std"), [(0.05, 0.1), (0.1, 0.2), (0.15, 0.3)])
def test_the_rows_that_are_needed_find_the_difference_in_80_of_100_cases(mean: float, std: float) -> None:
    rows = rows_needed(std, mean, width=1.0)
    assert rows is not None
    assert rows > (rows_needed(std, mean) or 0)
    assert simulated(mean, std, rows) == pytest.approx(0.8, abs=0.04)
    assert smallest_difference(std, rows, width=1.0) == pytest.approx(mean, rel=0.03)


def test_clusters_count_for_as_many_rows_as_they_are_worth() -> None:
    assert smallest_difference(0.3, 68, design_effect=2.0) == smallest_difference(0.3, 34)
    assert rows_needed(0.3, 0.15, design_effect=2.0) == pytest.approx(2 * 34, abs=1)


@pytest.mark.parametrize("scale", [Scale(), Scale(kind="continuous")])
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


@pytest.mark.parametrize(("std", "n"), [(None, 0), (0.0, 50), (1e-9, 50)])
def test_without_a_spread_nothing_is_promised(std: float | None, n: int) -> None:
    assert smallest_difference(std, n) is None
    assert rows_needed(std, 0.05) is None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("std", "effect", "rows"), [(0.001, 1.0, 2), (0.01, 0.05, 3), (0.5, 1e-4, 196_222_000)])
def test_an_effect_far_from_usual_gives_a_number_without_a_warning(std: float, effect: float, rows: int) -> None:
    assert rows_needed(std, effect) == pytest.approx(rows, rel=1e-3)


def test_every_number_of_rows_has_a_smallest_difference_above_zero_that_falls_with_the_rows() -> None:
    found = [smallest_difference(1.0, n) or 0.0 for n in range(3, 121)]  # the solver gives -0.33 for 73, in an array

    assert all(later < earlier for earlier, later in pairwise(found))
    assert min(found) > 0
