"""Means, mean differences and pass rates with an interval for what the rows are a sample of."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .formulas import (
    LEAST_UNITS,
    TIE,
    Array,
    Bounds,
    Estimate,
    Scale,
    Units,
    difference_bounds,
    difference_p,
    effective_units,
    mean_bounds,
    mean_points,
    moments,
    pseudo_squares,
)
from .labelled import Clusters, cluster_numbers

NO_SCORE = "none: no scores"
ONE_SCORE = "range: one score"
ONE_CLUSTER = "range: one cluster"
ONE_WEIGHT = "range: one has nearly all the weight"
STUDENT = "student-t"
TIED = (
    "Student's t, which made the interval, may make it too narrow where scores pile up; for a metric of your own set "
    "kind: judged, for others read the pass rate of a threshold"
)
PASS = Scale(0.0, 1.0, "judged", "higher")  # a pass is 1, a failure 0
OF_DIFFERENCE = (0.0,)  # the points of units of differences


def missing_bounds(values: ArrayLike, scale: Scale) -> tuple[float | None, float | None]:
    """The mean if each missing score (NaN, None) were the lowest, and the highest, of its range.

    No chance is involved: these are limits, not an interval. Without missing scores both are the mean; without rows
    both are None.
    """
    numbers = np.clip(np.asarray(values, dtype=np.float64), scale.low, scale.high)
    filled = (np.where(np.isnan(numbers), end, numbers) for end in (scale.low, scale.high))
    low, high = (make_rows(scores, None, None) for scores in filled)
    return (low.mean, high.mean) if len(low.values) else (None, None)


@dataclass(frozen=True, eq=False)
class Rows:
    """Scores that are there, sorted by value and weight: no result depends on the order of rows.

    Attributes:
        values: one a row.
        weights: above 0; all 1 if there are none or if they are equal.
        clusters: rows of each cluster, as places in `values`; None if each row is a cluster of its own.
        weighted: whether weights differ.
    """

    values: Array
    weights: Array
    clusters: Sequence[Sequence[int]] | None
    weighted: bool

    @cached_property
    def total(self) -> float:
        return math.fsum(self.weights)

    @cached_property
    def mean(self) -> float:
        """sum(w x) / sum(w); both sums are rounded once, at their end."""
        mean = math.fsum(self.weights * self.values) / self.total
        return float(min(max(mean, self.values[0]), self.values[-1]))  # 5.000000000000001 is not a mean of fives

    @property
    def median(self) -> float:
        """The value with half of the weight on each side, or the middle between two such values."""
        below = np.cumsum(self.weights) / self.total
        places = np.searchsorted(below, [0.5 - 1e-12, 0.5 + 1e-12])
        return float(self.values[places].mean())

    @property
    def std(self) -> float | None:
        """Root of sum(p (x-m)^2) / (1 - sum(p^2)) with shares p of the weight; without weights the divisor is n - 1."""
        shares = self.weights / self.total
        free = 1 - math.fsum(shares**2)
        spread = shares * (self.values - self.mean) ** 2
        return math.sqrt(math.fsum(spread) / free) if free > 1e-9 else None

    def units(self, points: Sequence[float]) -> Units:
        """The rows, or the clusters if there are any, whatever their order and labels; `points` are those of `Units`.

        Scores that differ from a point by at most `TIE` are at it.
        """
        at = (np.abs(self.values - np.array(points)[:, None]) <= TIE).astype(np.float64)
        if self.clusters is None:
            return Units(self.weights / self.total, self.values, at)
        weights = self._sums(np.ones(len(self.values)))
        means, *shares = (self._sums(values) / weights for values in (self.values, *at))
        order = np.lexsort((*shares, weights, means))
        return Units(weights[order] / self.total, means[order], np.array(shares)[:, order])

    def _sums(self, values: Array) -> Array:
        """Of each cluster, weighted."""
        return np.array([math.fsum(self.weights[rows] * values[rows]) for rows in self.clusters or ()])


def make_rows(values: ArrayLike, clusters: Clusters, weights: ArrayLike | None) -> Rows:
    """Drop missing scores (NaN, None) and rows of weight 0; a row without cluster (None, NaN) is one of its own.

    Raises:
        ValueError: if lengths differ, or if weights are negative or not finite.
    """
    numbers = np.asarray(values, dtype=np.float64)
    masses = np.ones(len(numbers)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not np.all(np.isfinite(masses) & (masses >= 0)):
        raise ValueError("weights must be finite numbers of at least 0")
    members = cluster_numbers(clusters, len(numbers))
    if not len(numbers) == len(masses) == len(members):
        raise ValueError(f"{len(numbers)} values, {len(members)} clusters and {len(masses)} weights do not match")
    places = [place for place in np.lexsort((masses, numbers)) if masses[place] > 0 and not np.isnan(numbers[place])]
    numbers = numbers[places]
    masses = masses[places]
    weighted = len(places) > 0 and bool(np.ptp(masses) > 0)
    groups: dict[int, list[int]] = {}
    for place, member in enumerate(members[places].tolist()):
        groups.setdefault(member, []).append(place)
    of_clusters = list(groups.values()) if len(groups) < len(places) else None
    return Rows(numbers, masses if weighted else np.ones(len(places)), of_clusters, weighted)


def has_one_unit(shares: Array) -> bool:
    """Whether one unit has so much of the weight that nothing is known of how much units differ."""
    return 1 / math.fsum(shares**2) < LEAST_UNITS


def mean_interval(
    values: ArrayLike,
    scale: Scale,
    level: float = 0.95,
    clusters: Clusters = None,
    weights: ArrayLike | None = None,
) -> Estimate:
    """The mean score with its interval.

    `judged`: Wilson's interval with an effective number of rows, "wilson-effective-n". `continuous`: Student's t cut to
    the range, "student-t"; if all values are equal that has no width, so that the judged method is used. A scale with
    atoms: Wilson's interval for the rows at them and Student's t for the others, "two-part-wilson-t". One row or one
    cluster: the whole range. Formulas and sources: `statistics.formulas`; a worked example: docs/intervals.md.

    Args:
        values: a score a row, clipped to the range. NaN or None: missing, the row does not count.
        scale: range and kind of the scores.
        level: nominal coverage.
        clusters: a label a row. Rows with one label may depend on each other, clusters may not. None, NaN: a cluster of
            its own.
        weights: a finite number >= 0 a row; only their ratios matter. A row of weight 0 does not count.

    Returns:
        The same to the last bit for any order of rows and any labels of the clusters.

    Raises:
        ValueError: if lengths differ, or level or weights are not as described.
    """
    clipped = np.clip(np.asarray(values, dtype=np.float64), scale.low, scale.high)
    rows = make_rows(clipped, clusters, weights)
    units = rows.units(mean_points(scale))
    method = "two-part-wilson-t" if scale.atoms else "wilson-effective-n"
    return _estimate(rows, units, scale, (scale.low, scale.high), level, mean_bounds, method)


def difference_interval(
    differences: ArrayLike,
    scale: Scale,
    level: float = 0.95,
    clusters: Clusters = None,
    weights: ArrayLike | None = None,
) -> Estimate:
    """The mean of paired differences with its interval; ties of at most `TIE` count as 0.

    `judged`, or a scale with atoms: Student's t of the differences and one pseudo-pair at each end,
    "student-t-pseudo-pairs". `continuous`: Student's t, or the judged method if all differences are equal. Both are cut
    to the range of differences, which is -(high - low) to high - low. `scale` is that of the scores; the rest is as in
    `mean_interval`.
    """
    rows = _difference_rows(differences, scale, clusters, weights)
    units = rows.units(OF_DIFFERENCE)
    ends = (-scale.width, scale.width)
    return _estimate(rows, units, scale, ends, level, difference_bounds, "student-t-pseudo-pairs")


def tie_warning(values: ArrayLike, scale: Scale, estimate: Estimate) -> str | None:
    """That Student's t made an interval though two or more scores are exactly at one end of the range; None: not so.

    Scores that pile up there are a mass, of which Student's t knows nothing; which metrics have one by construction,
    their `atoms` say. Without them it covered 0.60 to 0.92 (benchmarks/intervals.md).

    Args:
        values: of the rows, as for `mean_interval`.
        estimate: the mean of the rows, or their difference from others.
    """
    if estimate.ci_method.partition(", ")[0] != STUDENT:
        return None
    scores = np.clip(np.asarray(values, dtype=np.float64), scale.low, scale.high)
    scores = scores[~np.isnan(scores)]
    counts = ((end, int(np.sum(np.abs(scores - end) <= TIE))) for end in (scale.low, scale.high))
    tied = " and ".join(f"{count} are exactly {end:g}" for end, count in counts if count > 1)
    return f"of {len(scores)} scores {tied}: {TIED}" if tied else None


class DifferenceTest(NamedTuple):
    """What belongs to the interval of `difference_interval`.

    Attributes:
        p: two-sided p-value of a mean difference of 0, see `difference_p`: where it is at most 0.05 the 95 % interval
            excludes 0. 1 with one row or one cluster, None without a row that counts.
        units: the `effective_units`, rows or clusters; 0 without a row that counts.
        squares: what is added to the sum of squares of their differences, see `pseudo_squares`.
    """

    p: float | None
    units: float
    squares: float


def difference_test(
    differences: ArrayLike,
    scale: Scale,
    clusters: Clusters = None,
    weights: ArrayLike | None = None,
) -> DifferenceTest:
    """The test of a mean difference; the arguments are those of `difference_interval`."""
    rows = _difference_rows(differences, scale, clusters, weights)
    if not len(rows.values):
        return DifferenceTest(None, 0.0, 0.0)
    units = rows.units(OF_DIFFERENCE)
    p = 1.0 if has_one_unit(units.shares) else float(difference_p(units, scale))
    return DifferenceTest(p, float(effective_units(units.shares)), float(pseudo_squares(units, scale)))


def _difference_rows(differences: ArrayLike, scale: Scale, clusters: Clusters, weights: ArrayLike | None) -> Rows:
    numbers = np.asarray(differences, dtype=np.float64)
    numbers = np.clip(np.where(np.abs(numbers) <= TIE, 0.0, numbers), -scale.width, scale.width)
    return make_rows(numbers, clusters, weights)


def pass_rate(
    values: ArrayLike,
    threshold: float,
    scale: Scale,
    level: float = 0.95,
    clusters: Clusters = None,
) -> Estimate:
    """The share of scores that reach the threshold, with its interval: `mean_interval` of 1 (pass) and 0.

    A score passes if it is at least the threshold, or at most if lower scores are better; `TIE` is allowed for. Missing
    scores neither pass nor fail.
    """
    numbers = np.asarray(values, dtype=np.float64)
    above = numbers - threshold if scale.better == "higher" else threshold - numbers
    passes = np.where(np.isnan(numbers), np.nan, above >= -TIE)
    return mean_interval(passes, PASS, level, clusters)


def _estimate(
    rows: Rows,
    units: Units,
    scale: Scale,
    ends: tuple[float, float],
    level: float,
    bounds: Callable[[Units, Scale, float], Bounds],
    method: str,
) -> Estimate:
    """Estimate with the interval of a formula; `method` is its name, where it is not Student's t alone."""
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; it must lie between 0 and 1, such as 0.95")
    n = len(rows.values)
    if n == 0:
        return Estimate(0, None, None, None, None, None, None, level, NO_SCORE)
    described = partial(Estimate, n=n, mean=rows.mean, median=rows.median, std=rows.std, ci_level=level)
    if has_one_unit(units.shares):
        why = ONE_WEIGHT if len(units.shares) > 1 else ONE_SCORE if n == 1 else ONE_CLUSTER
        return described(stderr=None, ci_low=ends[0], ci_high=ends[1], ci_method=why)
    low, high, judged = bounds(units, scale, level)
    parts = {method if judged else STUDENT: True, "clustered": rows.clusters is not None, "weighted": rows.weighted}
    return described(
        stderr=float(np.sqrt(moments(units.shares, units.values)[1])),
        ci_low=min(float(low), rows.mean),
        ci_high=max(float(high), rows.mean),
        ci_method=", ".join(part for part, shown in parts.items() if shown),
    )


@dataclass(frozen=True)
class RerunNoise:
    """How much scores change when they are made again.

    Attributes:
        stderr_rerun: standard deviation that the mean of all rows would have over runs on the same rows with as many
            repeats. None if no row has two scores.
        icc: ICC(1,1), the share of the variance of single scores that is between rows: near 1 if a row's score stays,
            0 or below if repeats of a row differ as much as rows do. None if no row has two scores, or if rows do not
            vary.
        icc_mean: ICC(1,k), the same for the mean of a row's repeats.
    """

    stderr_rerun: float | None
    icc: float | None
    icc_mean: float | None


def rerun_noise(scores: Sequence[Sequence[float | None]]) -> RerunNoise:
    """Analysis of variance with one random factor, the row (Shrout and Fleiss 1979, their case 1).

    With mean squares between and within rows, MSB and MSW, of n rows with k repeats: stderr_rerun = sqrt(MSW / (k n)),
    ICC(1,1) = (MSB - MSW) / (MSB + (k-1) MSW) and ICC(1,k) = (MSB - MSW) / MSB. For unequal repeats k_i with sum N, k
    is their harmonic mean in stderr_rerun, and n0 = (N - sum(k_i^2) / N) / (n-1) in ICC(1,1) (Donner 1986).

    Args:
        scores: the repeats of each row, in any order and number; NaN or None: missing. Rows without any are left out.
    """
    known = ([score for score in row if score is not None and not math.isnan(score)] for row in scores)
    rows = [row for row in known if row]
    means = [math.fsum(row) / len(row) for row in rows]
    counts = [len(row) for row in rows]
    total = sum(counts)
    if total == len(rows):
        return RerunNoise(None, None, None)
    squares = (math.fsum((score - mean) ** 2 for score in row) for row, mean in zip(rows, means, strict=True))
    within = math.fsum(squares) / (total - len(rows))
    stderr = math.sqrt(within * math.fsum(1 / count for count in counts)) / len(rows)
    if max(means) - min(means) <= TIE:
        return RerunNoise(stderr, None, None)
    pairs = list(zip(means, counts, strict=True))
    grand = math.fsum(mean * count for mean, count in pairs) / total
    between = math.fsum(count * (mean - grand) ** 2 for mean, count in pairs) / (len(rows) - 1)
    size = (total - sum(count**2 for count in counts) / total) / (len(rows) - 1)
    single = (between - within) / (between + (size - 1) * within)
    return RerunNoise(stderr, single, (between - within) / between)
