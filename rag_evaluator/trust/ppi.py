"""The mean label of all rows, from a few labels and the judge's scores: prediction-powered inference (PPI++)."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rag_evaluator.trust.formulas import Array, effective_units, with_pseudo_units
from rag_evaluator.trust.labelled import LabelledRows, make_labelled_rows
from rag_evaluator.trust.scale import Scale

METHOD = "ppi++-t-pseudo-residuals"


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
        judge_weight: PPI++'s lambda in [0, 1]; 0: the scores do not help, or do not vary within strata.
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
    labels_saved: float | None


def label_mean(
    scores: ArrayLike,
    labels: ArrayLike,
    scale: Scale | None = None,
    strata: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    drawn: ArrayLike | None = None,
    level: float = 0.95,
) -> LabelMean:
    """Mean label by PPI++ (Angelopoulos, Duchi and Zrnic 2023), for uniform, stratified and unequal draws.

    With scores f, labels y, strata h of N_h of the N rows, and weights w = 1/probability that add up to 1 over the
    labels of a stratum, the estimate is

        sum_h N_h/N [ b mean(f, rows of h) + sum w (y - b f) ].

    For equal probabilities in a stratum it is the published lambda_h mean(f, unlabelled) + mean(y - lambda_h f,
    labelled) with lambda_h = b (1 - n_h/N_h). For unequal ones it is the difference estimator of survey sampling with
    Hajek's weights, as in Zrnic and Candes (2024). b minimises the estimated variance (power tuning), with the variance
    of f from all rows; lambda = b (1 - n/N) is cut to [0, 1]. b is 0 in the stratum of rows without a score.

    Variance: S^2/N + sum_h sum (1 - p) (N_h w/N)^2 e^2 / (1 - w), with S^2 that of labels, p the probability of the row
    and residuals e = y - b f less their mean in the stratum; for a uniform draw this is the published
    lambda^2 var(f)/(N - n) + var(y - lambda f)/n. The sum has one more residual at each end of what a label can differ
    from its prediction (the stratum's mean label + b (f - the stratum's mean score)), each with the weight of one
    effective label: without it labels that all agree would leave no width. Quantiles: Student's t with n - H degrees of
    freedom for H strata.

    Args:
        scores: of all rows of the run; NaN: none. Clipped to the scale.
        labels: of all rows, in the same unit; NaN: none.
        scale: range of both; 0 to 1 by default.
        strata: of the draw, a number a row. None: one. Rows without a score become a stratum of their own.
        probabilities: of each row, to be drawn; only their ratios within a stratum matter. None: equal.
        drawn: whether the row was drawn for labelling. Labels of other rows do not count. None: all labels count, and
            none is blank.
        level: nominal coverage.

    Raises:
        ValueError: if lengths differ, a probability is not above 0 and at most 1, or the level is not in (0, 1).
    """
    used = scale or Scale()
    return _mean(scores, labels, used, used.width, strata, probabilities, drawn, level)


def label_difference(
    scores: tuple[ArrayLike, ArrayLike],
    labels: tuple[ArrayLike, ArrayLike],
    scale: Scale | None = None,
    strata: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    drawn: ArrayLike | None = None,
    level: float = 0.95,
) -> LabelMean:
    """The mean label of the second run minus that of the first, from rows with a label in both; else as `label_mean`.

    Row by row the difference of labels takes the place of the label, and that of scores the place of the score, which
    is there if both runs have one. The range is -(high - low) to high - low. The two residuals that are added are cut
    to it, as in `difference_interval`: a difference of labels and one of scores in opposite directions would need two
    wrong scores in one row. With residuals of that size the interval was wider than that of labels alone.
    """
    used = scale or Scale()
    wide = Scale(-used.width, used.width, used.kind)
    judged, given = (_second_minus_first(pair, used) for pair in (scores, labels))
    return _mean(judged, given, wide, used.width, strata, probabilities, drawn, level)


def _mean(
    scores: ArrayLike,
    labels: ArrayLike,
    scale: Scale,
    most: float,
    strata: ArrayLike | None,
    probabilities: ArrayLike | None,
    drawn: ArrayLike | None,
    level: float,
) -> LabelMean:
    """The mean label; `most` is the greatest size of the residuals that are added."""
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; it must lie between 0 and 1, such as 0.95")
    sample = make_labelled_rows(scores, labels, scale, strata, probabilities, drawn)
    labelled, unscored = int(sample.labelled.sum()), int((~sample.scored).sum())
    empty = LabelMean(len(sample.scores), labelled, sample.blank, unscored, None, None, None, level, METHOD, None, None)
    lacking = sample.lacking()
    return replace(empty, ci_method=lacking) if lacking else _estimated(empty, sample, scale, most)


def _second_minus_first(pair: tuple[ArrayLike, ArrayLike], scale: Scale) -> Array:
    first, second = (np.clip(np.asarray(values, np.float64), scale.low, scale.high) for values in pair)
    return np.asarray(second - first)


class _Residuals(NamedTuple):
    """What labels differ by from what the scores predict for them.

    Attributes:
        mean: of the residuals with one more at each end; without these it is 0.
        variance: of the estimate, from the draw of the labels.
        drawn_from: share of the rows without a label, by which the draw matters: 0 if all rows have a label.
    """

    mean: float
    variance: float
    drawn_from: float


def _estimated(empty: LabelMean, sample: LabelledRows, scale: Scale, most: float) -> LabelMean:
    from scipy.special import stdtrit

    weight, slope = _tuned(sample)
    residuals = _residuals(sample, slope, scale, most)
    shares, labels = sample.shares[sample.labelled], sample.labels[sample.labelled]
    middle, variance = _spread(shares, labels, scale)
    mean = float(np.sum(shares * labels))
    estimate = mean + slope * float(np.mean(sample.scores) - np.sum(sample.shares * sample.scores))
    estimate = min(max(estimate, scale.low), scale.high)
    total = variance / empty.rows + residuals.variance
    free = empty.labels - len(sample.sizes())
    half = float(stdtrit(free, (1 + empty.ci_level) / 2)) * total**0.5
    centre = estimate + residuals.drawn_from * residuals.mean + (1 - residuals.drawn_from) * (middle - mean)
    return replace(
        empty,
        label_mean=estimate,
        ci_low=min(max(centre - half, scale.low), estimate),
        ci_high=max(min(centre + half, scale.high), estimate),
        judge_weight=weight,
        labels_saved=empty.labels * (variance / (empty.labels + 2) / total - 1),
    )


def _tuned(sample: LabelledRows) -> tuple[float, float]:
    """PPI++'s lambda, and the slope b, that make the variance of the estimate smallest."""
    weights = _design(sample)
    labels = sample.labels - sample.label_means(sample.labels)
    covariance = np.sum(weights * labels * (sample.scores - sample.label_means(sample.scores)))
    sizes = sample.sizes()
    means = np.bincount(sample.strata, weights=sample.scores) / sizes
    squares = (sample.scores - means[sample.strata]) ** 2 * (sizes / np.maximum(sizes - 1, 1))[sample.strata]
    variance = np.sum(squares * (1 / sample.probabilities - 1)) / len(squares) ** 2
    unlabelled = float(np.mean(~sample.labelled[sample.scored])) if sample.scored.any() else 0.0
    if variance <= 1e-15 or not unlabelled:
        return 0.0, 0.0
    weight = min(max(float(covariance / variance) * unlabelled, 0.0), 1.0)
    return weight, weight / unlabelled


def _design(sample: LabelledRows) -> Array:
    """Factors of squared residuals in the variance of the estimate, 0 for rows without a label."""
    return (1 - sample.probabilities) * sample.shares**2 / np.where(sample.within < 1, 1 - sample.within, np.inf)


def _residuals(sample: LabelledRows, slope: float, scale: Scale, most: float) -> _Residuals:
    there, scores = sample.labelled, sample.scores - sample.label_means(sample.scores)
    predicted = np.clip(sample.label_means(sample.labels) + slope * scores, scale.low, scale.high)[there]
    residuals = (sample.labels - sample.label_means(sample.labels) - slope * scores)[there]
    shares = sample.shares[there]
    units = float(effective_units(shares)) + 2
    ends = np.clip([scale.low - predicted.max(), scale.high - predicted.min()], -most, most)
    mean = float(ends.sum()) / units
    drawn_from = float(np.sum((1 - sample.probabilities[there]) * shares**2) / np.sum(shares**2))
    own = (1 - 2 / units) ** 2 * np.sum(_design(sample)[there] * (residuals - mean) ** 2)
    extra = drawn_from * np.sum((ends - mean) ** 2) / units**2 / (1 - 1 / units)
    return _Residuals(mean, float(own + extra), drawn_from)


def _spread(shares: Array, labels: Array, scale: Scale) -> tuple[float, float]:
    """Mean and variance of labels with one more at each end of the range."""
    larger, values = with_pseudo_units(shares, labels, scale.low, scale.high)
    mean = float(np.sum(larger * values))
    units = float(effective_units(larger))
    return mean, float(np.sum(larger * (values - mean) ** 2)) * units / (units - 1)
