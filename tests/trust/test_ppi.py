"""Prediction-powered inference: the reference implementation's numbers, formulas by hand, and coverage."""

import numpy as np
import pytest
from scipy import stats

from rag_evaluator.trust.draws import draw_stratified, draw_uncertain, draw_uniform
from rag_evaluator.trust.intervals import difference_interval
from rag_evaluator.trust.ppi import label_difference, label_mean
from rag_evaluator.trust.scale import Scale

NAN = float("nan")
# ppi-python 0.2.3, the first ten rows labelled: `_calc_lam_glm(Y - mean, F - mean, FU - mean, eye(1), clip=True)` is
# 0.4310562934851359 with a covariance of divisor n; ours has n - 1, so 10/9 of it.
# `ppi_mean_pointestimate(Y, F, FU, lam=10/9 of it)` is 0.3502899, `ppi_mean_ci(..., alpha=0.05)` 0.0819338 to 0.618646
F = [0.3, 0.3, 0.8, 0.1, 0.6, 0.7, 0.2, 0.1, 0.3, 0.7, 0.6, 0.2, 0.4, 0.7, 0.4, 0.6, 1.0, 0.7, 0.4, 0.2]
F += [0.3, 0.5, 0.9, 0.8, 0.3, 0.9, 0.5, 0.7, 0.1, 0.1]
Y = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0] + [NAN] * 20


def test_estimate_and_weight_of_the_judge_are_those_of_the_reference_implementation() -> None:
    result = label_mean(F, Y)
    assert result.judge_weight == pytest.approx(0.4310562934851359 * 10 / 9, rel=1e-9)
    assert result.label_mean == pytest.approx(0.3502899, abs=5e-8)
    assert (result.rows, result.labels, result.blank, result.unscored) == (30, 10, 0, 0)
    assert result.ci_method == "ppi++-t-pseudo-residuals"
    # wider than the textbook's interval: the quantile of t and two more residuals
    assert result.ci_low is not None and result.ci_low < 0.0819338
    assert result.ci_high is not None and result.ci_high > 0.618646


def by_hand(labels: np.ndarray, residuals: np.ndarray, ends: tuple[float, float], rows: int) -> tuple[float, float]:
    """Shift of the centre, and variance, of a uniform draw: both with one more value at each end."""
    n, more, all_labels = len(labels), np.array([*residuals, *ends]), np.array([*labels, 0.0, 1.0])
    part = 1 - n / rows
    own = np.sum((residuals - more.mean()) ** 2) / (n * (n - 1)) * (n / (n + 2)) ** 2
    extra = np.sum((np.array(ends) - more.mean()) ** 2) / (n + 2) / (n + 1)
    shift = part * more.mean() + (1 - part) * (all_labels.mean() - labels.mean())
    return shift, all_labels.var(ddof=1) / rows + part * (own + extra)


def test_the_interval_of_a_uniform_draw_worked_step_by_step() -> None:
    f, y = np.array(F), np.array(Y[:10])
    slope = np.cov(y, f[:10])[0, 1] * 29 / 30 / (np.var(f, ddof=1) * 29 / 30)
    result = label_mean(F, Y)
    assert result.judge_weight == pytest.approx(slope * 20 / 30)
    predicted = y.mean() + slope * (f[:10] - f[:10].mean())
    shift, variance = by_hand(y, y - predicted, (-predicted.max(), 1 - predicted.min()), 30)
    centre = y.mean() + slope * (f.mean() - f[:10].mean()) + shift
    half = stats.t.ppf(0.975, 9) * np.sqrt(variance)
    assert (result.ci_low, result.ci_high) == (pytest.approx(max(centre - half, 0)), pytest.approx(centre + half))
    alone = np.array([*y, 0.0, 1.0]).var(ddof=1) / 12
    assert result.labels_saved == pytest.approx(10 * (alone / variance - 1))


def test_without_pseudo_residuals_the_variance_is_the_published_one() -> None:
    """lambda^2 var(f)/(N - n) + var(y - lambda f)/n equals S^2/N + (1/n - 1/N) var(y - b f) if var(f) is one number."""
    rows, n, slope, var_y, var_f, cov = 40, 15, 0.7, 0.2, 0.05, 0.04
    weight = slope * (1 - n / rows)
    published = weight**2 * var_f / (rows - n) + (var_y - 2 * weight * cov + weight**2 * var_f) / n
    assert published == pytest.approx(var_y / rows + (1 / n - 1 / rows) * (var_y - 2 * slope * cov + slope**2 * var_f))


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
    units, ends = 1 / np.sum(shares**2) + 2, np.array([-3 / 4, 1 - 1 / 3])
    mean = ends.sum() / units
    factors = np.array([(1 - 4 / 60) * 0.15**2 / (1 - 1 / 4)] * 4 + [(1 - 3 / 40) * (0.4 / 3) ** 2 / (1 - 1 / 3)] * 3)
    rest = np.sum(np.array([1 - 4 / 60] * 4 + [1 - 3 / 40] * 3) * shares**2) / np.sum(shares**2)
    own = (1 - 2 / units) ** 2 * np.sum(factors * (residuals - mean) ** 2)
    extra = rest * np.sum((ends - mean) ** 2) / units**2 / (1 - 1 / units)
    y, p = np.array([1, 1, 1, 0, 0, 0, 1, 0, 1]), np.array([*shares, 1 / (units - 2), 1 / (units - 2)])
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


def test_unequal_probabilities_are_undone_by_hajek_s_weights_worked_by_hand() -> None:
    scores, labels = [0.5] * 8, [1, 1, 0, 1] + [NAN] * 4
    chances = [0.8, 0.8, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4]
    weights = np.array([1 / 0.8, 1 / 0.8, 1 / 0.4, 1 / 0.4])
    result = label_mean(scores, labels, probabilities=chances)
    assert result.label_mean == pytest.approx(np.average([1, 1, 0, 1], weights=weights))


def test_blank_labels_are_counted_and_labels_of_rows_that_were_not_drawn_do_not_count() -> None:
    scores, labels = [0.5] * 20, [1, 0, 1, NAN, 1, 1] + [NAN] * 14
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


def test_one_unscored_row_with_a_label_is_enough_if_there_is_only_this_one() -> None:
    result = label_mean([1.0, 0.0] * 5 + [NAN], [1, 0] * 3 + [NAN] * 4 + [1])
    assert result.label_mean == pytest.approx(10 / 11 * 0.5 + 1 / 11)


def test_labels_that_all_agree_with_the_judge_do_not_give_an_interval_of_zero_width() -> None:
    scores = [1.0] * 140 + [0.0] * 60
    for strata in (None, [0] * 140 + [1] * 60):
        labels = [1.0] * 14 + [NAN] * 126 + [0.0] * 6 + [NAN] * 54
        result = label_mean(scores, labels, strata=strata)
        assert result.label_mean == pytest.approx(0.7)
        assert result.ci_low is not None and 0.4 < result.ci_low < 0.65
        assert result.ci_high is not None and 0.75 < result.ci_high < 1


def test_if_all_rows_have_labels_the_estimate_is_their_mean() -> None:
    result = label_mean([0.1, 0.9, 0.4, 0.8], [0, 1, 1, 1])
    assert (result.label_mean, result.judge_weight) == (0.75, 0.0)


def test_another_scale_moves_estimate_and_interval_with_it() -> None:
    unit = label_mean(F, Y)
    stars = label_mean([1 + 4 * f for f in F], [1 + 4 * y for y in Y], Scale(1.0, 5.0))
    for name in ("label_mean", "ci_low", "ci_high"):
        assert getattr(stars, name) == pytest.approx(1 + 4 * getattr(unit, name))
    assert stars.labels_saved == pytest.approx(unit.labels_saved)


def test_nothing_depends_on_the_order_of_rows() -> None:
    order = np.random.default_rng(0).permutation(30)
    strata, chances = np.arange(30) % 2, np.linspace(0.2, 0.6, 30)
    moved = label_mean(np.array(F)[order], np.array(Y)[order], strata=strata[order], probabilities=chances[order])
    assert moved == label_mean(F, Y, strata=strata, probabilities=chances)


def test_the_difference_of_two_runs_uses_rows_with_a_label_in_both() -> None:
    first, second = [0.0, 1, 1, 0, NAN, 1] + [NAN] * 14, [1.0, 1, 1, 1, 1, NAN] + [NAN] * 14
    result = label_difference(([0.5] * 20, [0.7] * 20), (first, second))
    assert result.labels == 4
    assert result.label_mean == pytest.approx(0.5)  # 1, 0, 0, 1
    same = label_difference((F, F), (Y, Y))
    assert same.label_mean == 0
    assert same.ci_low is not None and same.ci_low < 0


def test_the_difference_of_two_runs_is_narrower_than_labels_alone_if_the_judge_is_good() -> None:
    rng = np.random.default_rng(0)
    first = (rng.random(2_000) < 0.7).astype(float)
    second = np.where(rng.random(2_000) < 0.3, 1.0, first)
    scores = [np.where(rng.random(2_000) < 0.03, 1 - labels, labels) for labels in (first, second)]
    seen = [np.where(np.arange(2_000) < 30, labels, NAN) for labels in (first, second)]
    result = label_difference((scores[0], scores[1]), (seen[0], seen[1]))
    alone = difference_interval((second - first)[:30], Scale())
    assert result.ci_low is not None and result.ci_high is not None
    assert alone.ci_low is not None and alone.ci_high is not None
    assert result.ci_high - result.ci_low < 0.9 * (alone.ci_high - alone.ci_low)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, "level is 1.0"),
        ({"probabilities": [0.0] * 30}, "probabilities must be above 0"),
        ({"strata": [0] * 3}, "different lengths"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        label_mean(F, Y, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["uniform", "stratified", "uncertain"])
def test_the_interval_covers_where_residuals_are_rare_and_the_textbook_s_does_not(kind: str) -> None:
    """2,000 rows, 30 labels, a judge that agrees in 97 %. The fuller table: `python -m benchmarks.labels`."""
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        labels = (rng.random(2_000) < 0.7).astype(float)
        wrong = rng.random(2_000) < 0.03
        scores, doubt = np.where(wrong, 1 - labels, labels), rng.random(2_000)
        draw = {
            "uniform": lambda: draw_uniform(scores, 30, seed),  # noqa: B023
            "stratified": lambda: draw_stratified(scores, 30, seed),  # noqa: B023
            "uncertain": lambda: draw_uncertain(scores, doubt, 30, seed),  # noqa: B023
        }[kind]()
        seen = np.full(2_000, np.nan)
        seen[draw.rows] = labels[draw.rows]
        result = label_mean(scores, seen, strata=draw.strata, probabilities=draw.probabilities)
        assert result.ci_low is not None and result.ci_high is not None
        covered += result.ci_low <= 0.7 <= result.ci_high
    assert covered >= 0.93 * 200
