"""Intervals: equal to statsmodels and scipy where these have the method, and what holds for all scores."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from aliases import Json
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from rag_evaluator.statistics import Estimate, Scale, difference_interval, mean_interval, pass_rate, tie_warning

JUDGED = Scale()
CONTINUOUS = Scale(kind="continuous")
LOWER = Scale(better="lower")
COSINE = Scale(-1.0, 1.0, "continuous")
STARS = Scale(1.0, 5.0)
RELEVANCY = COSINE._replace(atoms=(0.0,))
STRINGS = CONTINUOUS._replace(atoms=(0.0, 1.0))
SCALES = (JUDGED, CONTINUOUS, LOWER, COSINE, STARS, RELEVANCY, STRINGS)
NAN = float("nan")
NUMBERS = np.random.default_rng(0).beta(2, 5, 40)
MASSES = np.random.default_rng(1).uniform(0.2, 3, 40)
LABELS = [str(number // 4) for number in range(40)]  # clusters of four rows


def ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.ci_low is not None
    assert estimate.ci_high is not None
    return estimate.ci_low, estimate.ci_high


def larger_fit(scores: Sequence[float], weights: Sequence[float], ends: tuple[float, float], weight: float) -> Any:
    """The rows and two pseudo-rows that weigh `weight` effective rows, by statsmodels."""
    effective = sum(weights) ** 2 / sum(np.square(weights))
    extra = weight * sum(weights) / effective
    model = sm.WLS([*scores, *ends], np.ones(len(scores) + 2), weights=[*weights, extra, extra])
    return model.fit(cov_type="HC2"), effective


def wilson(scores: Sequence[float], weights: Sequence[float], weight: float, level: float = 0.95) -> Any:
    """Wilson's interval with the effective number of rows, by statsmodels."""
    fit, effective = larger_fit(scores, weights, (0.0, 1.0), weight)
    number = fit.params[0] * (1 - fit.params[0]) / fit.bse[0] ** 2 * effective / (effective + 2 * weight)
    alpha = 2 * stats.norm.sf(stats.t.ppf((1 + level) / 2, effective - 1))  # statsmodels takes the normal quantile
    return proportion_confint(np.average(scores, weights=weights) * number, number, alpha, method="wilson")


WEIGHT_OF_PSEUDO_ROWS = [
    ([0.0, 0.5, 0.5, 1.0, 1.0, 1.0, 0.75], 3 / 7),  # those at the fuller end
    ([0.0, 0.0, 1.0, 0.5], 0.5),
    ([0.1, 0.2, 0.4, 0.45, 0.7, 0.9], 0.1),  # none at an end: the least
    ([0.5] * 9 + [1.0], 0.8),  # nine of one value, one of another
    ([0.5, 0.5, 0.75, 0.75], 0.1),
    ([0.0] * 5, 1.0),
    ([1.0] * 30, 1.0),
]


@pytest.mark.parametrize(("scores", "weight"), WEIGHT_OF_PSEUDO_ROWS)
def test_judged_scores_have_wilson_s_interval_with_pseudo_rows_that_weigh_what_is_at_the_fuller_end(
    scores: list[float], weight: float
) -> None:
    equal = [1.0] * len(scores)
    assert ends(mean_interval(scores, JUDGED, 0.9)) == pytest.approx(wilson(scores, equal, weight, 0.9), abs=1e-9)
    stars = mean_interval([1 + 4 * score for score in scores], STARS, level=0.9)
    expected = [1 + 4 * end for end in wilson(scores, equal, weight, 0.9)]
    assert ends(stars) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_continuous_scores_have_scipy_s_interval_of_student_s_t(level: float) -> None:
    expected = stats.t.interval(level, len(NUMBERS) - 1, np.mean(NUMBERS), stats.sem(NUMBERS))
    for estimate in (
        mean_interval(NUMBERS, CONTINUOUS, level),
        difference_interval(NUMBERS, CONTINUOUS, level),
    ):
        assert ends(estimate) == pytest.approx(expected, abs=1e-12)
        assert estimate.ci_method == "student-t"
        assert estimate.stderr == pytest.approx(stats.sem(NUMBERS))


@pytest.mark.parametrize(
    ("differences", "weight"), [([0.0] * 27 + [1.0, 1.0, -0.5], 0.9), ([0.1, 0.2, -0.3, 0.0, 0.5], 0.2)]
)
def test_judged_differences_have_student_s_t_with_a_pair_at_each_end_that_weighs_the_share_of_ties(
    differences: list[float], weight: float
) -> None:
    fit, _ = larger_fit(differences, [1.0] * len(differences), (-1.0, 1.0), weight)
    number = (len(differences) + 2 * weight) ** 2 / (len(differences) + 2 * weight**2)
    expected = stats.t.interval(0.95, number - 1, fit.params[0], fit.bse[0])
    estimate = difference_interval(differences, JUDGED)
    assert ends(estimate) == pytest.approx(expected, abs=1e-9)
    assert estimate.ci_method == "student-t-pseudo-pairs"
    assert estimate.mean == pytest.approx(np.mean(differences))
    assert estimate.stderr == pytest.approx(stats.sem(differences))
    stars = difference_interval([4 * difference for difference in differences], STARS)
    assert ends(stars) == pytest.approx(tuple(4 * end for end in expected), abs=1e-9)


def test_the_standard_error_of_weighted_unequal_clusters_is_that_of_a_weighted_fit_on_their_means() -> None:
    labels = ["a"] * 3 + ["b"] * 9 + ["c"] * 5 + ["d"] + ["e"] * 12 + ["f"] * 10
    parts = [[place for place in range(40) if labels[place] == label] for label in "abcdef"]
    masses = np.array([MASSES[part].sum() for part in parts])
    means = np.array([np.average(NUMBERS[part], weights=MASSES[part]) for part in parts])
    fit = sm.WLS(means, np.ones(6), weights=masses).fit(cov_type="HC2")
    estimate = mean_interval(NUMBERS, CONTINUOUS, clusters=labels, weights=MASSES)
    assert estimate.mean == pytest.approx(np.average(NUMBERS, weights=MASSES))
    assert estimate.stderr == pytest.approx(fit.bse[0])
    effective = masses.sum() ** 2 / (masses**2).sum()
    assert ends(estimate) == pytest.approx(stats.t.interval(0.95, effective - 1, estimate.mean, estimate.stderr))
    assert estimate.ci_method == "student-t, clustered, weighted"


def test_weighted_mean_deviation_and_median_are_those_of_statsmodels() -> None:
    effective = MASSES.sum() ** 2 / (MASSES**2).sum()
    described = DescrStatsW(NUMBERS, weights=MASSES * effective / MASSES.sum(), ddof=1)
    estimate = mean_interval(NUMBERS, JUDGED, weights=MASSES)
    assert estimate.mean == pytest.approx(described.mean)
    assert estimate.std == pytest.approx(described.std)
    assert estimate.median == pytest.approx(described.quantile(0.5, return_pandas=False)[0])
    assert estimate.ci_method == "wilson-effective-n, weighted"


def test_weighted_judged_scores_have_pseudo_rows_of_an_effective_row_s_weight_worked_by_hand() -> None:
    scores = [1.0, 1.0, 0.5, 0.0]
    masses = [4.0, 2.0, 3.0, 1.0]
    expected = wilson(scores, masses, 0.6)  # 6 of 10 are at 1
    assert ends(mean_interval(scores, JUDGED, weights=masses)) == pytest.approx(expected, abs=1e-9)
    fit, effective = larger_fit(scores, masses, (-1.0, 1.0), 0.2)  # of the differences 6 of 10 have one value
    number = (effective + 0.4) ** 2 / (effective + 0.08)
    expected = stats.t.interval(0.95, number - 1, fit.params[0], fit.bse[0])
    estimate = difference_interval(scores, JUDGED, weights=masses)
    assert ends(estimate) == pytest.approx((expected[0], min(expected[1], 1.0)))


@pytest.mark.parametrize("scale", SCALES[:2])
@pytest.mark.parametrize("level", [0.95, 0.9999])
@pytest.mark.parametrize("heavy", [30, 45, 1e3, 1e5, 1e7, 1e12])
def test_a_row_that_weighs_nearly_all_leaves_the_whole_range(heavy: float, level: float, scale: Scale) -> None:
    estimate = mean_interval([0.3, 0.9, 0.5], scale, level, weights=[heavy, 1, 1])
    assert ends(estimate) == pytest.approx((0.0, 1.0), abs=1e-6)
    assert (estimate.ci_method == "range: one has nearly all the weight") == (heavy > 40)


def test_the_mean_is_the_exact_sum_over_n_and_never_above_the_highest_score() -> None:
    for seed in range(20):
        scores = np.random.default_rng(seed).random(30)
        assert mean_interval(scores, JUDGED).mean == math.fsum(scores) / 30
    masses = [0.6, 0.5, 0.7]
    assert math.fsum(5 * mass for mass in masses) / math.fsum(masses) > 5
    assert mean_interval([5.0] * 3, STARS, weights=masses).mean == 5


def test_copies_of_rows_in_clusters_say_no_more_than_the_rows_alone() -> None:
    for function in (mean_interval, difference_interval):
        for scale in (JUDGED, CONTINUOUS):
            alone = function(NUMBERS, scale)
            copied = function(np.tile(NUMBERS, 5), scale, clusters=list(range(40)) * 5)
            assert ends(copied) == pytest.approx(ends(alone), abs=1e-12)
            assert copied.stderr == pytest.approx(alone.stderr)


WHOLE: list[tuple[str, list[Any], Scale, Json, tuple[Any, ...]]] = [
    ("nothing", [], JUDGED, {}, (0, None, None, None, "none: no scores")),
    ("no weight left", [0.5, NAN], JUDGED, {"weights": [0, 1]}, (0, None, None, None, "none: no scores")),
    ("one score", [0.4], JUDGED, {}, (1, 0.4, 0.0, 1.0, "range: one score")),
    ("one score with a weight", [0.4, 0.9], JUDGED, {"weights": [2, 0]}, (1, 0.4, 0.0, 1.0, "range: one score")),
    (
        "one that weighs all",
        [0.0, 1],
        JUDGED,
        {"weights": [1e9, 1]},
        (2, 1e-9, 0, 1, "range: one has nearly all the weight"),
    ),
    ("one cluster left", [0, 0.5, NAN], STARS, {"clusters": "aab"}, (2, 1.0, 1.0, 5.0, "range: one cluster")),
]


@pytest.mark.parametrize(
    ("values", "scale", "options", "expected"), [case[1:] for case in WHOLE], ids=[c[0] for c in WHOLE]
)
def test_what_is_too_little_for_an_interval_says_so(
    values: list[Any], scale: Scale, options: Json, expected: tuple[Any, ...]
) -> None:
    estimate = mean_interval(values, scale, **options)
    assert (estimate.n, estimate.mean, estimate.ci_low, estimate.ci_high, estimate.ci_method) == pytest.approx(expected)
    assert estimate.stderr is None


def test_one_difference_has_the_range_of_differences_as_interval() -> None:
    assert ends(difference_interval([0.3], JUDGED)) == (-1.0, 1.0)
    assert ends(difference_interval([0.3], STARS)) == (-4.0, 4.0)


@pytest.mark.parametrize("scale", [JUDGED, CONTINUOUS])
def test_equal_scores_do_not_give_an_interval_of_zero_width(scale: Scale) -> None:
    estimate = mean_interval([1.0] * 20, scale)
    assert ends(estimate) == (pytest.approx(0.813, abs=5e-4), 1.0)
    assert estimate.ci_method == "wilson-effective-n"
    assert estimate.stderr == 0.0
    ties = difference_interval([0.0] * 100, scale)
    assert ends(ties) == pytest.approx((-0.0276, 0.0276), abs=5e-5)
    assert ties.ci_method == "student-t-pseudo-pairs"


def test_rounding_of_a_cosine_is_cut_off_and_makes_no_difference() -> None:
    assert mean_interval([1.0000000000000002] * 5, CONTINUOUS) == mean_interval([1.0] * 5, CONTINUOUS)
    nearly = mean_interval([1.0, 0.9999999999999999, 1.0], CONTINUOUS)
    assert nearly.ci_method == "wilson-effective-n"
    assert difference_interval([1e-6, -1e-6, 5e-7], CONTINUOUS) == difference_interval([0.0] * 3, CONTINUOUS)


def test_clusters_whose_means_are_equal_do_not_give_an_interval_of_zero_width() -> None:
    low, high = ends(mean_interval([0.2, 0.8] * 4, CONTINUOUS, clusters="aabbccdd"))
    assert high - low > 0.5


def test_clusters_of_one_row_and_equal_weights_change_nothing() -> None:
    for scale in (JUDGED, CONTINUOUS):
        for function in (mean_interval, difference_interval):
            plain = function(NUMBERS, scale)
            assert function(NUMBERS, scale, clusters=list(range(40)), weights=[0.1] * 40) == plain


@pytest.mark.parametrize("empty", [None, NAN])
def test_a_row_without_cluster_is_a_cluster_of_its_own(empty: Hashable) -> None:
    named = mean_interval(NUMBERS[:6], JUDGED, clusters=["a", "a", "b", "b", "c", "d"])
    assert mean_interval(NUMBERS[:6], JUDGED, clusters=["a", "a", "b", "b", empty, empty]) == named


def test_missing_scores_and_their_clusters_and_weights_are_left_out() -> None:
    labels: list[Hashable] = [*LABELS, "x", "1"]
    full = mean_interval([*NUMBERS, NAN, NAN], JUDGED, clusters=labels, weights=[*MASSES, 3.0, 5.0])
    assert full == mean_interval(NUMBERS, JUDGED, clusters=LABELS, weights=MASSES)


WRONG: list[Json] = [
    {"weights": [1, -1]},
    {"weights": [1, NAN]},
    {"weights": [1, math.inf]},
    {"weights": [1]},
    {"clusters": ["a"]},
    {"level": 0.0},
    {"level": 95},
]


@pytest.mark.parametrize("options", WRONG, ids=str)
@pytest.mark.parametrize("function", [mean_interval, difference_interval])
def test_wrong_weights_lengths_and_levels_are_refused(function: Any, options: Json) -> None:
    with pytest.raises(ValueError, match=r"weight|match|level"):
        function([0.1, 0.2], JUDGED, **options)


def test_the_pass_rate_counts_scores_that_reach_the_threshold_in_the_better_direction() -> None:
    scores = [0.2, 0.7, 0.7 - 1e-9, 0.9, NAN]
    assert pass_rate(scores, 0.7, JUDGED) == mean_interval([0, 1, 1, 1], JUDGED)
    assert pass_rate(scores, 0.7, CONTINUOUS) == mean_interval([0, 1, 1, 1], JUDGED)
    assert pass_rate(scores, 0.2, LOWER) == mean_interval([1, 0, 0, 0], JUDGED)
    assert pass_rate(scores, 0.7 - 1e-8, LOWER) == mean_interval([1, 1, 1, 0], JUDGED)
    stars = pass_rate([1, 4, 5, 5], 4, STARS, clusters="aabc")
    assert stars == mean_interval([0, 1, 1, 1], JUDGED, clusters="aabc")


SCORE = st.one_of(st.sampled_from([0.0, 0.5, 1.0, NAN, 1.0000000000000002]), st.floats(-2, 6))
ROW = st.tuples(SCORE, st.integers(0, 4), st.one_of(st.just(1.0), st.just(0.0), st.floats(1e-6, 1e6)))
ROWS = st.lists(ROW, max_size=25).filter(lambda rows: not rows or any(weight for _, _, weight in rows))
OPTIONS = st.sampled_from([(), ("clusters",), ("weights",), ("clusters", "weights")])


def estimates(rows: Sequence[tuple[Any, ...]], options: Sequence[str], level: float = 0.95) -> list[Estimate]:
    values, clusters, weights = zip(*rows, strict=True) if rows else ((), (), ())
    given_options = {key: list(column) for key, column in {"clusters": clusters, "weights": weights}.items()}
    kept: Json = {key: column for key, column in given_options.items() if key in options}
    functions = (mean_interval, difference_interval)
    return [function(list(values), scale, level, **kept) for function in functions for scale in SCALES]


@settings(deadline=None, max_examples=150)
@given(ROWS, OPTIONS, st.randoms(use_true_random=False))
def test_no_bit_depends_on_the_order_of_rows_or_the_labels_of_clusters(
    rows: list[tuple[Any, ...]], options: tuple[str, ...], random: Any
) -> None:
    shuffled = [(score, f"cluster {9 - cluster}", weight) for score, cluster, weight in rows]
    random.shuffle(shuffled)
    assert estimates(rows, options) == estimates(shuffled, options)


@settings(deadline=None, max_examples=150)
@given(ROWS, OPTIONS, st.sampled_from([0.5, 0.95, 0.9999]))
def test_an_interval_holds_the_mean_and_lies_in_the_range(
    rows: list[tuple[Any, ...]], options: tuple[str, ...], level: float
) -> None:
    for estimate, (function, scale) in zip(
        estimates(rows, options, level), [(which, scale) for which in "md" for scale in SCALES], strict=True
    ):
        lowest, highest = (scale.low, scale.high) if function == "m" else (-scale.width, scale.width)
        assert not any(isinstance(number, float) and not math.isfinite(number) for number in astuple(estimate))
        if estimate.n:
            low, high = ends(estimate)
            assert lowest <= low <= estimate.mean <= high <= highest  # type: ignore[operator]
            assert low < high


@pytest.mark.parametrize(
    ("values", "scale", "said"),
    [
        ([0.0, 0.0, 0.0, 0.7, 0.8], CONTINUOUS, "of 5 scores 3 are exactly 0: "),
        ([0.0, 0.0, 1.0, 1.0, 0.8, NAN], CONTINUOUS, "of 5 scores 2 are exactly 0 and 2 are exactly 1: "),
        ([1.0, 1.0 + 1e-9, 0.8, 0.7], CONTINUOUS, "of 4 scores 2 are exactly 1: "),  # a cosine
        ([-1.0, -1.0, 0.2], COSINE, "of 3 scores 2 are exactly -1: "),
        ([0.0, 0.6, 0.6, 0.6, 1.0], CONTINUOUS, None),  # one row at each end; ties elsewhere
        ([1.0] * 5, CONTINUOUS, None),  # all equal: not Student's t
        ([0.0, 0.0, 0.7], JUDGED, None),
        ([0.0, 0.0, 0.7], RELEVANCY, None),
        ([], CONTINUOUS, None),
    ],
)
def test_continuous_scores_that_pile_up_at_an_end_are_warned_of(
    values: list[float], scale: Scale, said: str | None
) -> None:
    warning = tie_warning(values, scale, mean_interval(values, scale))
    assert (warning is None) == (said is None)
    if said is not None:
        assert warning is not None
        assert warning.startswith(said)
        assert "Student's t" in warning
        assert "kind: judged" in warning
