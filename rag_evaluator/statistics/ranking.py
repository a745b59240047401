"""AUCs of several scores of the same rows, and intervals of all their differences that hold together."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from .auc import LEVEL, Area, area_of, class_units, error_without_error, newcombe_interval
from .formulas import TIE, Array
from .labelled import Clusters, Places, cluster_numbers
from .paired import MOST_ROWS, POWER
from .ppi import LEAST_RARER

DRAWS = 20_000  # of the largest difference: its quantile is known to a hundredth


@dataclass(frozen=True)
class Ranking:
    """What is known of several scores together.

    Attributes:
        labels: rows that count, whether they have a score or not.
        areas: name -> AUC with an interval of its own, see `newcombe_interval`.
        differences: (first, second) -> AUC of the first less that of the second; the intervals hold together. Both
            orders are there.
        same: pairs of names, in both orders, whose scores are equal in every row.
        quantile: half widths are this many standard errors; None: no interval, as a class has too few clusters.
    """

    labels: int
    areas: Mapping[str, Area]
    differences: Mapping[tuple[str, str], Area]
    same: frozenset[tuple[str, str]]
    quantile: float | None

    def more_labels(self, first: str, second: str, limit: float = 0.0) -> int | None:
        """About so many more labels would show with a chance of `POWER` that the first is above the second by more
        than a limit, which may be negative. None: nothing says so, or `MOST_ROWS` would not do.

        Half widths shrink as the root of the number of labels, as of `compare_with_baselines`.
        """
        area = self.differences[first, second]
        beyond = area.value - limit
        if area.ci_low is None or self.quantile is None or beyond <= TIE:
            return None
        further = 1 + NormalDist().inv_cdf(POWER) / self.quantile
        needed = self.labels * (further * (area.value - area.ci_low) / beyond) ** 2
        return max(math.ceil(needed) - self.labels, 1) if needed <= MOST_ROWS else None


def rank_areas(
    scores: Mapping[str, ArrayLike], labels: ArrayLike, clusters: Clusters = None, draws: int = DRAWS, seed: int = 0
) -> Ranking:
    """Compare the AUCs of several scores, each with each, on all rows with a label.

    A pair of rows with a missing score (NaN) counts half, so that silence is worth no more than chance. Variances are
    those of DeLong, DeLong and Clarke-Pearson (1988), with the sums of each cluster in place of its rows (Obuchowski
    1997), each as if the cluster were left out (jackknife): over its shares of both classes that are left, with the
    factor (k - 1) / k, k the clusters of the smaller class. The intervals hold together: a half width is the `LEVEL`
    quantile of the largest |t| of all pairs (single-step max-t, Hothorn, Bretz and Westfall 2008), a multivariate t
    with k - 1 degrees of freedom and the estimated correlations, drawn `draws` times. Scores without an error, whose
    estimated variance is 0, have that of `newcombe_interval` in its place. Measured in benchmarks/judges.md.

    Args:
        scores: name -> a score a row, higher for better labels.
        labels: 0, 1 or NaN, both kinds are there.
        clusters: rows of one cluster depend on each other; None: no rows do.
    """
    people = np.asarray(labels, dtype=np.float64)
    counts = ~np.isnan(people)
    people = people[counts]
    values = np.array(list(scores.values()), dtype=np.float64).reshape(len(scores), -1)[:, counts]
    members = np.unique(cluster_numbers(clusters, len(counts))[counts], return_inverse=True)[1]
    ones = np.ones(len(people))
    moved = [area_of(row, people, ones) for row in values]
    shares = np.array([share for share, _ in moved])
    sides = [members[people == kind] for kind in (0, 1)]
    units = [class_units(np.ones(len(side)), side) for side in sides]
    ends = [newcombe_interval(share, units[1], units[0], LEVEL) for share in shares]
    areas = {name: Area(float(share), *pair) for name, share, pair in zip(scores, shares, ends, strict=True)}
    fewest = min(len(np.unique(side)) for side in sides)
    pairs = list(permutations(range(len(areas)), 2))
    same = [(a, b) for a, b in pairs if np.array_equal(values[a], values[b], equal_nan=True)]
    quantile = None
    halves = np.full((len(areas), len(areas)), np.nan)
    if fewest >= LEAST_RARER:
        left = np.prod([1 - np.bincount(side, minlength=members.max() + 1) / len(side) for side in sides], axis=0)
        sums = np.array([np.bincount(members, weights=row) for _, row in moved]) / left
        sums *= math.sqrt((fewest - 1) / fewest)
        floors = list(map(error_without_error, areas.values()))
        spread: Array = np.linalg.qr(np.concatenate([sums, np.diag(floors)], axis=1).T).R
        errors = np.linalg.norm(spread[:, :, None] - spread[:, None, :], axis=0)
        errors[tuple(np.array(same, dtype=int).reshape(-1, 2).T)] = 0.0
        quantile = _largest(spread, np.argwhere(np.triu(errors) > TIE), fewest - 1, draws, seed)
        halves = quantile * errors
    names = list(areas)
    differences = {(names[a], names[b]): _around(float(shares[a] - shares[b]), float(halves[a, b])) for a, b in pairs}
    return Ranking(len(people), areas, differences, frozenset((names[a], names[b]) for a, b in same), quantile)


def _largest(spread: Array, pairs: Places, freedom: int, draws: int, seed: int) -> float:
    """The quantile of the largest |t| of some pairs.

    Each pair has an estimated variance of its own, so the covariances are drawn, too (Wishart): with one common factor
    the pair whose variance is estimated too low by chance would be found too often.

    Args:
        spread: a root of the covariances. *Shape:* (any, scores).
        pairs: places of both. *Shape:* (pairs, 2).
    """
    rng = np.random.default_rng(seed)
    size = len(spread)
    drawn = rng.standard_normal((draws, size)) @ spread
    roots = rng.standard_normal((draws, size, min(size, freedom)))
    if freedom >= size:  # Bartlett's decomposition
        places = np.arange(size)
        roots = np.tril(roots)
        roots[:, places, places] = np.sqrt(rng.chisquare(freedom - places, (draws, size)))
    largest = np.zeros(draws)
    for a, b in pairs:
        variance = np.sum(((spread[:, a] - spread[:, b]) @ roots) ** 2, axis=-1) / freedom
        np.maximum(largest, np.abs(drawn[:, a] - drawn[:, b]) / np.sqrt(variance), out=largest)
    return float(np.quantile(largest, LEVEL))


def _around(value: float, half: float) -> Area:
    """A difference with its interval; none where the half width is NaN."""
    return Area(value, None, None) if math.isnan(half) else Area(value, max(value - half, -1.0), min(value + half, 1.0))
