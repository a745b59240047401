"""Paired comparison of two runs' scores over the same rows, and how many rows a difference needs."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .formulas import TIE, UNSEEN, Estimate, Scale
from .intervals import difference_interval, difference_test

Floats = NDArray[np.float64]
ALPHA = 0.05
POWER = 0.8
MOST_ROWS = 100_000
FEWEST = 2  # rows; one has the whole range
UNLIMITED = 10**12
FINENESS = 10**6  # parts of a metric's range in which the smallest difference is looked for
EFFECT = 0.05  # a difference worth finding, in units of a metric
Verdict = Literal[
    "shown", "not settled", "equal in all rows", "equal within the margin", "different, but less than the margin"
]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values of a family of tests, adjusted so that they hold together (Holm 1979); None stays, and does not count.

    The p-value of rank k of n, from the smallest, times n - k + 1; never below that of a smaller one, and at most 1.
    `multipletests` of statsmodels gives the same numbers, but collects garbage at each call: half a second here.
    """
    order = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted = list(p_values)
    least = 0.0
    for rank, (p, place) in enumerate(order):
        least = max(least, min(1.0, p * (len(order) - rank)))
        adjusted[place] = least
    return adjusted


def is_shown(p_holm: float | None) -> bool:
    """Whether a difference is shown: its p-value after Holm is at most `ALPHA`; None: it was not tested."""
    return p_holm is not None and p_holm <= ALPHA + 1e-12


def smallest_difference(
    std: float | None, n: int, design_effect: float = 1.0, squares: float = 0.0, width: float | None = None
) -> float | None:
    """The true mean difference that both two-sided tests of `difference_p` find in n rows with a power of `POWER`.

    In the metric's units, above `width` where the range has none; None where the spread of the differences is not
    known: with fewer than two rows, or when no row differs from the others.

    Args:
        std: standard deviation of the differences between rows, or between the means of clusters.
        design_effect: how many rows there are for each of these.
        squares: what pseudo-pairs add to the sum of squares, see `pseudo_squares`.
        width: of the metric's range; None: of the first test alone, Student's t.
    """
    from scipy.special import nctdtrinc, stdtrit

    independent = n / design_effect
    if std is None or std <= TIE or independent < FEWEST:
        return None
    free = independent - 1
    shift = nctdtrinc(free, 1 - POWER, stdtrit(free, 1 - ALPHA / 2))
    least = float(shift) * math.sqrt((std**2 + squares / independent) / independent)
    if width is None:
        return least
    steps = range(FINENESS + 1)
    step = bisect_left(steps, True, key=lambda step: _outweighs_unseen(step / FINENESS, std / width, independent))
    return max(least, step / FINENESS * width)


def rows_needed(
    std: float | None,
    effect: float,
    design_effect: float = 1.0,
    squares: float = 0.0,
    width: float | None = None,
    alpha: float = ALPHA,
) -> int | None:
    """The rows with which a true mean difference of `effect` is found with this power; None as above.

    Args:
        alpha: what the p-value must not exceed.
    """
    if std is None or std <= TIE:
        return None

    def is_enough(independent: int) -> bool:
        power = _power(effect / math.sqrt(std**2 + squares / independent), independent, alpha)
        outweighs = width is None or _outweighs_unseen(effect / width, std / width, independent, alpha)
        return outweighs and not power < POWER  # NaN: no doubt

    independent = bisect_left(range(UNLIMITED + 1), True, lo=FEWEST, key=is_enough)
    if independent > UNLIMITED:
        return None
    return math.ceil(independent * design_effect * (1 - 1e-12))  # 58.00000000000001 rows are 58


def _outweighs_unseen(mean: float, std: float, n: float, alpha: float = ALPHA) -> bool:
    """Whether the test of `unseen_root` has this power: whether it finds the mean that 80 of 100 samples exceed.

    Half of the n gains are `std` above their mean, half below. k is the root between 0 and 1 of
    (n + UNSEEN) product k^2 + linear k - slope = 0.
    """
    from scipy.special import ndtri

    mean -= ndtri(POWER) * std / math.sqrt(n)
    low = max(mean - std, -1.0)
    high = mean + std
    product = low * high
    middle = (low + high) / 2
    slope = n * middle - UNSEEN
    if slope <= 0:
        return False
    linear = n * (middle - product) + 2 * UNSEEN * middle
    k = 2 * slope / (linear + math.sqrt(linear**2 + 4 * (n + UNSEEN) * product * slope))
    squared = n * (math.log1p(k * low) + math.log1p(k * high)) + 2 * UNSEEN * math.log1p(-k)
    return bool(squared >= ndtri(alpha / 2) ** 2)


def _power(size: float, n: int, alpha: float) -> float:
    """The power of the two-sided t test of a mean of n differences; `size`: the true mean over their deviation."""
    from scipy.special import nctdtr, stdtrit

    limit = stdtrit(n - 1, 1 - alpha / 2)
    shift = size * math.sqrt(n)
    return float(1 - nctdtr(n - 1, shift, limit) + nctdtr(n - 1, shift, -limit))


@dataclass(frozen=True)
class Paired:
    """The scores of a metric in two runs: a number per row, NaN where there is none."""

    metric: str
    a: Floats
    b: Floats
    scale: Scale


@dataclass(frozen=True, kw_only=True)
class MetricComparison:
    """A metric in two runs. Rows that only one side scored do not count, but for `only_a` and `only_b`.

    Attributes:
        mean_a, mean_b: of the rows that both sides scored; None if there are none.
        difference: b minus a, row by row, with its interval.
        p: of `difference_test`; None if it was not made. `p_holm` holds for all tests of the table together.
        wins, ties, losses: rows in which b is better than, equal to, worse than a.
        smallest_difference: that this many rows find with a power of 0.8; None where rows do not differ at all, or no
            difference on the scale is found.
        rows_needed: to find the effect that was asked for; None where rows do not differ, and of one or two clusters.
        rows_to_settle: to show a true difference of the size found, after the correction for all tests; None as above,
            and for one below the effect that was asked for.
        only_a, only_b: rows that only this side scored.
        margin: a difference that does not matter, in units of the metric; None: nobody gave one beforehand.
        decisive: the difference with the interval that the margin is held against, for 95 %; None: it is `difference`.
    """

    metric: str
    scale: Scale
    mean_a: float | None = None
    mean_b: float | None = None
    difference: Estimate
    p: float | None
    p_holm: float | None = None
    wins: int
    ties: int
    losses: int
    smallest_difference: float | None = None
    rows_needed: int | None
    rows_to_settle: int | None = None
    only_a: int = 0
    only_b: int = 0
    margin: float | None = None
    decisive: Estimate | None = None

    @property
    def verdict(self) -> Verdict:
        """What is known of the difference: `shown` by p after Holm, equality by both ends of the 95 % interval.

        `equal in all rows` is said of these rows only: no score differs in any of them.
        """
        shown = is_shown(self.p_holm)
        if self.is_within_margin:
            return "different, but less than the margin" if shown else "equal within the margin"
        if shown:
            return "shown"
        return "not settled" if self.wins or self.losses or not self.ties else "equal in all rows"

    @property
    def is_within_margin(self) -> bool:
        """Whether both ends of the 95 % interval are inside the margin."""
        decisive = self.decisive or self.difference
        low = decisive.ci_low
        high = decisive.ci_high
        if self.margin is None or low is None or high is None:
            return False
        return -self.margin < low and high < self.margin

    @property
    def is_better(self) -> bool:
        """Whether the mean of b lies towards the better end of the scale."""
        return self.difference.mean is not None and (self.difference.mean > 0) == (self.scale.better == "higher")


def compare_scores(
    pairs: Sequence[Paired],
    clusters: Sequence[str | None] | None = None,
    weights: Floats | None = None,
    effect: float = EFFECT,
    level: float = 0.95,
    tested: bool = True,
    margins: Mapping[str, float] | None = None,
) -> list[MetricComparison]:
    """Each pair compared, over the same rows in any order; the p-values are adjusted for all of them together.

    Args:
        clusters: rows of one cluster depend on each other; None: each row stands for itself.
        weights: how much each row counts in means, intervals and tests; wins, ties and losses are counted as they are.
        tested: whether p-values are wanted.
        margins: metric -> a difference that does not matter.
    """
    alpha = ALPHA / len(pairs) if tested and pairs else None
    rows = [_compared(pair, clusters, weights, effect, level, alpha) for pair in pairs]
    tests = [row.p if tested else None for row in rows]
    return [
        replace(row, p=p, p_holm=adjusted, margin=(margins or {}).get(row.metric))
        for row, p, adjusted in zip(rows, tests, holm(tests), strict=True)
    ]


def _compared(
    pair: Paired,
    clusters: Sequence[str | None] | None,
    weights: Floats | None,
    effect: float,
    level: float,
    alpha: float | None,
) -> MetricComparison:
    """A pair with its own p-value; the arguments are those of `compare_scores`, and what p is held against."""
    a = pair.a
    b = pair.b
    differences = pair.b - pair.a
    difference = difference_interval(differences, pair.scale, level, clusters, weights)
    p, units, squares = difference_test(differences, pair.scale, clusters, weights)
    both = ~np.isnan(differences)
    counted = np.ones(len(differences)) if weights is None else weights
    gains = differences[both] if pair.scale.better == "higher" else -differences[both]
    design = difference.n / units if units else 1.0
    # of rows or clusters; one cluster says nothing of others
    spread = None if difference.stderr is None else difference.stderr * math.sqrt(units)
    smallest = smallest_difference(spread, difference.n, design, squares, pair.scale.width)
    found = abs(difference.mean or 0.0)
    is_hopeless = difference.is_clustered and units <= FEWEST + TIE  # more rows of so few clusters do not help
    return MetricComparison(
        metric=pair.metric,
        scale=pair.scale,
        mean_a=_mean(a[both], counted[both]),
        mean_b=_mean(b[both], counted[both]),
        difference=difference,
        decisive=difference_interval(differences, pair.scale, 1 - ALPHA, clusters, weights),
        p=p,
        wins=int(np.count_nonzero(gains > TIE)),
        ties=int(np.count_nonzero(np.abs(gains) <= TIE)),
        losses=int(np.count_nonzero(gains < -TIE)),
        smallest_difference=None if smallest is None or smallest > pair.scale.width else smallest,
        rows_needed=None if is_hopeless else rows_needed(spread, effect, design, squares, pair.scale.width),
        rows_to_settle=None
        if is_hopeless or alpha is None or found < effect
        else rows_needed(spread, found, design, squares, pair.scale.width, alpha),
        only_a=int(np.count_nonzero(~np.isnan(a) & np.isnan(b))),
        only_b=int(np.count_nonzero(np.isnan(a) & ~np.isnan(b))),
    )


def _mean(values: Floats, weights: Floats) -> float | None:
    total = math.fsum(weights)
    return math.fsum(values * weights) / total if total else None
