"""Paired comparison of scores: every figure worked out by hand or by scipy."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest
import scipy.stats

from rag_evaluator import METRICS
from rag_evaluator.statistics import Paired, Scale, compare_scores, difference_interval, difference_test

JUDGED = Scale()
LOWER = Scale(better="lower")
NAN = math.nan


def paired(metric: str, a: Sequence[float], b: Sequence[float], scale: Scale) -> Paired:
    return Paired(metric, np.array(a, float), np.array(b, float), scale)


def test_means_and_differences_are_those_of_rows_that_both_sides_scored() -> None:
    pair = paired("faithfulness", [0.5, 1.0, NAN, 0.0], [1.0, 1.0, 1.0, NAN], JUDGED)
    (row,) = compare_scores([pair])
    assert (row.mean_a, row.mean_b, row.difference.n, row.difference.mean) == (0.75, 1.0, 2, 0.25)
    assert (row.only_a, row.only_b) == (1, 1)
    assert (row.wins, row.ties, row.losses) == (1, 1, 0)
    assert row.difference == difference_interval([0.5, 0.0], JUDGED)


def test_a_lower_score_wins_where_lower_is_better() -> None:
    (row,) = compare_scores([paired("noise_sensitivity", [0.5, 0.5, 0.2], [0.1, 0.7, 0.2 + 5e-7], LOWER)])
    assert (row.wins, row.ties, row.losses) == (1, 1, 1)
    assert row.difference.mean == pytest.approx(-0.2 / 3, abs=1e-6)


def test_the_p_value_is_that_of_scipy_s_t_test_with_one_more_pair_at_each_end() -> None:
    differences = [1.0] * 20 + [-1.0] * 10
    (row,) = compare_scores([paired("m", [0.0] * 30, differences, METRICS["answer_relevancy"].scale)])
    assert row.p == pytest.approx(scipy.stats.ttest_1samp([*differences, -2.0, 2.0], 0).pvalue)


@pytest.mark.parametrize("kind", ["judged", "continuous"])
@pytest.mark.parametrize(("gain", "rows"), [(1 / 9, 20), (1 / 9, 46), (1 / 19, 46), (1 / 19, 95)])
def test_gains_in_all_rows_are_no_less_likely_than_that_the_rows_with_falls_were_not_drawn(
    gain: float, rows: int, kind: Literal["judged", "continuous"]
) -> None:
    """A share q of rows that fall by 1, with the others' gains, makes the mean 0; (1 - q)^n of samples have none."""
    chance = (1 / (1 + gain)) ** rows
    gains = np.random.default_rng(0).uniform(0.95 * gain, 1.05 * gain, rows)
    for sign in (1, -1):
        p = difference_test(sign * gains, Scale(kind=kind)).p
        assert p is not None
        assert chance * 0.8 < p < chance * 3


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.999])
def test_the_conclusion_of_a_difference_does_not_depend_on_the_level_of_its_interval(level: float) -> None:
    pairs = [
        paired("two of thirty", [0.0] * 30, [0.0] * 28 + [1.0] * 2, JUDGED),
        paired("most", [0.0] * 30, [0.0] * 6 + [1.0] * 24, JUDGED),
        paired("as good", [0.5] * 60, [0.4, 0.6] * 30, JUDGED),
    ]
    rows = compare_scores(pairs, level=level, margins={"as good": 0.04})
    assert [row.verdict for row in rows] == ["not settled", "shown", "equal within the margin"]
    assert {row.difference.ci_level for row in rows} == {level}


def test_the_family_of_holm_is_all_metrics_of_all_runs() -> None:
    sure = paired("sure", [0.0] * 8, [1.0] * 8, JUDGED)
    unsure = paired("unsure", [0, 1] * 4, [1, 0] * 4, JUDGED)
    missing = paired("missing", [NAN] * 8, [1.0] * 8, JUDGED)
    rows = compare_scores([sure, unsure, missing, sure])
    p = rows[0].p
    assert p is not None
    assert 0 < p < 0.01
    assert [row.p for row in rows] == [p, 1.0, None, p]
    assert [row.p_holm for row in rows] == [3 * p, 1.0, None, 3 * p]


def test_nothing_in_common_is_no_number() -> None:
    (row,) = compare_scores([paired("m", [NAN, 1.0], [1.0, NAN], JUDGED)])
    assert (row.mean_a, row.mean_b, row.p, row.smallest_difference, row.rows_needed) == (None,) * 5
    assert (row.difference.n, row.difference.mean, row.only_a, row.only_b) == (0, None, 1, 1)


def test_clusters_widen_the_interval_and_weaken_test_and_power() -> None:
    differences = [0.4, 0.4, 0.4, -0.1, -0.1, -0.1, 0.3, 0.3, 0.3, 0.2, 0.2, 0.2]
    pair = paired("m", [0.5] * 12, [0.5 + value for value in differences], JUDGED)
    clusters = [f"document {number // 3}" for number in range(12)]
    (alone,) = compare_scores([pair])
    (together,) = compare_scores([pair], clusters)
    assert together.difference == difference_interval(pair.b - 0.5, JUDGED, clusters=clusters)
    assert (alone.p or 1) < (together.p or 0)
    assert (alone.smallest_difference or 1) < (together.smallest_difference or 1)
    assert (alone.rows_needed or 0) < (together.rows_needed or 0)


@pytest.mark.parametrize("count", [1, 2])
def test_no_number_of_rows_of_two_clusters_shows_a_difference(count: int) -> None:
    pair = paired("m", [0.5] * 12, [0.9, 0.4] * 6, JUDGED)
    (row,) = compare_scores([pair], [f"{number % count}" for number in range(12)])
    assert row.rows_needed is None
    if count == 1:
        assert (row.p, row.smallest_difference) == (1.0, None)
        assert (row.difference.ci_low, row.difference.ci_high) == (-1.0, 1.0)


def test_groups_are_described_without_a_test() -> None:
    pair = paired("m", [0.0] * 8, [1.0] * 8, JUDGED)
    (row,) = compare_scores([pair], tested=False)
    assert (row.p, row.p_holm, row.difference.mean) == (None, None, 1.0)


def test_weights_count_as_that_many_equal_rows_in_the_means() -> None:
    pair = paired("m", [0.0, 1.0, 0.5], [1.0, 0.0, 0.5], JUDGED)
    weights = np.array([3.0, 1.0, 0.0])
    (row,) = compare_scores([pair], weights=weights)
    assert (row.mean_a, row.mean_b, row.difference.mean) == (0.25, 0.75, 0.5)
    assert row.difference == difference_interval(pair.b - pair.a, JUDGED, weights=weights)
    assert row.p == difference_test(pair.b - pair.a, JUDGED, weights=weights).p
