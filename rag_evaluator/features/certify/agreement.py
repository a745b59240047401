"""How far scores and labels agree: accuracy, kappa, the cross-fitted threshold, and all coefficients together."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rag_evaluator.features.certify.coefficients import (
    Coefficient,
    Statistic,
    auc,
    bootstrap_interval,
    concordance,
    kendall_tau_b,
    spearman,
    undefined,
    with_pseudo_rows,
)
from rag_evaluator.statistics.formulas import Array, Estimate
from rag_evaluator.statistics.intervals import PASS, mean_interval
from rag_evaluator.statistics.labelled import FOLDS, cluster_numbers, dealt

NO_THRESHOLD = "all scores are equal, so that no threshold can be chosen"


class Confusion(NamedTuple):
    """Numbers of rows by verdict (score at least the threshold) and label; not weighted."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int


@dataclass(frozen=True)
class BinaryAgreement:
    """Scores against labels of 0 and 1.

    Attributes:
        n: rows with a score and a label.
        positive: those with the label 1.
        auc, spearman: from the scores themselves.
        threshold: from which on a score counts as 1; None if there are no rows, or if it is to be chosen and all scores
            are equal. Then there are no verdicts: the figures from `confusion` on say nothing, and why.
        cross_fitted: whether it was chosen on the labels. Verdicts are then those of `cross_fitted`, not of this one.
        confusion: of verdicts and labels.
        agreement: the share of rows whose verdict is the label.
        balanced_accuracy: the mean of the shares among rows of label 1 and among rows of label 0, in [0, 1]; 0.5 is
            chance.
        kappa: Cohen's, of verdicts and labels.
    """

    n: int
    positive: int
    auc: Coefficient
    spearman: Coefficient
    threshold: float | None
    cross_fitted: bool
    confusion: Confusion | None
    agreement: Estimate
    balanced_accuracy: Coefficient
    kappa: Coefficient


@dataclass(frozen=True)
class GradedAgreement:
    """Scores against labels of several grades.

    Attributes:
        n: rows with a score and a label.
        concordance: of pairs of rows with different labels, the share whose scores are in the same order.
        kappa_linear, kappa_quadratic: weighted kappa of the grades nearest to the scores, and the labels.
        tau_b: Kendall's, of scores and labels.
        spearman: of scores and labels.
    """

    n: int
    concordance: Coefficient
    kappa_linear: Coefficient
    kappa_quadratic: Coefficient
    tau_b: Coefficient
    spearman: Coefficient


class ScoredLabels(NamedTuple):
    """Rows with a score and a label."""

    scores: Array
    labels: Array
    weights: Array
    clusters: list[Hashable] | None


def binary_agreement(
    scores: ArrayLike,
    labels: ArrayLike,
    threshold: float | None = None,
    clusters: Sequence[Hashable] | None = None,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> BinaryAgreement:
    """All figures for labels of 0 and 1.

    Intervals: Newcombe's for the AUC, Wilson's for the share (`mean_interval`), `bootstrap_interval` for kappa and
    Spearman's rho. Balanced accuracy: both shares' Wilson intervals combined as square roots of summed squares
    (Newcombe 1998; Zou and Donner 2008), as if the two classes were independent.

    Args:
        scores: higher for what people accept; turn the sign of metrics where lower is better. NaN: none.
        labels: 0 or 1; NaN: none.
        threshold: fixed before the labels were seen. None: chosen on them, by cross-fitting.
        clusters: rows of one cluster depend on each other.
        weights: how many rows each one speaks for; of a draw 1/probability. Rows of weight 0 do not count.
        seed: of folds and bootstrap.

    Raises:
        ValueError: if a label is not 0 or 1, lengths differ, or weights are negative.
    """
    rows = pairs_of(scores, labels, clusters, weights)
    if not np.all(np.isin(rows.labels, (0.0, 1.0))):
        raise ValueError(f"labels are {sorted(set(rows.labels))[:5]}; 0 and 1 are expected")
    chosen = threshold is None and len(rows.scores) > 0
    if chosen and np.ptp(rows.scores) == 0:
        return _without_verdicts(rows, level, seed)
    if chosen:
        threshold, verdicts = cross_fitted(*rows, seed=seed)
    else:
        verdicts = rows.scores >= (threshold or 0.0)
    right = (verdicts == (rows.labels == 1)).astype(np.float64)
    return BinaryAgreement(
        n=len(rows.labels),
        positive=int(rows.labels.sum()),
        auc=auc(*rows, level=level),
        spearman=spearman(*rows, level=level, seed=seed),
        threshold=threshold,
        cross_fitted=chosen,
        confusion=Confusion(*(int(np.sum(verdicts[rows.labels == y] == f)) for f in (1, 0) for y in (1, 0))),
        agreement=mean_interval(right, PASS, level, rows.clusters, rows.weights),
        balanced_accuracy=balanced(rows, right, level),
        kappa=cohen_kappa(verdicts.astype(np.float64), *rows[1:], level=level, seed=seed),
    )


def _without_verdicts(rows: ScoredLabels, level: float, seed: int) -> BinaryAgreement:
    """Of scores that are all equal, and no threshold: it could only accept all rows, or reject all."""
    none = undefined(NO_THRESHOLD, level)
    return BinaryAgreement(
        n=len(rows.labels),
        positive=int(rows.labels.sum()),
        auc=auc(*rows, level=level),
        spearman=spearman(*rows, level=level, seed=seed),
        threshold=None,
        cross_fitted=False,
        confusion=None,
        agreement=replace(mean_interval([], PASS, level), ci_method=none.ci_method),
        balanced_accuracy=none,
        kappa=none,
    )


def graded_agreement(
    scores: ArrayLike,
    labels: ArrayLike,
    grades: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    weights: ArrayLike | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> GradedAgreement:
    """All figures for labels of several grades; intervals and arguments as in `binary_agreement`.

    Args:
        grades: all grades there are, in the unit of the scores. Each score is moved to the nearest one (of two the
            lower) for kappa.
    """
    rows = pairs_of(scores, labels, clusters, weights)
    steps = np.unique(np.asarray(grades, dtype=np.float64))
    nearest = steps[np.argmin(np.abs(rows.scores[:, None] - steps), axis=1)]
    linear, quadratic = (
        cohen_kappa(nearest, *rows[1:], weighting=weighting, level=level, seed=seed)
        for weighting in ("linear", "quadratic")
    )
    pairs, tau_b, rho = (function(*rows, level=level, seed=seed) for function in (concordance, kendall_tau_b, spearman))
    return GradedAgreement(len(rows.labels), pairs, linear, quadratic, tau_b, rho)


def pairs_of(
    scores: ArrayLike, labels: ArrayLike, clusters: Sequence[Hashable] | None, weights: ArrayLike | None
) -> ScoredLabels:
    """Rows with score and label, sorted by these and by weight, so that figures do not depend on the order of rows."""
    judged, people = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    masses = np.ones(len(judged)) if weights is None else np.asarray(weights, dtype=np.float64)
    names = range(len(judged)) if clusters is None else clusters
    if not len(judged) == len(people) == len(masses) == len(names):
        raise ValueError(f"{len(judged)} scores, {len(people)} labels, {len(masses)} weights and {len(names)} clusters")
    if not np.all(np.isfinite(masses) & (masses >= 0)):
        raise ValueError("weights must be finite numbers of at least 0")
    has_both = ~np.isnan(judged) & ~np.isnan(people) & (masses > 0)
    last = np.unique([str(name) for name in names], return_inverse=True)[1] if clusters else masses
    order = [place for place in np.lexsort((last, masses, people, judged)) if has_both[place]]
    labels_of = None if clusters is None else [clusters[place] for place in order]
    return ScoredLabels(judged[order], people[order], masses[order], labels_of)


def balanced(rows: ScoredLabels, right: Array, level: float) -> Coefficient:
    """Balanced accuracy of verdicts, see `binary_agreement`; `right`: 1 where the verdict is the label, else 0."""
    if len(set(rows.labels)) < 2:
        return undefined("labels of one class only" if len(right) else "no labels", level)
    parts = []
    for kind in (0.0, 1.0):
        places = np.flatnonzero(rows.labels == kind)
        clusters = rows.clusters and [rows.clusters[place] for place in places]
        part = mean_interval(right[places], PASS, level, clusters, rows.weights[places])
        assert part.mean is not None and part.ci_low is not None and part.ci_high is not None
        parts.append((part.mean, part.ci_low, part.ci_high))
    value = sum(mean for mean, _, _ in parts) / 2
    below = sum((mean - low) ** 2 for mean, low, _ in parts) ** 0.5 / 2
    above = sum((high - mean) ** 2 for mean, _, high in parts) ** 0.5 / 2
    return Coefficient(value, max(value - below, 0.0), min(value + above, 1.0), level, "wilson-square-and-add")


Weighting = Literal["nominal", "linear", "quadratic"]
Places = NDArray[np.int64]
DISTANCES: Mapping[Weighting, Callable[[Array], Array]] = {
    "nominal": lambda gaps: (gaps > 0).astype(np.float64),
    "linear": lambda gaps: gaps,
    "quadratic": lambda gaps: gaps**2,
}


def cohen_kappa(
    first: Array,
    second: Array,
    weights: Array,
    clusters: Sequence[Hashable] | None = None,
    weighting: Weighting = "nominal",
    level: float = 0.95,
    seed: int = 0,
) -> Coefficient:
    """kappa = 1 - observed / expected disagreement, in [-1, 1] (Cohen 1960; with weights of disagreement Cohen 1968).

    Disagreement of two ratings is 1 (nominal), their distance (linear) or its square (quadratic). Interval:
    `bootstrap_interval`; the pseudo-rows are the lowest rating against the highest, both ways.

    Args:
        first, second: ratings as numbers, none missing.
        weights: how many rows each one speaks for, above 0.
    """
    ratings = np.unique(np.concatenate([first, second]))
    if len(first) < 2 or len(ratings) < 2:
        return undefined("fewer than two rows" if len(first) < 2 else "all ratings are equal", level)
    distances = DISTANCES[weighting](np.abs(ratings[:, None] - ratings))
    sides = with_pseudo_rows(first, second, ratings)
    first_places, other = (np.asarray(np.searchsorted(ratings, side), dtype=np.int64) for side in sides)
    return bootstrap_interval(_statistic(first_places, other, distances), weights, clusters, level, seed)


def _statistic(first: Places, second: Places, distances: Array) -> Statistic:
    first_ratings, other = (np.eye(len(distances))[places] for places in (first, second))
    apart = distances[first, second]

    def kappas(weights: Array) -> Array:
        expected = np.sum((weights @ first_ratings @ distances) * (weights @ other), axis=-1)
        return np.asarray(1 - (weights @ apart) * weights.sum(axis=-1) / expected)

    return kappas


class CrossFitted(NamedTuple):
    """Verdicts by thresholds of other rows.

    Attributes:
        threshold: the best one for all labels; for use on other rows.
        verdicts: of each row, by the best threshold of the folds that it is not in.
    """

    threshold: float
    verdicts: NDArray[np.bool_]


def cross_fitted(
    scores: Array,
    labels: Array,
    weights: Array,
    clusters: Sequence[Hashable] | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    near: float | None = None,
) -> CrossFitted:
    """A threshold chosen on labels looks better on these than it is, so each row is judged by that of other folds.

    Rows are dealt to folds at random, the rows of a cluster to one fold. A row's verdict is 1 if its score is at least
    the threshold.

    Args:
        scores, labels: none missing; labels are 0 or 1.
        weights: how many rows each one speaks for, above 0.
        near: as in `best_threshold`.
    """
    dealing = dealt(cluster_numbers(clusters, len(scores)), folds=folds, seed=seed)
    verdicts = np.zeros(len(scores), dtype=bool)
    for fold in np.unique(dealing):
        inside, outside = dealing == fold, dealing != fold
        chosen = best_threshold(scores[outside], labels[outside], weights[outside], near)
        verdicts[inside] = scores[inside] >= chosen
    return CrossFitted(best_threshold(scores, labels, weights, near), verdicts)


def best_threshold(scores: Array, labels: Array, weights: Array, near: float | None = None) -> float:
    """The middle between two scores with the greatest balanced accuracy.

    Of several the nearest to `near`, without it to the median score; of two that are as near the lower one. If all
    scores are equal it is that score, and with labels of one class every threshold is as good.
    """
    values = np.unique(scores)
    if len(values) < 2:
        return float(values[0]) if len(values) else 0.0
    middles = (values[1:] + values[:-1]) / 2
    shares = [weights * (labels == kind) / max(float(np.sum(weights * (labels == kind))), 1e-300) for kind in (0, 1)]
    below = [np.cumsum(np.bincount(np.searchsorted(values, scores), weights=share))[:-1] for share in shares]
    gains = below[0] - below[1]  # twice the balanced accuracy, less 1
    best = middles[gains >= gains.max() - 1e-12]
    distances = np.abs(best - (np.median(scores) if near is None else near))
    return float(best[np.argmin(distances.round(9))])
