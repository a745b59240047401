"""The area under the ROC curve: how often a row that people accept has the higher score."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.trust.bootstrap import cluster_numbers
from rag_evaluator.trust.estimate import Coefficient, undefined
from rag_evaluator.trust.formulas import Array, effective_units

METHOD = "newcombe-method-5"
STEP = 1e-9  # at 0 and 1 the estimate is a root, too, and not the one that is wanted


def auc(
    scores: Array,
    labels: Array,
    weights: Array,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> Coefficient:
    """Share of pairs (a row of label 1, a row of label 0) in which the first has the higher score; ties count half.

    Interval: `newcombe_interval`. With weights or clusters the numbers of rows in it are those of effective units of
    each class (Kish 1965), as if the rows of a cluster said no more than one of them: rather too wide than too narrow.

    Args:
        scores, labels: none missing; labels are 0 or 1.
        weights: how many rows each one speaks for, above 0.
    """
    positive = labels == 1
    if positive.all() or not positive.any():
        return undefined("labels of one class only" if len(labels) else "no labels", level)
    value = _share_above(scores[positive], weights[positive], scores[~positive], weights[~positive])
    low, high = newcombe_interval(value, *class_units(labels, weights, clusters), level)
    return Coefficient(value, low, high, level, METHOD)


def class_units(labels: Array, weights: Array, clusters: Sequence[Hashable] | None) -> tuple[float, float]:
    """Effective units among the rows of label 1, and among those of label 0."""
    members, positive = cluster_numbers(clusters, len(labels)), labels == 1
    return _units(weights[positive], members[positive]), _units(weights[~positive], members[~positive])


def newcombe_interval(value: float, positives: float, negatives: float, level: float = 0.95) -> tuple[float, float]:
    """Method 5 of Newcombe (2006, Statistics in Medicine 25, 559-573), which he recommends.

    The two values A that are z standard errors from the estimate, where the variance is that of Hanley and McNeil
    (1982) at A, for m and n rows of each class and with N* = (m + n)/2 - 1 in place of both m - 1 and n - 1:

        A (1 - A) [1 + N* (1 - A)/(2 - A) + N* A/(1 + A)] / (m n).

    Like Wilson's interval it has a width at 0 and at 1 and stays within [0, 1].
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    middle, square = max((positives + negatives) / 2 - 1, 0.0), float(ndtri((1 + level) / 2)) ** 2

    def beyond(area: float) -> float:
        factor = 1 + middle * (1 - area) / (2 - area) + middle * area / (1 + area)
        return float((value - area) ** 2 - square * area * (1 - area) * factor / (positives * negatives))

    low = brentq(beyond, 0.0, value - STEP) if value > STEP else 0.0
    high = brentq(beyond, value + STEP, 1.0) if value < 1 - STEP else 1.0
    return float(low), float(high)


def _share_above(above: Array, above_weights: Array, below: Array, below_weights: Array) -> float:
    order = np.argsort(below, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(below_weights[order])])
    less, at_most = (sums[np.searchsorted(below[order], above, side=side)] for side in ("left", "right"))
    return float(np.sum(above_weights * (less + at_most) / 2) / above_weights.sum() / sums[-1])


def _units(weights: Array, members: NDArray[np.int64]) -> float:
    sums = np.bincount(np.unique(members, return_inverse=True)[1], weights=weights)
    return float(effective_units(sums / sums.sum()))
