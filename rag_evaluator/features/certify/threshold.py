"""Scores as a test of people's labels: area under the ROC curve, the best threshold, calibration of confidences."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rag_evaluator.features.certify.coefficients import Coefficient, undefined
from rag_evaluator.statistics.formulas import Array, Estimate, effective_units
from rag_evaluator.statistics.intervals import PASS, mean_interval
from rag_evaluator.statistics.labelled import FOLDS, cluster_numbers, dealt

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


LEAST_LABELS = 100
BINS, SIMULATIONS = 10, 2_000


class Bin(NamedTuple):
    """Verdicts of similar confidence.

    Attributes:
        low, high: the lowest and the highest confidence among them.
        confidence: their mean confidence.
        right: the share that is right, with its interval.
    """

    low: float
    high: float
    confidence: float
    right: Estimate


@dataclass(frozen=True)
class Calibration:
    """A reliability curve, and how far it is from the diagonal.

    Attributes:
        n: verdicts with a confidence and a label.
        bins: the curve, from low to high confidence; empty if there are too few labels.
        error: expected calibration error in [0, 1], 0 is best; None if there are too few labels.
        expected, highest: mean and 95 % quantile of the error of a judge that is right exactly as often as its
            confidences say, with these confidences and this n. An error above `highest` is more than chance.
        reason: why there are no figures; None if there are.
    """

    n: int
    bins: tuple[Bin, ...]
    error: float | None
    expected: float | None
    highest: float | None
    reason: str | None


def calibration(
    confidences: ArrayLike,
    right: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    weights: ArrayLike | None = None,
    seed: int = 0,
    least: int = LEAST_LABELS,
) -> Calibration:
    """Reliability curve in bins of equal mass, and the expected calibration error (Naeini, Cooper and Hauskrecht 2015).

    The error is sum_b share_b |right_b - confidence_b| over bins b. It is above 0 for every judge, because each bin has
    its chance; so the same is computed for `SIMULATIONS` seeded sets of labels that are right with exactly the
    probabilities of the confidences (the consistency resampling of Broecker and Smith 2007).

    Args:
        confidences: the judge's probability, in [0, 1], that its verdict is right; NaN: none.
        right: 1 if the verdict is that of the label, else 0; NaN: no label.
        clusters: rows of one cluster depend on each other. That widens the intervals of the bins; the simulated labels
            are independent, so that `highest` is then too low.
        weights: how many rows each one speaks for; of stratified draws 1/probability.
        least: labels without which nothing is computed.
    """
    certain, hits = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.float64)
    masses = np.ones(len(certain)) if weights is None else np.asarray(weights, dtype=np.float64)
    if np.any((certain < 0) | (certain > 1)):
        raise ValueError("confidences must lie in [0, 1]")
    rows = np.flatnonzero(~np.isnan(certain) & ~np.isnan(hits) & (masses > 0))
    if len(rows) < least:
        reason = f"{len(rows)} labels of verdicts with a confidence; {least} are needed"
        return Calibration(len(rows), (), None, None, None, reason)
    order = rows[np.lexsort((masses[rows], hits[rows], certain[rows]))]
    labels = None if clusters is None else [clusters[place] for place in order]
    certain, hits, masses = certain[order], hits[order], masses[order]
    starts = _starts(certain)
    random = np.random.default_rng(seed).random((SIMULATIONS, len(certain))) < certain
    errors = _error(certain, random.astype(np.float64), masses, starts)
    return Calibration(
        n=len(certain),
        bins=tuple(_bins(certain, hits, masses, labels, starts)),
        error=float(_error(certain, hits, masses, starts)),
        expected=float(errors.mean()),
        highest=float(np.quantile(errors, 0.95)),
        reason=None,
    )


def _starts(certain: Array) -> list[int]:
    """Where each bin begins: `BINS` of equal numbers, but equal confidences stay together."""
    ideal = [len(certain) * part // BINS for part in range(BINS)]
    return sorted({int(np.searchsorted(certain, certain[place])) for place in ideal})


def _error(certain: Array, hits: Array, masses: Array, starts: list[int]) -> Array:
    """Of one set of labels, or of many. *Shape:* hits (..., n) -> (...)."""
    gaps = np.add.reduceat(masses * (hits - certain), starts, axis=-1)
    return np.asarray(np.abs(gaps).sum(axis=-1) / masses.sum())


def _bins(certain: Array, hits: Array, masses: Array, labels: list[Hashable] | None, starts: list[int]) -> list[Bin]:
    ends = [*starts[1:], len(certain)]
    return [
        Bin(
            low=float(certain[first]),
            high=float(certain[last - 1]),
            confidence=float(np.average(certain[first:last], weights=masses[first:last])),
            right=mean_interval(
                hits[first:last], PASS, clusters=labels and labels[first:last], weights=masses[first:last]
            ),
        )
        for first, last in zip(starts, ends, strict=True)
    ]
