"""Agreement with labels: equal to scipy and statsmodels where these have the figure, and by hand."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aliases import Json
from known_labels import certified, keep_draw
from labelled_runs import scored_run
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

from rag_evaluator import certify
from rag_evaluator.statistics import PASS, mean_interval

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 2, 60).astype(float)
SCORES = np.round(np.clip(0.3 + 0.3 * LABELS + RNG.normal(0, 0.25, 60), 0, 1), 1)  # many ties
GRADED = RNG.integers(1, 6, 60).astype(float)
NEAR = np.clip(GRADED + RNG.integers(-1, 2, 60), 1, 5)
SURE = [1] * 20 + [0] * 20
BINARY = ("auc", "spearman", "kappa", "balanced_accuracy")
Certify = Callable[..., Json]


@pytest.fixture
def of(tmp_path: Path) -> Certify:
    """The figures of scores and labels; the threshold is 0.5 unless another is named."""

    def figures(scores: Sequence[Any], labels: Sequence[Any], **options: Any) -> Json:
        folder = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        kind = "graded" if "scale" in options else "binary"
        found: Json = certified(folder, scores, labels, **{"threshold": 0.5, **options})[kind]
        return found

    return figures


def graded(of: Certify, scores: Sequence[Any], labels: Sequence[Any], **options: Any) -> Json:
    return of(scores, labels, scale=(1, 5), threshold=None, **options)


def width(figure: Json) -> float:
    return float(figure["ci_high"] - figure["ci_low"])


def test_auc_rank_correlation_and_kappa_are_those_of_scipy_and_statsmodels(of: Certify) -> None:
    found = of(SCORES, LABELS)
    accepted = int(LABELS.sum())
    rejected = 60 - accepted
    u = stats.mannwhitneyu(SCORES[LABELS == 1], SCORES[LABELS == 0]).statistic
    area = found["auc"]["value"]
    assert area == pytest.approx(u / accepted / rejected)
    assert found["spearman"]["value"] == pytest.approx(stats.spearmanr(SCORES, LABELS)[0])
    table = np.histogram2d(SCORES >= 0.5, LABELS, bins=2)[0]
    assert found["kappa"]["value"] == pytest.approx(cohens_kappa(table).kappa)
    # the ends of Newcombe's interval solve his equation
    middle = 60 / 2 - 1
    for end in (found["auc"]["ci_low"], found["auc"]["ci_high"]):
        factor = 1 + middle * (1 - end) / (2 - end) + middle * end / (1 + end)
        error = np.sqrt(end * (1 - end) * factor / (accepted * rejected))
        assert abs(end - area) / error == pytest.approx(stats.norm.ppf(0.975))


def test_figures_of_grades_are_those_of_scipy_and_statsmodels(of: Certify) -> None:
    found = graded(of, NEAR, GRADED)
    assert found["spearman"]["value"] == pytest.approx(stats.spearmanr(NEAR, GRADED)[0])
    table = np.histogram2d(NEAR, GRADED, bins=5)[0]
    assert found["kappa_quadratic"]["value"] == pytest.approx(cohens_kappa(table, wt="quadratic").kappa)
    nearest = graded(of, [1.2, 1.8, 4.4, 5.0, 3.5] * 4, [1, 2, 4, 5, 3] * 4)  # of two grades the lower
    assert nearest["kappa_quadratic"]["value"] == 1.0


def test_kappa_worked_by_hand(of: Certify) -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: agreement 0.7, by chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5
    result = of([1] * 25 + [0] * 25, [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15)
    assert result["kappa"]["value"] == pytest.approx((0.7 - 0.5) / (1 - 0.5))
    assert result["confusion"] == {
        "true_positive": 20, "false_positive": 5, "false_negative": 10, "true_negative": 15,
    }  # fmt: skip
    assert result["agreement"] == asdict(mean_interval([1] * 35 + [0] * 15, PASS))
    # 20 of 30 accepted rows, 15 of 20 others; the intervals of both shares as legs of a right triangle
    assert result["balanced_accuracy"]["value"] == pytest.approx((20 / 30 + 15 / 20) / 2)
    yes = mean_interval([1] * 20 + [0] * 10, PASS)
    no = mean_interval([1] * 15 + [0] * 5, PASS)
    legs = [(e.mean or 0) - (e.ci_low or 0) for e in (yes, no)]
    assert result["balanced_accuracy"]["ci_low"] == pytest.approx((20 / 30 + 15 / 20) / 2 - np.hypot(*legs) / 2)


def test_full_agreement_does_not_give_an_interval_of_zero_width(of: Certify) -> None:
    perfect = of(SURE, SURE)
    for figure in (perfect[name] for name in BINARY):
        assert (figure["value"], figure["ci_high"]) == (pytest.approx(1), pytest.approx(1))
        assert 0.05 < width(figure) < 0.4
    grades = graded(of, GRADED, GRADED)
    for name in ("kappa_quadratic", "spearman"):
        assert 0.05 < width(grades[name]) < 0.4
    reverse = of(SURE[::-1], SURE)
    for figure in (reverse[name] for name in BINARY):
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
def test_what_is_undefined_has_a_reason(
    of: Certify, scores: list[float], labels: list[float], undefined: dict[str, str]
) -> None:
    result = of(scores * 10, labels * 10)
    for name, reason in undefined.items():
        nothing = dict.fromkeys(("value", "ci_low", "ci_high"))
        assert result[name] == {**nothing, "ci_level": 0.95, "ci_method": f"none: {reason}"}


def drawn(folder: Path, scores: Sequence[float], labels: Sequence[float], masses: Sequence[int]) -> Json:
    """The figures of rows that speak for as many as their probabilities in a draw say."""
    run = scored_run(folder, scores, labels)
    name = keep_draw(run, range(len(scores)), [1 / mass for mass in masses])
    lines = ["row,draw,m", *(f"{row},{name},{label}" for row, label in enumerate(labels))]
    (folder / "l.csv").write_text("\n".join(lines))
    found: Json = certify(run, folder / "l.csv", threshold={"m": 0.5}).certificate["metrics"]["m"]["binary"]
    return found


def test_whole_weights_give_the_figures_of_repeated_rows(of: Certify, tmp_path: Path) -> None:
    masses = RNG.integers(1, 4, 60)
    weighted = drawn(tmp_path / "drawn", SCORES.tolist(), LABELS.tolist(), masses.tolist())
    repeated = of(np.repeat(SCORES, masses), np.repeat(LABELS, masses))
    for name in BINARY:
        assert weighted[name]["value"] == pytest.approx(repeated[name]["value"])
        assert width(weighted[name]) > width(repeated[name])
    assert weighted["agreement"]["mean"] == pytest.approx(repeated["agreement"]["mean"])


def test_copies_of_rows_in_clusters_say_no_more_than_the_rows_alone(of: Certify) -> None:
    alone = of(SCORES, LABELS)
    four = np.tile(SCORES, 4), np.tile(LABELS, 4)
    copied = of(*four, clusters=list(range(60)) * 4)
    apart = of(*four)
    for name in BINARY:
        assert copied[name]["value"] == pytest.approx(alone[name]["value"])
        assert width(copied[name]) == pytest.approx(width(alone[name]), rel=0.15)
        assert width(apart[name]) < 0.7 * width(copied[name])


def test_the_interval_of_concordance_resamples_clusters_whole(of: Certify) -> None:
    copied = graded(of, np.tile(NEAR, 4), np.tile(GRADED, 4), clusters=list(range(60)) * 4)["concordance"]
    apart = graded(of, np.tile(NEAR, 4), np.tile(GRADED, 4))["concordance"]
    alone = graded(of, NEAR, GRADED)["concordance"]
    assert copied["value"] == pytest.approx(alone["value"])
    assert width(copied) == pytest.approx(width(alone), rel=0.15)
    assert width(apart) < 0.7 * width(alone)


def test_nothing_depends_on_the_order_of_rows(of: Certify) -> None:
    clusters = [f"{place // 3}" for place in range(60)]
    order = RNG.permutation(60)
    moved = of(SCORES[order], LABELS[order], clusters=[clusters[place] for place in order])
    assert moved == of(SCORES, LABELS, clusters=clusters)


@pytest.mark.parametrize(
    ("scores", "labels", "expected"),
    [
        ([0.1, 0.2, 0.7, 0.9], [0, 0, 1, 1], 0.45),  # the middle of 0.2 and 0.7
        ([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1], 0.25),  # 0.25 and 0.75 are as good and as near: the lower one
    ],
)
def test_the_best_threshold_by_hand(of: Certify, scores: list[float], labels: list[float], expected: float) -> None:
    found = of(scores * 10, labels * 10, threshold=None)
    assert (found["threshold"], found["cross_fitted"]) == (pytest.approx(expected), True)


def test_a_row_s_verdict_does_not_depend_on_its_own_label_or_on_those_of_its_cluster(of: Certify) -> None:
    """Two rows of one cluster alone have labels between: the threshold of the other folds does not see them."""
    scores = [0.1, 0.2] * 10 + [0.6, 0.7] * 10 + [0.3, 0.3]
    labels = [0] * 20 + [1] * 22
    found = of(scores, labels, clusters=[*range(40), "alone", "alone"], threshold=None)
    assert found["threshold"] == pytest.approx(0.25)
    assert found["confusion"]["false_negative"] == 2
    assert found["agreement"]["mean"] == pytest.approx(40 / 42)


def test_of_scores_that_are_all_equal_no_threshold_is_chosen_and_nothing_agrees(of: Certify) -> None:
    found = of([0.0] * 30, [1] * 26 + [0] * 4, threshold=None)
    assert (found["threshold"], found["confusion"], found["cross_fitted"]) == (None, None, False)
    assert (found["agreement"]["mean"], found["balanced_accuracy"]["value"], found["kappa"]["value"]) == (None,) * 3
    why = "none: all scores are equal, so that no threshold can be chosen"
    assert {found[name]["ci_method"] for name in ("agreement", "balanced_accuracy", "kappa")} == {why}
    assert found["auc"]["value"] == 0.5
