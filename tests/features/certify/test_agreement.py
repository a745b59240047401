"""Agreement with labels: equal to scipy and statsmodels where these have the figure, and by hand."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

from rag_evaluator.features.certify.agreement import best_threshold, binary_agreement, cross_fitted, graded_agreement
from rag_evaluator.features.certify.coefficients import Coefficient, newcombe_interval, pairs_of
from rag_evaluator.statistics import PASS, mean_interval

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 2, 60).astype(float)
SCORES = np.round(np.clip(0.3 + 0.3 * LABELS + RNG.normal(0, 0.25, 60), 0, 1), 1)  # many ties
GRADES = (1.0, 2.0, 3.0, 4.0, 5.0)
GRADED = RNG.integers(1, 6, 60).astype(float)
NEAR = np.clip(GRADED + RNG.integers(-1, 2, 60), 1, 5)
ROWS = pairs_of(SCORES, LABELS)
NEAR_ROWS = pairs_of(NEAR, GRADED)
SURE = [1] * 20 + [0] * 20


def width(coefficient: Coefficient) -> float:
    assert coefficient.ci_low is not None
    assert coefficient.ci_high is not None
    return coefficient.ci_high - coefficient.ci_low


def test_the_auc_is_that_of_mann_and_whitney_with_ties_half() -> None:
    u = stats.mannwhitneyu(SCORES[LABELS == 1], SCORES[LABELS == 0]).statistic
    assert binary_agreement(ROWS, 0.5)["auc"].value == pytest.approx(u / (LABELS == 1).sum() / (LABELS == 0).sum())
    # pairs of 1: (0.5, 0.9) and of 0: (0.5, 0.1): half + 1 + 1 + 1 of four
    assert binary_agreement(pairs_of([0.5, 0.9, 0.5, 0.1], [1, 1, 0, 0]), 0.5)["auc"].value == 3.5 / 4


def test_newcombe_s_interval_solves_its_equation_and_has_a_width_at_0_and_1() -> None:
    z = stats.norm.ppf(0.975)
    # one row each: N* = 0, (1 - A)^2 = z^2 A (1 - A), so A = 1 / (1 + z^2)
    assert newcombe_interval(1.0, 1, 1) == (pytest.approx(1 / (1 + z**2)), 1.0)
    assert newcombe_interval(0.0, 1, 1) == (0.0, pytest.approx(z**2 / (1 + z**2)))
    for area in newcombe_interval(0.893, 51, 58):
        middle = (51 + 58) / 2 - 1
        variance = area * (1 - area) * (1 + middle * (1 - area) / (2 - area) + middle * area / (1 + area)) / (51 * 58)
        assert abs(area - 0.893) / np.sqrt(variance) == pytest.approx(z)


def test_spearman_is_that_of_scipy() -> None:
    assert binary_agreement(ROWS, 0.5)["spearman"].value == pytest.approx(stats.spearmanr(SCORES, LABELS)[0])
    graded = graded_agreement(NEAR_ROWS, GRADES)
    assert graded["spearman"].value == pytest.approx(stats.spearmanr(NEAR, GRADED)[0])


def test_kappa_and_weighted_kappa_are_those_of_statsmodels() -> None:
    table = np.histogram2d(SCORES >= 0.5, LABELS, bins=2)[0]
    assert binary_agreement(ROWS, 0.5)["kappa"].value == pytest.approx(cohens_kappa(table).kappa)
    graded = graded_agreement(NEAR_ROWS, GRADES)
    table = np.histogram2d(NEAR, GRADED, bins=5)[0]
    assert graded["kappa_quadratic"].value == pytest.approx(cohens_kappa(table, wt="quadratic").kappa)
    nearest = graded_agreement(pairs_of([1.2, 1.8, 4.4, 5.0, 3.5], [1, 2, 4, 5, 3]), GRADES)  # of two grades the lower
    assert nearest["kappa_quadratic"].value == 1.0


def test_kappa_worked_by_hand() -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: agreement 0.7, by chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5
    result = binary_agreement(pairs_of([1] * 25 + [0] * 25, [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15), 0.5)
    assert result["kappa"].value == pytest.approx((0.7 - 0.5) / (1 - 0.5))
    assert result["confusion"] == {
        "true_positive": 20, "false_positive": 5, "false_negative": 10, "true_negative": 15,
    }  # fmt: skip
    assert result["agreement"] == mean_interval([1] * 35 + [0] * 15, PASS)
    # 20 of 30 accepted rows, 15 of 20 others; the intervals of both shares as legs of a right triangle
    assert result["balanced_accuracy"].value == pytest.approx((20 / 30 + 15 / 20) / 2)
    yes = mean_interval([1] * 20 + [0] * 10, PASS)
    no = mean_interval([1] * 15 + [0] * 5, PASS)
    legs = [(e.mean or 0) - (e.ci_low or 0) for e in (yes, no)]
    assert result["balanced_accuracy"].ci_low == pytest.approx((20 / 30 + 15 / 20) / 2 - np.hypot(*legs) / 2)


FIGURES = ("auc", "spearman", "kappa", "balanced_accuracy")


def test_full_agreement_does_not_give_an_interval_of_zero_width() -> None:
    perfect = binary_agreement(pairs_of(SURE, SURE), 0.5)
    for figure in (perfect[name] for name in FIGURES):
        assert (figure.value, figure.ci_high) == (pytest.approx(1), pytest.approx(1))
        assert 0.05 < width(figure) < 0.4
    graded = graded_agreement(pairs_of(GRADED, GRADED), GRADES)
    for name in ("kappa_quadratic", "spearman"):
        assert 0.05 < width(graded[name]) < 0.4
    reverse = binary_agreement(pairs_of(SURE[::-1], SURE), 0.5)
    for figure in (reverse[name] for name in FIGURES):
        assert width(figure) > 0.05


@pytest.mark.parametrize(
    ("scores", "labels", "undefined"),
    [
        ([0.2, 0.9], [1, 1], {"auc": "labels of one class only", "balanced_accuracy": "labels of one class only",
                              "spearman": "all labels are equal"}),
        ([0.7, 0.7], [1, 0], {"spearman": "all scores are equal"}),
        ([0.9, 0.7], [1, 1], {"kappa": "all ratings are equal"}),
    ],
)  # fmt: skip
def test_what_is_undefined_has_a_reason(scores: list[float], labels: list[float], undefined: dict[str, str]) -> None:
    result = binary_agreement(pairs_of(scores, labels), 0.5)
    for name, reason in undefined.items():
        assert result[name] == Coefficient(None, None, None, 0.95, f"none: {reason}")


def test_whole_weights_give_the_figures_of_repeated_rows() -> None:
    masses = RNG.integers(1, 4, 60)
    weighted = binary_agreement(pairs_of(SCORES, LABELS, weights=masses), 0.5)
    repeated = binary_agreement(pairs_of(np.repeat(SCORES, masses), np.repeat(LABELS, masses)), 0.5)
    for name in FIGURES:
        assert weighted[name].value == pytest.approx(repeated[name].value)
        assert width(weighted[name]) > width(repeated[name])
    assert weighted["agreement"].mean == pytest.approx(repeated["agreement"].mean)
    graded = graded_agreement(pairs_of(NEAR, GRADED, weights=masses), GRADES)
    again = graded_agreement(pairs_of(np.repeat(NEAR, masses), np.repeat(GRADED, masses)), GRADES)
    assert graded["concordance"].value == pytest.approx(again["concordance"].value)
    assert graded["kappa_quadratic"].value == pytest.approx(again["kappa_quadratic"].value)


def test_copies_of_rows_in_clusters_say_no_more_than_the_rows_alone() -> None:
    alone = binary_agreement(ROWS, 0.5)
    four = np.tile(SCORES, 4), np.tile(LABELS, 4)
    copied = binary_agreement(pairs_of(*four, clusters=list(range(60)) * 4), 0.5)
    apart = binary_agreement(pairs_of(*four), 0.5)
    for name in FIGURES:
        assert copied[name].value == pytest.approx(alone[name].value)
        assert width(copied[name]) == pytest.approx(width(alone[name]), rel=0.15)
        assert width(apart[name]) < 0.7 * width(copied[name])


def test_nothing_depends_on_the_order_of_rows_and_everything_on_the_seed() -> None:
    clusters = [str(place // 3) for place in range(60)]
    order = RNG.permutation(60)
    moved = pairs_of(SCORES[order], LABELS[order], [clusters[place] for place in order])
    rows = pairs_of(SCORES, LABELS, clusters)
    assert binary_agreement(moved, 0.5, seed=3)["kappa"] == binary_agreement(rows, 0.5, seed=3)["kappa"]
    assert binary_agreement(moved, 0.5, seed=3)["kappa"] != binary_agreement(rows, 0.5, seed=4)["kappa"]


@pytest.mark.parametrize(
    ("scores", "labels", "near", "expected"),
    [
        ([0.1, 0.2, 0.7, 0.9], [0, 0, 1, 1], None, 0.45),  # the middle of 0.2 and 0.7
        ([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1], None, 0.25),  # 0.25 and 0.75 are as good and as near: the lower one
        ([0.1, 0.45, 0.5, 0.9], [0, 1, 0, 1], 0.5, 0.7),
        ([0.1, 0.45, 0.5, 0.9], [0, 1, 0, 1], 0.2, 0.275),
        ([0.5, 0.5], [0, 1], None, 0.5),
        ([], [], None, 0.0),
    ],
)
def test_the_best_threshold_by_hand(
    scores: list[float], labels: list[float], near: float | None, expected: float
) -> None:
    found = best_threshold(np.array(scores), np.array(labels), np.ones(len(scores)), near)
    assert found == pytest.approx(expected)


def test_a_row_s_verdict_does_not_depend_on_its_own_label_or_on_those_of_its_cluster() -> None:
    clusters = [place // 3 for place in range(60)]
    _, before = cross_fitted(SCORES, LABELS, np.ones(60), clusters, seed=1)
    turned = np.where(np.array(clusters) == 5, 1 - LABELS, LABELS)
    _, after = cross_fitted(SCORES, turned, np.ones(60), clusters, seed=1)
    inside = np.array(clusters) == 5
    assert (before[inside] == after[inside]).all()


def test_a_given_threshold_is_used_as_it_is() -> None:
    given = binary_agreement(ROWS, 0.4)
    chosen = binary_agreement(ROWS)
    assert (given["threshold"], given["cross_fitted"], chosen["cross_fitted"]) == (0.4, False, True)
    assert given["agreement"].mean == pytest.approx(np.mean((SCORES >= 0.4) == LABELS))


def test_of_scores_that_are_all_equal_no_threshold_is_chosen_and_nothing_agrees() -> None:
    rows = pairs_of([0.0] * 30, [1] * 26 + [0] * 4)
    found = binary_agreement(rows)
    assert (found["threshold"], found["confusion"], found["cross_fitted"]) == (None, None, False)
    for figure in (found["agreement"].mean, found["balanced_accuracy"].value, found["kappa"].value):
        assert figure is None
    why = "none: all scores are equal, so that no threshold can be chosen"
    assert found["agreement"].ci_method == found["balanced_accuracy"].ci_method == found["kappa"].ci_method == why
    assert found["auc"].value == 0.5
    assert binary_agreement(rows, 0.5)["agreement"].mean == pytest.approx(4 / 30)
