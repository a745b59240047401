"""The mean label of all rows, from a few labels and the judge's scores: prediction-powered inference (PPI++)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .formulas import Array, Scale, effective_units, with_pseudo_units
from .labelled import Clusters, LabelledRows, Places, cluster_numbers, make_labelled_rows

METHOD = "cross-fitted-ppi++-t-pseudo-residuals"
FIGURES = ("label_mean", "ci_low", "ci_high", "judge_weight", "labels_only", "labels_saved")  # None: no estimate
HALVINGS = 30  # of the range of a p-value
LEAST_RARER = 5  # labels of the rarer value: with fewer the slope is a guess


@dataclass(frozen=True)
class LabelMean:
    """The mean that people's labels would have if all rows were labelled.

    Attributes:
        rows: of the run.
        labels: rows with a label that count.
        blank: rows that were drawn and have no label. They are taken for missing at random within their stratum.
        unscored: rows without a score; they are a stratum of their own, whose mean comes from labels alone.
        label_mean: the estimate, within the range of the scale; None if there are too few labels.
        ci_low, ci_high: interval for the mean label of what the rows are a sample of; it covers that of the rows, too.
        ci_level: its nominal coverage.
        ci_method: name of the method, or why there is no estimate.
        judge_weight: PPI++'s lambda in [0, 1], the mean of the folds; 0: the scores do not help, or do not vary within
            strata.
        labels_only: why the scores do not count, in all folds or in some; None where they do.
        labels_saved: how many more labels of rows drawn uniformly would give the same variance without a judge; below 0
            if labels alone would be better.
    """

    rows: int
    labels: int
    blank: int
    unscored: int
    label_mean: float | None
    ci_low: float | None
    ci_high: float | None
    ci_level: float
    ci_method: str
    judge_weight: float | None
    labels_only: str | None
    labels_saved: float | None


def label_mean(
    scores: ArrayLike,
    labels: ArrayLike,
    scale: Scale | None = None,
    strata: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    drawn: ArrayLike | None = None,
    level: float = 0.95,
    units: Sequence[str] | None = None,
) -> LabelMean:
    """Mean label by PPI++ (Angelopoulos, Duchi and Zrnic 2023), for uniform, stratified and unequal draws.

    With scores f, labels y, strata h of N_h of the N rows, and weights w = 1/probability that add up to 1 over the
    labels of a stratum, the estimate is

        sum_h N_h/N sum w (y - b f'),  f' = f - mean(f, rows of h).

    For equal probabilities and one slope b it is the published lambda_h mean(f, unlabelled) + mean(y - lambda_h f,
    labelled) with lambda_h = b (1 - n_h/N_h). For unequal ones it is the difference estimator of survey sampling with
    Hajek's weights, as in Zrnic and Candes (2024).

    b is cross-fitted (Zrnic and Candes 2024, PNAS; Chernozhukov et al. 2018): the labels are dealt to five folds within
    strata, and those of a fold take b from the other four. A slope chosen on the labels that it then corrects pulls the
    mean towards what a lenient judge accepts, by 0.01 to 0.02 with 20 to 30 labels. b is the least squares slope within
    strata that minimises the estimated variance (power tuning), cut to [0, 1/(1 - n/N)], so that lambda is in [0, 1].
    It is 0 where fewer than `LEAST_RARER` labels of the other folds differ from the most common one. That rule is kept
    fold by fold, too: kept for all labels at once it leaves out the scores just where the labels are one-sided by
    chance, a bias of up to 0.03.

    Variance: S^2/N + sum_h sum (1 - p) (N_h w/N)^2 e^2 / (1 - w), with S^2 that of labels, p the probability of the row
    and residuals e = y - b f' less their mean in the stratum; for a uniform draw and one slope this is the published
    lambda^2 var(f)/(N - n) + var(y - lambda f)/n. The sum has one more residual at each end of what a label can differ
    from its prediction y - e, each with the weight of one effective label: without it labels that all agree would leave
    no width. Quantiles: Student's t with n - H degrees of freedom for H strata.

    Args:
        scores: of all rows of the run; NaN: none. Clipped to the scale.
        labels: of all rows, in the same unit; NaN: none.
        scale: range of both; 0 to 1 by default.
        strata: of the draw, a number a row. None: one. Rows without a score become a stratum of their own.
        probabilities: of each row, to be drawn; only their ratios within a stratum matter. None: equal.
        drawn: whether the row was drawn for labelling. Labels of other rows do not count. None: all labels count, and
            none is blank.
        level: nominal coverage.
        units: key of each row, or of its cluster: labels of one key are in one fold, and nothing depends on the order
            of rows. None: each row is a unit, and their order decides which fold a label is dealt to.

    Raises:
        ValueError: if lengths differ, a probability is not above 0 and at most 1, or the level is not in (0, 1).
    """
    used = scale or Scale()
    sample = make_labelled_rows(scores, labels, used, strata, probabilities, drawn, units)
    return _estimated(sample, used, used.width, level)


def label_difference(
    changes: ArrayLike,
    gains: ArrayLike,
    scale: Scale,
    *,
    level: float = 0.95,
    **design: Any,  # Any: arrays
) -> LabelMean:
    """The mean label of a second run minus that of the first, from rows with a label in both; else as `label_mean`.

    The two residuals that are added are cut to the range of labels, as in `difference_interval`: a difference of labels
    and one of scores in opposite directions would need two wrong scores in one row. With residuals of the whole range
    of differences the interval was wider than that of labels alone.

    Args:
        changes, gains: row by row the difference of scores, and that of labels; NaN where one of both is missing.
        scale: range of differences, -(high - low) to high - low.
        design: the other arguments of `label_mean`.
    """
    return _estimated(make_labelled_rows(changes, gains, scale, **design), scale, scale.width / 2, level)


def interval_p_value(estimate_at: Callable[[float], LabelMean]) -> float | None:
    """The two-sided p-value that belongs to the interval: the lowest 1 - level at which it excludes 0.

    Args:
        estimate_at: the estimate with its interval at a level; the interval is wider at a higher level.

    Returns:
        None where there is no interval.
    """
    low = 0.0
    high = 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        estimate = estimate_at(1 - middle)
        if estimate.ci_low is None or estimate.ci_high is None:
            return None
        low, high = (low, middle) if estimate.ci_low > 0 or estimate.ci_high < 0 else (middle, high)
    return high


def _estimated(sample: LabelledRows, scale: Scale, most: float, level: float) -> LabelMean:
    """The mean label; `most` is the greatest size of the residuals that are added."""
    from scipy.special import stdtrit

    if not 0 < level < 1:
        raise ValueError(f"level is {level}; it must lie between 0 and 1, such as 0.95")
    labelled = int(sample.labelled.sum())
    unscored = int((~sample.scored).sum())
    empty = LabelMean(
        len(sample.scores), labelled, sample.blank, unscored, ci_level=level, ci_method=METHOD, **dict.fromkeys(FIGURES)
    )
    if why := sample.lacking():
        return replace(empty, ci_method=why)
    slopes, lacking = _slopes(sample)
    corrected = sample.labels - slopes * _less_mean(sample.scores, np.ones(empty.rows), sample.strata)
    residual, of_draw, drawn_from = _residuals(sample, corrected, scale, most)
    shares = sample.shares[sample.labelled]
    labels = sample.labels[sample.labelled]
    middle, variance = _spread(shares, labels, scale)
    mean = float(np.sum(shares * labels))
    estimate = min(max(float(np.sum(sample.shares * corrected)), scale.low), scale.high)
    total = variance / empty.rows + of_draw
    free = empty.labels - len(sample.sizes())
    half = float(stdtrit(free, (1 + empty.ci_level) / 2)) * total**0.5
    centre = estimate + drawn_from * residual + (1 - drawn_from) * (middle - mean)
    return replace(
        empty,
        label_mean=estimate,
        ci_low=min(max(centre - half, scale.low), estimate),
        ci_high=max(min(centre + half, scale.high), estimate),
        judge_weight=float(np.sum(sample.shares * slopes)) * _unlabelled(sample),
        labels_only=_labels_only(sample, lacking),
        labels_saved=empty.labels * (variance / (empty.labels + 2) / total - 1),
    )


def _slopes(sample: LabelledRows) -> tuple[Array, int]:
    """For every labelled row the slope of the other folds, 0 elsewhere; and in how many folds these are too few."""
    unlabelled = _unlabelled(sample)
    slopes = np.zeros(len(sample.scores))
    lacking = 0
    rows = np.flatnonzero(sample.labelled)
    folds = sample.folds[rows]
    weights = _design(sample)[rows]
    for fold in np.unique(folds) if unlabelled else ():
        rest = rows[folds != fold]
        if _rarer(sample, rest) < LEAST_RARER:
            lacking += 1
        else:
            slopes[rows[folds == fold]] = _slope(sample, rest, weights[folds != fold], 1 / unlabelled)
    return slopes, lacking


def _slope(sample: LabelledRows, rows: Places, weights: Array, most: float) -> float:
    """The weighted least squares slope of labels on scores, pooled within strata, cut to [0, `most`]."""
    scores, labels = (
        _less_mean(values[rows], weights, sample.strata[rows]) for values in (sample.scores, sample.labels)
    )
    variance = float(np.sum(weights * scores**2))
    if variance <= 1e-15 * float(weights.sum()):
        return 0.0
    return min(max(float(np.sum(weights * scores * labels)) / variance, 0.0), most)


def _less_mean(values: Array, weights: Array, strata: Places) -> Array:
    """Values less their weighted mean in the stratum."""
    sums = np.bincount(strata, weights=weights)
    return np.asarray(values - (np.bincount(strata, weights=weights * values) / np.maximum(sums, 1e-300))[strata])


def _rarer(sample: LabelledRows, rows: Places) -> int:
    """How many labels of rows with a score differ from the most common one; of labels 0 and 1, the rarer value."""
    values = sample.labels[rows][sample.scored[rows]]
    return len(values) - int(np.unique(values, return_counts=True)[1].max(initial=0))


def _labels_only(sample: LabelledRows, lacking: int) -> str | None:
    """What to say where folds take no notice of the scores."""
    if not lacking:
        return None
    folds = len(np.unique(sample.folds[sample.labelled]))
    where = f"all {folds}" if lacking == folds else f"{lacking} of {folds}"
    count = _rarer(sample, np.flatnonzero(sample.labelled))
    return (
        f"labels only, without the scores, in {where} folds: the other folds have fewer than {LEAST_RARER} labels of "
        f"the rarer value ({count} in all)"
    )


def _unlabelled(sample: LabelledRows) -> float:
    """Share of the rows with a score that have no label."""
    return float(np.mean(~sample.labelled[sample.scored])) if sample.scored.any() else 0.0


def _design(sample: LabelledRows) -> Array:
    """Factors of squared residuals in the variance of the estimate, 0 for rows without a label."""
    return (1 - sample.probabilities) * sample.shares**2 / np.where(sample.within < 1, 1 - sample.within, np.inf)


def _residuals(sample: LabelledRows, corrected: Array, scale: Scale, most: float) -> tuple[float, float, float]:
    """What labels differ by from what the scores predict for them: their mean, and the variance of the estimate from
    the draw of the labels; and the share of the rows without a label, by which the draw matters.

    The mean is that of residuals with one more at each end; without these it is 0.

    Args:
        corrected: the labels as the scores correct them.
    """
    has_label = sample.labelled
    means = np.bincount(sample.strata, weights=sample.within * corrected)  # of the labelled rows of each stratum
    residuals = corrected - means[sample.strata]
    predicted = np.clip(sample.labels - residuals, scale.low, scale.high)[has_label]
    residuals = residuals[has_label]
    shares = sample.shares[has_label]
    units = float(effective_units(shares)) + 2
    ends = np.clip([scale.low - predicted.max(), scale.high - predicted.min()], -most, most)
    mean = float(ends.sum()) / units
    drawn_from = float(np.sum((1 - sample.probabilities[has_label]) * shares**2) / np.sum(shares**2))
    of_labels = (1 - 2 / units) ** 2 * np.sum(_design(sample)[has_label] * (residuals - mean) ** 2)
    extra = drawn_from * np.sum((ends - mean) ** 2) / units**2 / (1 - 1 / units)
    return mean, float(of_labels + extra), drawn_from


def _spread(shares: Array, labels: Array, scale: Scale) -> tuple[float, float]:
    """Mean and variance of labels with one more at each end of the range."""
    larger, values = with_pseudo_units(shares, labels, scale.low, scale.high)
    mean = float(np.sum(larger * values))
    units = float(effective_units(larger))
    return mean, float(np.sum(larger * (values - mean) ** 2)) * units / (units - 1)


def with_clusters(
    estimate: LabelMean,
    scores: Array,
    labels: Array,
    scale: Scale,
    clusters: Clusters,
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
        chances: probabilities of the draw.
    """
    from scipy.special import stdtrit

    if clusters is None or estimate.label_mean is None or estimate.ci_low is None or estimate.ci_high is None:
        return estimate
    has_label = ~np.isnan(labels)
    members = cluster_numbers(clusters, len(labels))
    count = int(has_label.sum())
    units = len(np.unique(members[has_label]))
    if units == len(labels[has_label]) and len(np.unique(members)) == len(members):
        return estimate
    if units < 2:
        return replace(estimate, ci_low=scale.low, ci_high=scale.high, ci_method=f"{estimate.ci_method}, one cluster")
    equal = np.ones(len(labels))
    drawn = equal if chances is None else equal / chances
    effect = max(
        design_effect(values[which], drawn[which], members[which])
        for values, which in ((labels, has_label), (labels - scores, has_label & ~np.isnan(scores)))
    )
    all_rows = design_effect(scores[~np.isnan(scores)], equal[~np.isnan(scores)], members[~np.isnan(scores)])
    quantiles = [float(stdtrit(free, (1 + estimate.ci_level) / 2)) for free in (max(count - 1, 1), units - 1)]
    extra = max(all_rows - effect, 0.0) * float(np.var(labels[has_label])) / len(labels) * quantiles[1] ** 2
    stretch = effect * (quantiles[1] / quantiles[0]) ** 2

    def moved(end: float) -> float:
        half = end - (estimate.label_mean or 0.0)
        return float(np.sign(half) * np.sqrt(half**2 * stretch + extra))

    moves = (moved(estimate.ci_low), 0.0, moved(estimate.ci_high))
    low, mean, high = (min(max(estimate.label_mean + move, scale.low), scale.high) for move in moves)
    method = f"{estimate.ci_method}, clustered"
    return replace(estimate, label_mean=mean, ci_low=min(low, mean), ci_high=max(high, mean), ci_method=method)


def design_effect(values: Array, weights: Array, members: Places) -> float:
    """Variance of a weighted mean with dependent rows over that with independent ones, at least 1."""
    groups = np.unique(members, return_inverse=True)[1]
    units = int(groups.max(initial=-1)) + 1
    if units < 2 or not np.any(weights > 0):
        return 1.0
    residuals = weights * (values - np.average(values, weights=weights))
    rows = float(np.sum(residuals**2))
    sums = np.bincount(groups, weights=residuals)
    if rows <= 1e-15:
        return max(1.0, len(values) / units)  # labels that all agree say nothing of how much rows depend on each other
    return max(1.0, float(np.sum(sums**2)) / rows * units / (units - 1) * (len(values) - 1) / len(values))
