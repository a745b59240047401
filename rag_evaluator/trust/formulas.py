"""Formulas of intervals, on arrays whose last axis is the units of one dataset.

A unit is a row, or a cluster of rows. `values` are the means of units and `shares` their shares of the total weight,
which add up to 1 and are below 1. Leading axes are datasets, so that a simulation computes thousands of them in one
call. With equal shares each formula is the usual one for n independent rows; weights and clusters only make shares
unequal.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.trust.scale import TIE, Kind, Scale

Array = NDArray[np.float64]


class Bounds(NamedTuple):
    """Both ends of an interval, cut to the range, and whether the method of judged scores made it."""

    low: Array
    high: Array
    judged: NDArray[np.bool_]


def mean_bounds(shares: Array, values: Array, scale: Scale, level: float) -> Bounds:
    """Interval for a mean of scores: Wilson's for judged ones, Student's t for others that are not all equal."""
    low, high = wilson(shares, (values - scale.low) / scale.width, level)
    judged = scale.low + scale.width * low, scale.low + scale.width * high
    return _choose(shares, values, level, scale.kind, judged, (scale.low, scale.high))


def difference_bounds(shares: Array, values: Array, scale: Scale, level: float) -> Bounds:
    """Interval for a mean difference: Student's t; of judged scores, with one pseudo-difference at each end.

    For pairs of 0 and 1 the mean and the pseudo-pairs are those of Bonett and Price (2012): one more pair that changes
    in each direction. Without them ties alone would give an interval of zero width.
    """
    judged = student(*with_pseudo_units(shares, values, -scale.width, scale.width), level)
    return _choose(shares, values, level, scale.kind, judged, (-scale.width, scale.width))


def wilson(shares: Array, values: Array, level: float) -> tuple[Array, Array]:
    """Wilson's score interval (1927) for values in [0, 1], with an effective number of observations.

    Survey statisticians use it so, with fractional counts: the sample size over the design effect, corrected for
    degrees of freedom by the squared ratio of the quantiles of the normal and of Student's t (Korn and Graubard 1998;
    Franco, Little, Louis and Slud 2019). For n rows the effective number is n m'(1-m')/s'^2, where mean m' and variance
    s'^2 (divisor n+1) are those of the rows and one pseudo-row at 0 and at 1 each, so that it is finite when all scores
    are equal; the degrees of freedom are n - 1. With unequal shares k, the number of `effective_units`, takes the place
    of n, and (k+2) v' that of s'^2, where v' is the variance of the mean of units and pseudo-units.
    """
    from scipy.special import ndtri, stdtrit
    from statsmodels.stats.proportion import proportion_confint

    units = effective_units(shares)
    mean, variance = moments(*with_pseudo_units(shares, values, 0.0, 1.0))
    number = mean * (1 - mean) / variance * units / (units + 2)
    upper = (1 + level) / 2
    number = number * (ndtri(upper) / stdtrit(units - 1, upper)) ** 2
    count = np.clip(moments(shares, values)[0], 0.0, 1.0) * number
    low, high = proportion_confint(count, number, alpha=1 - level, method="wilson")
    return np.asarray(low), np.asarray(high)


def student(shares: Array, values: Array, level: float) -> tuple[Array, Array]:
    """Student's t interval with `effective_units` - 1 degrees of freedom: n - 1 for n rows, or for n equal clusters."""
    from scipy.special import stdtrit

    mean, variance = moments(shares, values)
    half = stdtrit(effective_units(shares) - 1, (1 + level) / 2) * np.sqrt(variance)
    return mean - half, mean + half


def moments(shares: Array, values: Array) -> tuple[Array, Array]:
    """Mean sum(p x) and its variance sum(p^2 (x-m)^2 / (1-p)).

    The linearised (Hajek) variance of a weighted mean; with clusters the robust variance of Liang and Zeger (1986).
    1/(1-p) corrects for the number of units (HC2 of MacKinnon and White 1985, CR2 of Bell and McCaffrey 2002). It is
    s^2/n for n equal shares, and the HC2 variance of a least squares fit of the units' means on a constant.
    """
    first = values[..., :1]  # the mean of equal values is that value, not one a rounding away
    mean = first[..., 0] + np.sum(shares * (values - first), axis=-1)
    residuals = values - mean[..., None]
    return mean, np.sum((shares * residuals) ** 2 / (1 - shares), axis=-1)


def effective_units(shares: Array) -> Array:
    """1 / sum(p^2), n for n equal shares: how many equal units say as much (Kish 1965)."""
    return np.asarray(1 / np.sum(shares**2, axis=-1))


def with_pseudo_units(shares: Array, values: Array, low: float, high: float) -> tuple[Array, Array]:
    """The units and one more at each end of the range, each with the weight of one effective unit."""
    extra = 1 / effective_units(shares)[..., None]
    ends = np.broadcast_to(np.array([low, high]), (*values.shape[:-1], 2))
    larger = np.concatenate([shares, extra, extra], axis=-1) / (1 + 2 * extra)
    return larger, np.concatenate([values, ends], axis=-1)


def _choose(
    shares: Array, values: Array, level: float, kind: Kind, judged: tuple[Array, Array], ends: tuple[float, float]
) -> Bounds:
    """The interval of the kind, cut to the range; of units that are all equal, whose variance is 0, that of judged."""
    equal = np.ptp(values, axis=-1) <= TIE
    flags = np.asarray(equal if kind == "continuous" else np.ones_like(equal))
    low, high = (np.where(flags, *pair) for pair in zip(judged, student(shares, values, level), strict=True))
    return Bounds(np.clip(low, *ends), np.clip(high, *ends), flags)
