"""From rows to independent units: missing scores dropped, weights to shares, the rows of a cluster joined."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from rag_evaluator.trust.formulas import LEAST_UNITS, Array, Units
from rag_evaluator.trust.scale import TIE, Scale


def missing_bounds(
    values: ArrayLike, scale: Scale, weights: Sequence[float] | None = None
) -> tuple[float | None, float | None]:
    """The mean if each missing score (NaN, None) were the lowest, and the highest, of its range.

    No chance is involved: these are limits, not an interval. Without missing scores both are the mean; without rows
    that count both are None.
    """
    numbers = np.clip(np.asarray(values, dtype=np.float64), scale.low, scale.high)
    filled = (np.where(np.isnan(numbers), end, numbers) for end in (scale.low, scale.high))
    low, high = (make_rows(scores, None, weights) for scores in filled)
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


def make_rows(values: ArrayLike, clusters: Sequence[Hashable] | None, weights: ArrayLike | None) -> Rows:
    """Drop missing scores (NaN, None) and rows of weight 0; a row without cluster (None, NaN) is one of its own.

    Raises:
        ValueError: if lengths differ, or if weights are negative or not finite.
    """
    numbers = np.asarray(values, dtype=np.float64)
    masses = np.ones(len(numbers)) if weights is None else _checked(np.asarray(weights, dtype=np.float64))
    labels = range(len(numbers)) if clusters is None else clusters
    if not len(numbers) == len(masses) == len(labels):
        raise ValueError(f"{len(numbers)} values, {len(labels)} clusters and {len(masses)} weights do not match")
    places = [place for place in np.lexsort((masses, numbers)) if masses[place] > 0 and not np.isnan(numbers[place])]
    numbers, masses = numbers[places], masses[places]
    weighted = len(places) > 0 and bool(np.ptp(masses) > 0)
    groups = None if clusters is None else _groups([labels[place] for place in places])
    return Rows(numbers, masses if weighted else np.ones(len(places)), groups, weighted)


def has_one_unit(shares: Array) -> bool:
    """Whether one unit has so much of the weight that nothing is known of how much units differ."""
    return 1 / math.fsum(shares**2) < LEAST_UNITS


def _checked(weights: Array) -> Array:
    """The weights times a power of 2, so that sums stay in the range of floats; their ratios are the same bits."""
    if not np.all(np.isfinite(weights) & (weights >= 0)):
        raise ValueError("weights must be finite numbers of at least 0")
    return np.asarray(np.ldexp(weights, -np.frexp(weights.max(initial=0.0))[1]))


def _groups(labels: Sequence[Hashable]) -> list[list[int]] | None:
    """Places with the same label; None if no label occurs twice."""
    groups: dict[Hashable, list[int]] = {}
    for place, label in enumerate(labels):
        is_alone = label is None or label != label  # NaN differs from itself
        groups.setdefault(("row", place) if is_alone else ("label", label), []).append(place)
    return list(groups.values()) if len(groups) < len(labels) else None
