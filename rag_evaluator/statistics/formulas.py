"""Formulas of intervals, on arrays whose last axis is the units of one dataset.

A unit is a row, or a cluster of rows. Leading axes are datasets, so that a simulation computes thousands of them in one
call. With equal shares each formula is the usual one for n independent rows; weights and clusters only make shares
unequal.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

TIE = 1e-6  # scores that differ by no more are equal: 1.0000000000000002 is a cosine, too
Kind = Literal["judged", "continuous"]
Better = Literal["higher", "lower"]
Array = NDArray[np.float64]
Pair = tuple[Array, Array]
LEAST_UNITS = 1.1  # with fewer effective units a t quantile of 95 % is above 1e12: the interval is the whole range
LEAST_WEIGHT = 0.1  # of a pseudo-unit
UNSEEN = 0.4  # weight, in effective units, of a unit at the worst difference that was not drawn
STEPS = 30  # halvings


Value = TypeVar("Value", float, Array)


class Scale(NamedTuple):
    """The scale of a metric.

    Attributes:
        low, high: the range of its scores.
        kind: `judged` scores come from verdicts, so they take few values and are often all equal; `continuous` ones
            come from embeddings or from comparing strings.
        better: which end of the range is the better one; `is_directed` is False where nobody has said it.
        atoms: values that have a mass by construction, of continuous scores: 0 of an evasive answer, 0 and 1 of texts
            that have nothing in common or are equal.
    """

    low: float = 0.0
    high: float = 1.0
    kind: Kind = "judged"
    better: Better = "higher"
    atoms: tuple[float, ...] = ()
    is_directed: bool = True

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def worst(self) -> float:
        """The end of the range that is not the better one."""
        return self.low if self.better == "higher" else self.high

    def upright(self, value: Value) -> Value:
        """Scores, or a threshold, of which higher is better; and back."""
        return value if self.better == "higher" else self.low + self.high - value

    def holds(self, value: float) -> bool:
        """Whether a score lies in the range, `TIE` allowed for; NaN does not."""
        return self.low - TIE <= value <= self.high + TIE


@dataclass(frozen=True)
class Estimate:
    """The mean of scores, or of differences between scores.

    Attributes:
        n: observations, missing ones not counted.
        mean, median: of these; None if there are none.
        std: standard deviation of the observations (divisor n - 1); None for fewer than two.
        stderr: standard error of the mean, robust to clusters if there are any; None for fewer than two.
        ci_low, ci_high: interval for the mean of what the observations are a sample of; None with n = 0.
        ci_level: its nominal coverage, such as 0.95.
        ci_method: name of the method, or why there is no interval.
    """

    n: int
    mean: float | None
    median: float | None
    std: float | None
    stderr: float | None
    ci_low: float | None
    ci_high: float | None
    ci_level: float
    ci_method: str

    @property
    def is_clustered(self) -> bool:
        """Whether rows depend on each other, by clusters of which there are several."""
        return ", clustered" in self.ci_method


class Units(NamedTuple):
    """What is independent in datasets.

    Attributes:
        shares: of the total weight; they add up to 1 and are below 1. *Shape:* (..., units).
        values: means of the units. *Shape:* (..., units).
        at: the share of each unit's weight that is exactly at each of some points, which are `mean_points` for a mean
            and 0 for a difference. *Shape:* (..., points, units).
    """

    shares: Array
    values: Array
    at: Array


class Bounds(NamedTuple):
    """Both ends of an interval, cut to the range, and whether another method than Student's t alone made it."""

    low: Array
    high: Array
    judged: NDArray[np.bool_]


def mean_points(scale: Scale) -> tuple[float, ...]:
    """The values at which the scores of a metric may pile up: its atoms, or the ends of its range."""
    return scale.atoms or (scale.low, scale.high)


def mean_bounds(units: Units, scale: Scale, level: float) -> Bounds:
    """Interval for a mean of scores: two parts for a metric with atoms, else Wilson's for judged scores, Student's t
    for continuous ones that are not all equal."""
    if scale.atoms:
        flags = np.ones(units.shares.shape[:-1], dtype=np.bool_)
        low, high = two_parts(units, scale, level)
    else:
        weight = _pseudo_weight(units, scale)
        flags = np.asarray(weight > 0)
        inside = (units.values - scale.low) / scale.width
        low, high = (
            np.where(flags, scale.low + scale.width * of_judged, of_others)
            for of_judged, of_others in zip(
                wilson(units.shares, inside, level, np.where(flags, weight, 1.0)),
                student(units.shares, units.values, level),
                strict=True,
            )
        )
    return Bounds(np.clip(low, scale.low, scale.high), np.clip(high, scale.low, scale.high), flags)


def difference_bounds(units: Units, scale: Scale, level: float) -> Bounds:
    """Interval for a mean difference: Student's t of the differences and, but for continuous scores, of two
    pseudo-differences, one at each end.

    For pairs of 0 and 1 the mean and the pseudo-pairs are those of Bonett and Price (2012): one more pair that changes
    in each direction. Without them ties alone would give an interval of zero width.
    """
    low, high = student(*_with_pseudo_differences(units, scale), level)
    flags = np.asarray(_pseudo_weight(units, scale) > 0)
    return Bounds(np.clip(low, -scale.width, scale.width), np.clip(high, -scale.width, scale.width), flags)


def difference_p(units: Units, scale: Scale) -> Array:
    """Two-sided p-value of the mean difference 0: the larger one of two tests.

    The first is the test whose interval `difference_bounds` is, so that where p is at most 1 - level the interval of
    that level excludes 0. It knows nothing of a large fall that no row shows; the second, `unseen_root`, does.
    """
    from scipy.special import ndtr, stdtr

    shares, values = _with_pseudo_differences(units, scale)
    mean, variance = moments(shares, values)
    drawn = stdtr(effective_units(shares) - 1, -np.abs(mean) / np.sqrt(variance))
    gains = np.sign(mean)[..., None] * units.values / scale.width
    return np.asarray(2 * np.maximum(drawn, ndtr(-unseen_root(units.shares, gains))))


def unseen_root(shares: Array, gains: Array) -> Array:
    """How many standard errors a mean gain is above 0, if a few units not drawn may have the gain -1, the worst.

    The root of twice the logarithm of the empirical likelihood ratio (Owen 1988) of n units and of `UNSEEN` of one with
    the gain -1: the largest sum(n p log(1 + k x)) + UNSEEN log(1 - k) over k from 0 to 1 (Honda and Takemura 2010 for
    the end of the range, Chen, Variyath and Abraham 2008 for the unit that is added). 0 for means below 0.

    Args:
        gains: of the units, from -1 to 1. *Shape:* (..., units).
    """
    number = effective_units(shares)
    low = np.zeros_like(number)
    high = np.ones_like(number)
    for _ in range(STEPS):
        middle = (low + high) / 2
        slope = number * np.sum(shares * gains / (1 + middle[..., None] * gains), axis=-1) - UNSEEN / (1 - middle)
        low = np.where(slope > 0, middle, low)
        high = np.where(slope > 0, high, middle)
    ratio = number * np.sum(shares * np.log1p(low[..., None] * gains), axis=-1) + UNSEEN * np.log1p(-low)
    return np.asarray(np.sqrt(2 * np.maximum(ratio, 0.0)))


def pseudo_squares(units: Units, scale: Scale) -> Array:
    """What the pseudo-differences add to n s^2, the sum of squares of n differences, in the variance of their mean:
    2 (w width)^2 for two of weight w at the ends; 0 for continuous scores, which have none."""
    return np.asarray(2 * (_pseudo_weight(units, scale) * scale.width) ** 2)


def two_parts(units: Units, scale: Scale, level: float) -> Pair:
    """Interval for the mean of scores with a mass at one or two values, the atoms of the scale.

    The first part is the mean that the rows would have if all rows at no atom had the same score, the mean m of these
    rows: for an atom 0 and a share p of other rows it is pm, and its interval is m times Wilson's for p. The second is
    the mean of the rows at no atom, with Student's t interval. Distances of the parts from their ends are added as
    squares (MOVER: Zou and Donner 2008), so that for an atom 0 the lower end is
    pm - sqrt((m (p - p_low))^2 + (p (m - m_low))^2). Where all rows are at atoms, m may be any score of the range.
    """
    atoms = np.array(scale.atoms)
    apart = np.clip(1 - units.at.sum(axis=-2), 0.0, 1.0)
    piled = np.einsum("...pu,p->...u", units.at, atoms)  # what the rows at atoms add to the means of units
    share, middle, rest_low, rest_high = _rest(units, apart, (units.values - piled), scale, level)
    mean = moments(units.shares, units.values)[0]

    def first_part(of_rest: Array) -> Pair:
        low = np.minimum(atoms.min(), of_rest)
        high = np.maximum(atoms.max(), of_rest)
        width = np.where(high > low, high - low, 1.0)
        inside = (piled + apart * of_rest[..., None] - low[..., None]) / width[..., None]
        ends = wilson(units.shares, np.clip(inside, 0.0, 1.0), level, corrected=False)
        return low + (high - low) * ends[0], low + (high - low) * ends[1]

    low = first_part(np.where(share > 0, middle, scale.low))[0]
    high = first_part(np.where(share > 0, middle, scale.high))[1]
    return (
        mean - np.hypot(mean - low, share * (middle - rest_low)),
        mean + np.hypot(high - mean, share * (rest_high - middle)),
    )


def _rest(units: Units, apart: Array, sums: Array, scale: Scale, level: float) -> tuple[Array, Array, Array, Array]:
    """The share of rows at no atom, their mean, and its interval: that of continuous scores, and the whole range where
    fewer than two units have such rows.

    Args:
        apart: the share of each unit that is at no atom.
        sums: what these rows add to the means of units.
    """
    share = np.sum(units.shares * apart, axis=-1)
    shares = units.shares * apart / np.where(share > 0, share, 1.0)[..., None]
    values = np.divide(sums, apart, out=np.zeros_like(sums), where=apart > 0)
    middle = np.sum(shares * values, axis=-1)
    values = np.where(apart > 0, values, middle[..., None])
    squares = np.sum(shares**2, axis=-1)
    is_few = (squares == 0) | (squares * LEAST_UNITS > 1)
    shares = np.where(is_few[..., None], units.shares, shares)
    none = np.zeros_like(units.at)
    bounds = mean_bounds(Units(shares, values, none), scale._replace(atoms=(), kind="continuous"), level)
    return share, middle, np.where(is_few, scale.low, bounds.low), np.where(is_few, scale.high, bounds.high)


def wilson(shares: Array, values: Array, level: float, weight: float | Array = 1.0, corrected: bool = True) -> Pair:
    """Wilson's score interval (1927) for values in [0, 1], with an effective number of observations.

    Survey statisticians use it so, with fractional counts: the sample size over the design effect, corrected for
    degrees of freedom by the squared ratio of the quantiles of the normal and of Student's t (Korn and Graubard 1998;
    Franco, Little, Louis and Slud 2019). For n rows the effective number is n m'(1-m')/s'^2, where mean m' and variance
    s'^2 (divisor n+1) are those of the rows and one pseudo-row at 0 and at 1 each, so that it is finite when all scores
    are equal; the degrees of freedom are n - 1. With unequal shares k, the number of `effective_units`, takes the place
    of n, and (k+2) v' that of s'^2, where v' is the variance of the mean of units and pseudo-units.

    Args:
        weight: w of a pseudo-row; above, 2w takes the place of 2.
        corrected: for degrees of freedom.
    """
    from scipy.special import ndtri, stdtrit

    units = effective_units(shares)
    mean, variance = moments(*with_pseudo_units(shares, values, 0.0, 1.0, weight))
    number = mean * (1 - mean) / variance * units / (units + 2 * weight)
    upper = (1 + level) / 2
    if corrected:
        number = number * (ndtri(upper) / stdtrit(units - 1, upper)) ** 2
    count = np.clip(moments(shares, values)[0], 0.0, 1.0) * number
    return wilson_of_counts(count, number, level)


def wilson_of_counts(count: Array, number: Array, level: float) -> Pair:
    """Wilson's interval of count / number, either of which may be a fraction; the bytes are those of statsmodels'
    `proportion_confint(count, number, 1 - level, "wilson")`, which takes a second to load."""
    from scipy.special import ndtri

    share = count / number
    squared = ndtri((1 - level) / 2) ** 2
    scale = 1 + squared / number
    center = (share + squared / (2 * number)) / scale
    spread = share * (1.0 - share) / number + squared / (4.0 * number**2)
    half = -ndtri((1 - level) / 2) * np.sqrt(spread) / scale
    return np.clip(center - half, 0, 1), np.clip(center + half, 0, 1)


def student(shares: Array, values: Array, level: float) -> Pair:
    """Student's t interval with `effective_units` - 1 degrees of freedom: n - 1 for n rows, or for n equal clusters."""
    from scipy.special import stdtrit

    mean, variance = moments(shares, values)
    half = stdtrit(effective_units(shares) - 1, (1 + level) / 2) * np.sqrt(variance)
    return mean - half, mean + half


def moments(shares: Array, values: Array) -> Pair:
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


def with_pseudo_units(shares: Array, values: Array, low: float, high: float, weight: float | Array = 1.0) -> Pair:
    """The units and one more at each end of the range, each with `weight` times the weight of one effective unit."""
    extra = (weight / effective_units(shares))[..., None]
    ends = np.broadcast_to(np.array([low, high]), (*values.shape[:-1], 2))
    larger = np.concatenate([shares, extra, extra], axis=-1) / (1 + 2 * extra)
    return larger, np.concatenate([values, ends], axis=-1)


def _with_pseudo_differences(units: Units, scale: Scale) -> Pair:
    weight = _pseudo_weight(units, scale)
    return with_pseudo_units(units.shares, units.values, -scale.width, scale.width, weight)


def _pseudo_weight(units: Units, scale: Scale) -> Array:
    """What a pseudo-unit weighs, in effective units.

    1 for metrics with atoms, and where all units are equal, so that nothing is known of their spread. Else 0 for
    continuous scores, and for judged ones the share of rows at the fuller one of the points, or, where more than half
    of the units have one value, what they exceed the others by, if that is more; `LEAST_WEIGHT` at least.
    """
    equal = np.ptp(units.values, axis=-1) <= TIE
    if scale.atoms:
        return np.ones_like(equal, dtype=np.float64)
    if scale.kind == "continuous":
        return np.asarray(equal, dtype=np.float64)
    piled = np.sum(units.shares[..., None, :] * units.at, axis=-1).max(axis=-1)
    weight = np.maximum(piled, 2 * _most_common(units.shares, units.values) - 1)
    return np.asarray(np.where(equal, 1.0, np.clip(weight, LEAST_WEIGHT, 1.0)))


def _most_common(shares: Array, values: Array) -> Array:
    """The share of the units that have the most common value; values that differ by `TIE` from the next are equal."""
    order = np.argsort(values, axis=-1, kind="stable")
    values = np.take_along_axis(values, order, axis=-1)
    shares = np.take_along_axis(shares, order, axis=-1)
    until = np.cumsum(shares, axis=-1)
    starts = np.diff(values, axis=-1, prepend=-np.inf) > TIE
    before = np.maximum.accumulate(np.where(starts, until - shares, 0.0), axis=-1)
    return np.asarray(np.max(until - before, axis=-1))
