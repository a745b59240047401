"""The mean label where rows have weights, or where rows of one cluster depend on each other."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.trust.bootstrap import cluster_numbers
from rag_evaluator.trust.formulas import Array
from rag_evaluator.trust.ppi import LabelMean
from rag_evaluator.trust.scale import Scale

Estimator = Callable[[Array, Array, Scale], LabelMean]


def with_weights(estimator: Estimator, scores: Array, labels: Array, scale: Scale, weights: Array | None) -> LabelMean:
    """The weighted mean label of all rows.

    With u the weights over their mean, and a constant c near the mean label, the plain mean of c + u (y - c) is the
    weighted mean of y. So `estimator`, which gives a plain mean, gets labels and scores moved like that, and its
    residuals are those of the ratio estimator (Saerndal, Swensson and Wretman 1992, 5.7). The range that it gets is as
    wide as the greatest weight makes it.

    Args:
        estimator: of scores, labels and their range.
        weights: of all rows, from 0; None: equal.
    """
    if weights is None or not np.any(weights > 0) or np.all(weights == weights[0]):
        return estimator(scores, labels, scale)
    has_label = ~np.isnan(labels)
    if not np.any(weights[has_label] > 0):
        return estimator(scores, np.full(len(labels), np.nan), scale)
    ratios, centre = weights / weights.mean(), float(np.average(labels[has_label], weights=weights[has_label]))
    wide = scale._replace(
        low=min(scale.low, centre + (scale.low - centre) * float(ratios.max())),
        high=max(scale.high, centre + (scale.high - centre) * float(ratios.max())),
    )
    estimate = estimator(centre + ratios * (scores - centre), centre + ratios * (labels - centre), wide)
    return _within(estimate, scale)


def with_clusters(
    estimate: LabelMean,
    scores: Array,
    labels: Array,
    scale: Scale,
    clusters: Sequence[Hashable] | None,
    weights: Array | None = None,
    chances: Array | None = None,
) -> LabelMean:
    """The same estimate with an interval for rows of which those of one cluster depend on each other.

    Half of the width is stretched by the root of the design effect (Kish 1965): the variance of the sum of residuals
    added up by cluster over that row by row; the greater one of labels, and of labels less scores; at least 1. Where
    the scores of all rows depend on each other more than the labelled ones do, the variance of the rows themselves is
    enlarged by that. Quantiles of Student's t have one degree of freedom less than there are clusters with a label. One
    such cluster: the whole range.

    Args:
        labels: of the rows that count.
        weights: of all rows.
        chances: probabilities of the draw.
    """
    from scipy.special import stdtrit

    if clusters is None or estimate.label_mean is None or estimate.ci_low is None or estimate.ci_high is None:
        return estimate
    has_label, members = ~np.isnan(labels), cluster_numbers(clusters, len(labels))
    count, units = int(has_label.sum()), len(np.unique(members[has_label]))
    if units == len(labels[has_label]) and len(np.unique(members)) == len(members):
        return estimate
    if units < 2:
        return replace(estimate, ci_low=scale.low, ci_high=scale.high, ci_method=f"{estimate.ci_method}, one cluster")
    masses = np.ones(len(labels)) if weights is None else weights
    drawn = masses if chances is None else masses / chances
    effect = max(
        design_effect(values[which], drawn[which], members[which])
        for values, which in ((labels, has_label), (labels - scores, has_label & ~np.isnan(scores)))
    )
    all_rows = design_effect(scores[~np.isnan(scores)], masses[~np.isnan(scores)], members[~np.isnan(scores)])
    quantiles = [float(stdtrit(free, (1 + estimate.ci_level) / 2)) for free in (max(count - 1, 1), units - 1)]
    extra = max(all_rows - effect, 0.0) * float(np.var(labels[has_label])) / len(labels) * quantiles[1] ** 2
    stretch = effect * (quantiles[1] / quantiles[0]) ** 2

    def moved(end: float) -> float:
        half = end - (estimate.label_mean or 0.0)
        return float(np.sign(half) * np.sqrt(half**2 * stretch + extra))

    wider = replace(
        estimate,
        ci_low=estimate.label_mean + moved(estimate.ci_low),
        ci_high=estimate.label_mean + moved(estimate.ci_high),
        ci_method=f"{estimate.ci_method}, clustered",
    )
    return _within(wider, scale)


def design_effect(values: Array, weights: Array, members: NDArray[np.int64]) -> float:
    """Variance of a weighted mean with dependent rows over that with independent ones, at least 1."""
    groups = np.unique(members, return_inverse=True)[1]
    units = int(groups.max(initial=-1)) + 1
    if units < 2 or not np.any(weights > 0):
        return 1.0
    residuals = weights * (values - np.average(values, weights=weights))
    rows, sums = float(np.sum(residuals**2)), np.bincount(groups, weights=residuals)
    if rows <= 1e-15:
        return max(1.0, len(values) / units)  # labels that all agree say nothing of how much rows depend on each other
    return max(1.0, float(np.sum(sums**2)) / rows * units / (units - 1) * (len(values) - 1) / len(values))


def _within(estimate: LabelMean, scale: Scale) -> LabelMean:
    """An estimate cut to its range."""
    if estimate.label_mean is None or estimate.ci_low is None or estimate.ci_high is None:
        return estimate
    low, mean, high = (
        min(max(value, scale.low), scale.high) for value in (estimate.ci_low, estimate.label_mean, estimate.ci_high)
    )
    return replace(estimate, label_mean=mean, ci_low=min(low, mean), ci_high=max(high, mean))
