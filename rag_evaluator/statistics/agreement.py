"""How far scores and labels agree: accuracy, the cross-fitted threshold, and all coefficients together."""

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.files import JsonDict

from .coefficients import (
    Coefficient,
    ScoredLabels,
    cohen_kappa,
    concordance,
    label_auc,
    spearman,
    undefined,
)
from .formulas import Array
from .intervals import PASS, mean_interval
from .labelled import cluster_numbers, dealt

CONFUSION = {
    "true_positive": (1, 1),
    "false_positive": (1, 0),
    "false_negative": (0, 1),
    "true_negative": (0, 0),
}
"""Name -> verdict and label."""
NO_THRESHOLD = "all scores are equal, so that no threshold can be chosen"


Figures = JsonDict  # of agreement: `Coefficient`s, an `Estimate`, JSON


def binary_agreement(rows: ScoredLabels, threshold: float | None = None, level: float = 0.95, seed: int = 0) -> Figures:
    """All figures for labels of 0 and 1.

    Intervals: Newcombe's for the AUC, Wilson's for the share (`mean_interval`), `bootstrap_interval` for kappa and
    Spearman's rho. Balanced accuracy: both shares' Wilson intervals combined as square roots of summed squares
    (Newcombe 1998; Zou and Donner 2008), as if the two classes were independent.

    Args:
        rows: scores are higher for what people accept; labels are 0 or 1.
        threshold: fixed before the labels were seen. None: chosen on them, by cross-fitting.
        seed: of folds and bootstrap.

    Returns:
        `n`: rows with a score and a label; `positive`: those with the label 1.
        `auc`, `spearman`: from the scores themselves.
        `threshold`: from which on a score counts as 1; None if it is to be chosen and all scores are equal. Then there
        are no verdicts: the figures from `confusion` on say nothing, and why.
        `cross_fitted`: whether it was chosen on the labels. Verdicts are then those of `cross_fitted`, not of this one.
        `confusion`: numbers of rows by verdict (score at least the threshold) and label; not weighted.
        `agreement`: the share of rows whose verdict is the label.
        `balanced_accuracy`: the mean of the shares among rows of label 1 and among rows of label 0, in [0, 1]; 0.5 is
        chance.
        `kappa`: Cohen's, of verdicts and labels.
    """
    of_scores = {
        "n": len(rows.labels),
        "positive": int(rows.labels.sum()),
        "auc": label_auc(rows, level),
        "spearman": spearman(rows, level, seed),
    }
    chosen = threshold is None
    if chosen and np.ptp(rows.scores) == 0:  # a threshold could only accept all rows, or reject all
        none = undefined(NO_THRESHOLD, level)
        share = replace(mean_interval([], PASS, level), ci_method=none.ci_method)
        of_verdicts = {"confusion": None, "agreement": share, "balanced_accuracy": none, "kappa": none}
        return {**of_scores, "threshold": None, "cross_fitted": False, **of_verdicts}
    if threshold is None:
        threshold, verdicts = cross_fitted(*rows, seed=seed)
    else:
        verdicts = rows.scores >= threshold
    right = (verdicts == (rows.labels == 1)).astype(np.float64)
    return {
        **of_scores,
        "threshold": threshold,
        "cross_fitted": chosen,
        "confusion": {
            name: int(np.sum((verdicts == verdict) & (rows.labels == label)))
            for name, (verdict, label) in CONFUSION.items()
        },
        "agreement": mean_interval(right, PASS, level, rows.clusters, rows.weights),
        "balanced_accuracy": balanced(rows, right, level),
        "kappa": cohen_kappa(rows._replace(scores=verdicts.astype(np.float64)), level=level, seed=seed),
    }


def graded_agreement(rows: ScoredLabels, grades: Sequence[float], level: float = 0.95) -> Figures:
    """All figures for labels of several grades; intervals and arguments as in `binary_agreement`.

    Args:
        grades: all grades there are, in the unit of the scores.

    Returns:
        `n`: rows with a score and a label.
        `concordance`: of pairs of rows with different labels, the share whose scores are in the same order.
        `kappa_quadratic`: kappa with squared distances, of the grades nearest to the scores (of two the lower), and the
        labels.
        `spearman`: of scores and labels.
    """
    steps = np.unique(np.asarray(grades, dtype=np.float64))
    nearest = steps[np.argmin(np.abs(rows.scores[:, None] - steps), axis=1)]
    return {
        "n": len(rows.labels),
        "concordance": concordance(rows, level),
        "kappa_quadratic": cohen_kappa(rows._replace(scores=nearest), level),
        "spearman": spearman(rows, level),
    }


def balanced(rows: ScoredLabels, right: Array, level: float) -> Coefficient:
    """Balanced accuracy of verdicts, see `binary_agreement`; `right`: 1 where the verdict is the label, else 0."""
    if len(set(rows.labels)) < 2:
        return undefined("labels of one class only", level)
    parts = []
    for kind in (0.0, 1.0):
        places = np.flatnonzero(rows.labels == kind)
        clusters = rows.clusters and [rows.clusters[place] for place in places.tolist()]
        part = mean_interval(right[places], PASS, level, clusters, rows.weights[places])
        assert part.mean is not None and part.ci_low is not None and part.ci_high is not None
        parts.append((part.mean, part.ci_low, part.ci_high))
    value = sum(mean for mean, _, _ in parts) / 2
    below = sum((mean - low) ** 2 for mean, low, _ in parts) ** 0.5 / 2
    above = sum((high - mean) ** 2 for mean, _, high in parts) ** 0.5 / 2
    return Coefficient(value, max(value - below, 0.0), min(value + above, 1.0), level, "wilson-square-and-add")


def cross_fitted(
    scores: Array,
    labels: Array,
    weights: Array,
    clusters: Sequence[Hashable] | None = None,
    seed: int = 0,
    near: float | None = None,
) -> tuple[float, NDArray[np.bool_]]:
    """The best threshold for all labels, for use on other rows, and the verdict of each row by that of other folds.

    A threshold chosen on labels looks better on these than it is. Rows are dealt to folds at random, the rows of a
    cluster to one fold. A row's verdict is 1 if its score is at least the threshold.

    Args:
        scores, labels: none missing; labels are 0 or 1.
        weights: how many rows each one speaks for, above 0.
        near: as in `best_threshold`.
    """
    dealing = dealt(cluster_numbers(clusters, len(scores)), seed=seed)
    verdicts = np.zeros(len(scores), dtype=bool)
    for fold in np.unique(dealing):
        inside = dealing == fold
        outside = dealing != fold
        chosen = best_threshold(scores[outside], labels[outside], weights[outside], near)
        verdicts[inside] = scores[inside] >= chosen
    return best_threshold(scores, labels, weights, near), verdicts


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
