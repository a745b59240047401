"""Prediction-powered inference: the reference implementation's numbers, formulas by hand, and coverage."""

import numpy as np
import pytest
from scipy import stats

from rag_evaluator.statistics import Scale, dealt, label_difference, label_mean

NAN = float("nan")
F = np.round(np.random.default_rng(0).random(60), 1)
Y = np.where(np.arange(60) < 25, (np.random.default_rng(3).random(60) < F).astype(float), NAN)


def by_other_folds(f: np.ndarray, y: np.ndarray, folds: np.ndarray, strata: np.ndarray, most: float) -> np.ndarray:
    """Each label's slope, row by row: least squares within strata, of the labels of the other folds."""
    slopes = np.empty(len(y))
    for place, fold in enumerate(folds):
        above = below = 0.0
        for stratum in np.unique(strata):
            others = (folds != fold) & (strata == stratum)
            above += np.sum((f[others] - f[others].mean()) * (y[others] - y[others].mean()))
            below += np.sum((f[others] - f[others].mean()) ** 2)
        slopes[place] = np.clip(above / below, 0, most)
    return slopes


def test_with_one_slope_it_is_the_published_estimate() -> None:
    """PPI++: lambda mean(f, unlabelled) + mean(y - lambda f, labelled), lambda = b (1 - n/N)."""
    labels = np.where(np.arange(60) < 25, 0.2 + 0.5 * F, NAN)
    result = label_mean(F, labels)
    weight = 0.5 * 35 / 60
    assert result.judge_weight == pytest.approx(weight)
    assert result.label_mean == pytest.approx(weight * F[25:].mean() + np.mean(0.2 + 0.5 * F[:25] - weight * F[:25]))
    assert (result.rows, result.labels, result.blank, result.unscored) == (60, 25, 0, 0)
    assert result.ci_method == "cross-fitted-ppi++-t-pseudo-residuals"


def by_hand(labels: np.ndarray, residuals: np.ndarray, ends: tuple[float, float], rows: int) -> tuple[float, float]:
    """Shift of the centre, and variance, of a uniform draw: both with one more value at each end."""
    n = len(labels)
    more = np.array([*residuals, *ends])
    all_labels = np.array([*labels, 0.0, 1.0])
    part = 1 - n / rows
    own = np.sum((residuals - more.mean()) ** 2) / (n * (n - 1)) * (n / (n + 2)) ** 2
    extra = np.sum((np.array(ends) - more.mean()) ** 2) / (n + 2) / (n + 1)
    shift = part * more.mean() + (1 - part) * (all_labels.mean() - labels.mean())
    return shift, all_labels.var(ddof=1) / rows + part * (own + extra)


def test_the_interval_of_a_uniform_draw_worked_step_by_step() -> None:
    f = F[:25]
    y = Y[:25]
    slopes = by_other_folds(f, y, dealt(np.arange(25)), np.zeros(25), 60 / 35)
    result = label_mean(F, Y)
    assert result.labels_only is None
    assert result.judge_weight == pytest.approx(slopes.mean() * 35 / 60)
    corrected = y - slopes * (f - F.mean())
    assert result.label_mean == pytest.approx(corrected.mean())
    residuals = corrected - corrected.mean()
    predicted = np.clip(y - residuals, 0, 1)
    shift, variance = by_hand(y, residuals, (-predicted.max(), 1 - predicted.min()), 60)
    centre = corrected.mean() + shift
    half = stats.t.ppf(0.975, 24) * np.sqrt(variance)
    assert (result.ci_low, result.ci_high) == (pytest.approx(centre - half), pytest.approx(centre + half))
    alone = np.array([*y, 0.0, 1.0]).var(ddof=1) / 27
    assert result.labels_saved == pytest.approx(25 * (alone / variance - 1))


def test_scores_that_do_not_vary_leave_the_interval_of_labels_with_one_more_at_each_end() -> None:
    labels = [1.0] * 18 + [0.0] * 6
    result = label_mean([0.5] * 10**6, labels + [NAN] * (10**6 - 24))
    more = [*labels, 0, 1]
    expected = stats.t.interval(0.95, 23, np.mean(more), stats.sem(more))
    assert (result.ci_low, result.ci_high) == pytest.approx(expected, rel=2e-3)
    assert (result.judge_weight, result.label_mean) == (0.0, 0.75)


def test_strata_have_their_own_weights_and_variances_worked_by_hand() -> None:
    # 60 rows of score 1 with labels 1, 1, 1, 0 and 40 of score 0 with labels 0, 0, 1
    scores = [1.0] * 60 + [0.0] * 40
    labels = [1, 1, 1, 0] + [NAN] * 56 + [0, 0, 1] + [NAN] * 37
    result = label_mean(scores, labels, strata=[0] * 60 + [1] * 40)
    assert result.label_mean == pytest.approx(0.6 * 3 / 4 + 0.4 * 1 / 3)
    assert result.judge_weight == 0.0  # scores say nothing more within strata
    shares = np.array([0.6 / 4] * 4 + [0.4 / 3] * 3)
    residuals = np.array([0.25, 0.25, 0.25, -0.75, -1 / 3, -1 / 3, 2 / 3])
    units = 1 / np.sum(shares**2) + 2
    ends = np.array([-3 / 4, 1 - 1 / 3])
    mean = ends.sum() / units
    factors = np.array([(1 - 4 / 60) * 0.15**2 / (1 - 1 / 4)] * 4 + [(1 - 3 / 40) * (0.4 / 3) ** 2 / (1 - 1 / 3)] * 3)
    rest = np.sum(np.array([1 - 4 / 60] * 4 + [1 - 3 / 40] * 3) * shares**2) / np.sum(shares**2)
    own = (1 - 2 / units) ** 2 * np.sum(factors * (residuals - mean) ** 2)
    extra = rest * np.sum((ends - mean) ** 2) / units**2 / (1 - 1 / units)
    y = np.array([1, 1, 1, 0, 0, 0, 1, 0, 1])
    p = np.array([*shares, 1 / (units - 2), 1 / (units - 2)])
    p = p / p.sum()
    spread = np.sum(p * (y - np.sum(p * y)) ** 2) * units / (units - 1)
    half = stats.t.ppf(0.975, 7 - 2) * np.sqrt(own + extra + spread / 100)
    centre = 0.45 + 0.4 / 3 + rest * mean + (1 - rest) * (np.sum(p * y) - 0.45 - 0.4 / 3)
    assert (result.ci_low, result.ci_high) == (
        pytest.approx(max(centre - half, 0)),
        pytest.approx(min(centre + half, 1)),
    )


def test_rows_without_a_score_are_a_stratum_whose_mean_comes_from_labels_alone() -> None:
    scores = [1.0, 0.0] * 40 + [NAN] * 20
    labels = [1, 0] * 5 + [NAN] * 70 + [1, 1, 0, 0] + [NAN] * 16
    result = label_mean(scores, labels)
    assert result.label_mean == pytest.approx(0.8 * 0.5 + 0.2 * 0.5)
    assert result.unscored == 20
    worse = label_mean(scores, [1, 0] * 5 + [NAN] * 70 + [0, 0, 0, 0] + [NAN] * 16)
    assert worse.label_mean == pytest.approx(0.8 * 0.5)
    single = label_mean([1.0, 0.0] * 5 + [NAN], [1, 0] * 3 + [NAN] * 4 + [1])
    assert single.label_mean == pytest.approx(10 / 11 * 0.5 + 1 / 11), "one label of the only such row is enough"


def test_blank_labels_are_counted_and_labels_of_rows_that_were_not_drawn_do_not_count() -> None:
    scores = [0.5] * 20
    labels = [1, 0, 1, NAN, 1, 1] + [NAN] * 14
    drawn = [True] * 4 + [False] * 16
    result = label_mean(scores, labels, drawn=drawn)
    assert (result.labels, result.blank) == (3, 1)
    assert result.label_mean == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("scores", "labels", "reason"),
    [
        ([], [], "none: no row has a label"),
        ([0.5] * 4, [NAN] * 4, "none: no row has a label"),
        ([0.5] * 4, [1, NAN, NAN, NAN], "none: 1 of 4 rows of a stratum with score have a label, 2 are needed"),
        (
            [0.5, 0.6, NAN, NAN],
            [1, 0, 1, NAN],
            "none: 1 of 2 rows of a stratum with no score have a label, 2 are needed",
        ),
        ([0.5, NAN], [1, 0], "none: as many strata as labels"),
    ],
)
def test_too_few_labels_give_a_reason(scores: list[float], labels: list[float], reason: str) -> None:
    result = label_mean(scores, labels)
    assert (result.label_mean, result.ci_low, result.ci_high, result.labels_saved) == (None, None, None, None)
    assert result.ci_method == reason


def test_labels_that_all_agree_with_the_judge_do_not_give_an_interval_of_zero_width() -> None:
    scores = [1.0] * 140 + [0.0] * 60
    for strata in (None, [0] * 140 + [1] * 60):
        labels = [1.0] * 28 + [NAN] * 112 + [0.0] * 12 + [NAN] * 48
        result = label_mean(scores, labels, strata=strata)
        assert result.label_mean == pytest.approx(0.7)
        assert result.ci_low is not None and 0.5 < result.ci_low < 0.67
        assert result.ci_high is not None and 0.73 < result.ci_high < 1


@pytest.mark.parametrize(
    ("scores", "labels", "probabilities", "mean"),
    [
        ([0.1, 0.9, 0.4, 0.8], [0, 1, 1, 1], None, 0.75),  # all rows have labels
        # the weights of Hajek: 1 / probability
        ([0.5] * 8, [1, 1, 0, 1] + [NAN] * 4, [0.8] * 2 + [0.4] * 6, (2 / 0.8 + 1 / 0.4) / (2 / 0.8 + 2 / 0.4)),
    ],
)
def test_means_of_labels_alone_worked_by_hand(
    scores: list[float], labels: list[float], probabilities: list[float] | None, mean: float
) -> None:
    result = label_mean(scores, labels, probabilities=probabilities)
    assert (result.label_mean, result.judge_weight) == (pytest.approx(mean), 0.0)


def test_another_scale_moves_estimate_and_interval_with_it() -> None:
    unit = label_mean(F, Y)
    stars = label_mean([1 + 4 * f for f in F], [1 + 4 * y for y in Y], Scale(1.0, 5.0))
    for name in ("label_mean", "ci_low", "ci_high"):
        assert getattr(stars, name) == pytest.approx(1 + 4 * getattr(unit, name))
    assert stars.labels_saved == pytest.approx(unit.labels_saved)


def test_nothing_depends_on_the_order_of_rows_with_keys() -> None:
    order = np.random.default_rng(0).permutation(60)
    strata = np.arange(60) % 2
    chances = np.linspace(0.2, 0.6, 60)
    keys = [f"row {row}" for row in range(60)]
    moved = label_mean(
        F[order],
        Y[order],
        strata=strata[order],
        probabilities=chances[order],
        units=[keys[row] for row in order],
    )
    assert moved == label_mean(F, Y, strata=strata, probabilities=chances, units=keys)
    assert moved.judge_weight


def test_the_difference_of_two_runs_uses_rows_with_a_label_in_both() -> None:
    first = [0.0, 1, 1, 0, NAN, 1] + [NAN] * 14
    second = [1.0, 1, 1, 1, 1, NAN] + [NAN] * 14
    result = label_difference([0.2] * 20, np.subtract(second, first), Scale(-1.0, 1.0))
    assert result.labels == 4
    assert result.label_mean == pytest.approx(0.5)  # 1, 0, 0, 1
    same = label_difference(F - F, Y - Y, Scale(-1.0, 1.0))
    assert same.label_mean == 0
    assert same.ci_low is not None and same.ci_low < 0


def test_fewer_than_five_labels_of_the_rarer_value_leave_labels_only_and_the_reason() -> None:
    scores = [1.0, 0.0] * 50
    few = label_mean(scores, [1.0] * 26 + [0.0] * 4 + [NAN] * 70)
    assert (few.label_mean, few.judge_weight) == (pytest.approx(26 / 30), 0.0)
    assert few.labels_only is not None
    assert few.labels_only.startswith("labels only, without the scores, in all 5 folds: ")
    many = label_mean(scores, [1.0, 0.0] * 15 + [NAN] * 70)
    assert many.judge_weight is not None and many.judge_weight > 0.6
    assert many.labels_only is None
    # six labels of 0: a fold that holds two of them or more is left with fewer than five elsewhere
    some = label_mean(scores, [1.0, 0.0] * 6 + [1.0] * 18 + [NAN] * 70)
    assert some.judge_weight is not None and 0 < some.judge_weight < many.judge_weight
    assert some.labels_only is not None
    assert some.labels_only.endswith("labels of the rarer value (6 in all)")


def test_each_label_is_corrected_by_the_slope_of_the_other_folds_worked_by_hand() -> None:
    rng = np.random.default_rng(4)
    f = rng.random(200)
    strata = np.repeat([0, 1], 100)
    y = (rng.random(200) < 0.2 + 0.6 * f).astype(float)
    seen = np.where(np.arange(200) % 4 == 0, y, NAN)
    known = np.flatnonzero(np.arange(200) % 4 == 0)
    folds = dealt(np.arange(50), strata[known])
    slopes = by_other_folds(f[known], y[known], folds, strata[known], 1 / (1 - 50 / 200))
    assert np.ptp(slopes) > 0.01
    centred = f - np.array([f[:100].mean(), f[100:].mean()])[strata]
    result = label_mean(f, seen, strata=strata)
    assert result.label_mean == pytest.approx(np.mean(y[known] - slopes * centred[known]))
    assert result.judge_weight == pytest.approx(np.mean(slopes) * 0.75)


def test_folds_are_dealt_within_strata_and_the_rows_of_a_unit_are_in_one() -> None:
    strata = np.repeat([0, 1, 2], [10, 15, 5])
    folds = dealt(np.arange(30), strata)
    for stratum in range(3):
        assert np.ptp(np.bincount(folds[strata == stratum], minlength=5)) == 0
    members = np.arange(30) // 3
    assert all(len(set(dealt(members, strata)[members == unit])) == 1 for unit in range(10))
    assert not np.array_equal(folds, np.sort(folds))


def test_labels_of_one_unit_do_not_choose_the_slope_for_each_other() -> None:
    """Rows copied ten times: without their key a copy elsewhere has seen the label."""
    rng = np.random.default_rng(1)
    f = np.repeat(rng.random(20), 10)
    y = np.where(np.arange(200) < 100, np.repeat((rng.random(20) < 0.5).astype(float), 10), NAN)
    keys = [str(row // 10) for row in range(200)]
    apart = label_mean(f, y)
    whole = label_mean(f, y, units=keys)
    assert apart.label_mean != whole.label_mean
    order = rng.permutation(200)
    assert label_mean(f[order], y[order], units=[keys[row] for row in order]) == whole


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, "level is 1.0"),
        ({"probabilities": [0.0] * 60}, "probabilities must be above 0"),
        ({"strata": [0] * 3}, "different lengths"),
        ({"units": ["a"]}, "different lengths"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        label_mean(F, Y, **options)  # type: ignore[arg-type]
