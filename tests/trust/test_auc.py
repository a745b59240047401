"""Whether scores have a larger AUC than baselines: worked out by hand, and pair by pair."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

from rag_evaluator.statistics import compare_with_baselines
from rag_evaluator.statistics.auc import BaselineVerdict

LABELS = [1] * 5 + [0] * 5
RIGHT = [9, 8, 7, 6, 2, 5, 4, 3, 1, 0]  # 23 of 25 pairs
EQUAL = [1] * 10
SCORES = st.one_of(st.just(math.nan), st.integers(0, 4))


def compared(scores: Any, baseline: Any, labels: Any = LABELS, **more: Any) -> BaselineVerdict:
    verdict = compare_with_baselines(scores, labels, {"words": baseline}, **more)
    assert verdict is not None
    return verdict


def share_of_pairs(scores: list[float], labels: list[int], weights: list[int]) -> float:
    """The concordance, pair by pair; a pair with a missing score counts half."""
    rows = list(zip(scores, labels, weights, strict=True))
    pairs = [(a[0], b[0], a[2] * b[2]) for a, b in product(rows, rows) if a[1] > b[1]]
    right = sum(weight * (1.0 if a > b else 0.0 if a < b else 0.5) for a, b, weight in pairs)
    return right / sum(weight for *_, weight in pairs)


@settings(deadline=None)
@given(st.lists(st.tuples(SCORES, st.integers(0, 2), st.integers(1, 3)), min_size=2, max_size=12))
def test_a_missing_score_counts_half_in_every_pair(rows: list[tuple[float, int, int]]) -> None:
    scores, labels, weights = (list(column) for column in zip(*rows, strict=True))
    verdict = compare_with_baselines(scores, labels, {"same": [1.0] * len(rows)}, weights=weights)
    if len(set(labels)) < 2:
        assert verdict is None
    else:
        assert verdict is not None
        assert verdict.area.value == pytest.approx(share_of_pairs(scores, labels, weights))
        assert verdict.baselines["same"].area.value == 0.5


def test_the_interval_of_a_difference_is_that_of_delong() -> None:
    """With five of each class both factors of DeLong are 5 / 4. Shares of right pairs less 1/2: of the five accepted
    rows 1/2, 1/2, 1/2, 1/2, -1/10 (2 of 5), mean 0.42 - 0.04 = 0.38; of the rejected 0.3, 0.3, 0.3, 0.5, 0.5."""
    verdict = compared(RIGHT, EQUAL).baselines["words"]
    accepted = np.array([0.5, 0.5, 0.5, 0.5, -0.1])
    rejected = np.array([0.3, 0.3, 0.3, 0.5, 0.5])
    variance = accepted.var(ddof=1) / 5 + rejected.var(ddof=1) / 5
    half = stdtrit(4, 0.975) * math.sqrt(variance)
    assert verdict.word == "beats"
    assert verdict.difference.value == pytest.approx(0.38)
    assert verdict.difference.ci_low == pytest.approx(0.38 - half)


def test_rows_said_twice_in_clusters_say_no_more_than_once() -> None:
    once = compared(RIGHT, EQUAL).baselines["words"]
    twice = compared(RIGHT * 2, EQUAL * 2, LABELS * 2, clusters=list(range(10)) * 2).baselines["words"]
    assert twice.difference.ci_low == pytest.approx(once.difference.ci_low)
    assert twice.area.ci_low == pytest.approx(once.area.ci_low)


def test_scores_that_are_the_baseline_differ_by_nothing_and_do_not_beat_it() -> None:
    verdict = compared([*RIGHT[:9], math.nan], [10 * value for value in RIGHT[:9]] + [math.nan])
    difference = verdict.baselines["words"].difference
    assert (difference.value, difference.ci_low, difference.ci_high) == (0, 0, 0)
    assert (verdict.word, verdict.more_labels) == ("does not beat", None)


def test_scores_without_an_error_are_not_certain() -> None:
    perfect = [float(label) for label in LABELS]
    verdict = compared(perfect, EQUAL)
    difference = verdict.baselines["words"].difference
    assert difference.ci_low is not None
    assert difference.value == 0.5 > difference.ci_low + 0.1
    other = compared(perfect, [2 * value + place / 100 for place, value in enumerate(perfect)])
    assert other.word == "not settled"


def test_so_many_more_labels_are_needed_as_the_interval_is_too_wide() -> None:
    """The half width must shrink to the difference over 1 + z(0.8) / z(0.975) = 1.4294."""
    verdict = compared([9, 8, 4, 3, 2, 5, 7, 1, 6, 0], EQUAL)
    difference = verdict.baselines["words"].difference
    assert difference.ci_high is not None
    needed = 10 * (1.4294 * (difference.ci_high - difference.value) / difference.value) ** 2
    assert (verdict.word, verdict.more_labels) == ("not settled", math.ceil(needed) - 10)


@pytest.mark.parametrize(
    ("scores", "labels", "known"),
    [
        pytest.param([9, 1, 2, 3, 4, 5, 6, 7, 8, 0], LABELS, True, id="lower here"),
        pytest.param(RIGHT, [1] * 4 + [0] * 6, False, id="four of the rarer class"),
    ],
)
def test_it_is_not_said_how_many_labels_where_nobody_can_tell(scores: Any, labels: Any, known: bool) -> None:
    verdict = compared(scores, EQUAL, labels)
    assert (verdict.word, verdict.more_labels) == ("not settled", None)
    assert (verdict.baselines["words"].difference.ci_low is not None) == known


def test_every_baseline_must_be_beaten_and_a_row_without_a_label_does_not_count() -> None:
    labels = [*LABELS, math.nan]
    verdict = compare_with_baselines([*RIGHT, 0], labels, {"words": [*EQUAL, 0], "sentences": [*RIGHT, 9]})
    assert verdict is not None
    assert (verdict.labels, verdict.word, verdict.decisive) == (10, "does not beat", "sentences")
    assert verdict.baselines["words"].word == "beats"


def test_of_a_baseline_without_any_value_nothing_is_said() -> None:
    assert compare_with_baselines(RIGHT, LABELS, {"words": [math.nan] * 10}) is None
