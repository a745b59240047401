"""A threshold that is chosen on labels, and the verdicts it gives for labels it was not chosen on."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.trust.bootstrap import cluster_numbers
from rag_evaluator.trust.folds import FOLDS, dealt
from rag_evaluator.trust.formulas import Array


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
) -> CrossFitted:
    """A threshold chosen on labels looks better on these than it is, so each row is judged by that of other folds.

    Rows are dealt to folds at random, the rows of a cluster to one fold. A row's verdict is 1 if its score is at least
    the threshold.

    Args:
        scores, labels: none missing; labels are 0 or 1.
        weights: how many rows each one speaks for, above 0.
    """
    dealing = dealt(cluster_numbers(clusters, len(scores)), folds=folds, seed=seed)
    verdicts = np.zeros(len(scores), dtype=bool)
    for fold in np.unique(dealing):
        inside, outside = dealing == fold, dealing != fold
        verdicts[inside] = scores[inside] >= best_threshold(scores[outside], labels[outside], weights[outside])
    return CrossFitted(best_threshold(scores, labels, weights), verdicts)


def best_threshold(scores: Array, labels: Array, weights: Array) -> float:
    """The middle between two scores with the greatest balanced accuracy, of several the nearest to the median score.

    If all scores are equal it is that score, and with labels of one class every threshold is as good.
    """
    values = np.unique(scores)
    if len(values) < 2:
        return float(values[0]) if len(values) else 0.0
    middles = (values[1:] + values[:-1]) / 2
    shares = [weights * (labels == kind) / max(float(np.sum(weights * (labels == kind))), 1e-300) for kind in (0, 1)]
    below = [np.cumsum(np.bincount(np.searchsorted(values, scores), weights=share))[:-1] for share in shares]
    gains = below[0] - below[1]  # twice the balanced accuracy, less 1
    best = middles[gains >= gains.max() - 1e-12]
    return float(best[np.argmin(np.abs(best - np.median(scores)))])
