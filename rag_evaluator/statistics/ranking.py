"""AUCs of several scores of the same rows, and intervals of all their differences that hold together."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from .auc import LEVEL, Area, area_of, class_units, newcombe_interval
from .formulas import TIE, Array
from .labelled import Clusters, cluster_numbers
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
        same: pairs of names whose scores are equal in every row.
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
    1997) and the factor k / (k - 1), k the clusters of the smaller class. The intervals are simultaneous: a half width
    is the `LEVEL` quantile of the largest |t| of all pairs (single-step max-t, Hothorn, Bretz and Westfall 2008), a
    multivariate t with k - 1 degrees of freedom and the estimated correlations, drawn `draws` times. Scores without an
    error, whose estimated variance is 0, have that of `newcombe_interval` in its place.

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
    shares, influences = map(np.array, zip(*(area_of(row, people, ones) for row in values), strict=True))
    sides = [members[people == kind] for kind in (0, 1)]
    units = [class_units(np.ones(len(side)), side) for side in sides]
    ends = [newcombe_interval(share, units[1], units[0], LEVEL) for share in shares]
    areas = {name: Area(float(share), *pair) for name, share, pair in zip(scores, shares, ends, strict=True)}
    fewest = min(len(np.unique(side)) for side in sides)
    pairs = list(combinations(range(len(areas)), 2))
    same = {(a, b) for a, b in pairs if np.array_equal(values[a], values[b], equal_nan=True)}
    halves = dict.fromkeys(pairs, math.nan)
    quantile = None
    if fewest >= LEAST_RARER:
        sums = np.array([np.bincount(members, weights=row) for row in influences]) * math.sqrt(fewest / (fewest - 1))
        floors = [_error_of(area) if area.value in (0.0, 1.0) else 0.0 for area in areas.values()]
        spread = np.linalg.qr(np.concatenate([sums, np.diag(floors)], axis=1).T, mode="r")
        errors = {pair: 0.0 if pair in same else float(np.linalg.norm(spread[:, pair[0]] - spread[:, pair[1]]))
                  for pair in pairs}  # fmt: skip
        quantile = _largest(spread, {pair: error for pair, error in errors.items() if error > TIE}, fewest, draws, seed)
        halves = {pair: quantile * error for pair, error in errors.items()}
    names = list(areas)
    differences = dict(_both_orders(names, shares, halves))
    return Ranking(len(people), areas, differences, frozenset((names[a], names[b]) for a, b in same), quantile)


def _error_of(area: Area) -> float:
    """The standard error of an AUC without an error, or with nothing else: from the one end of its interval."""
    assert area.ci_low is not None
    assert area.ci_high is not None
    return (area.ci_high - area.ci_low) / NormalDist().inv_cdf((1 + LEVEL) / 2)


def _largest(spread: Array, errors: Mapping[tuple[int, int], float], clusters: int, draws: int, seed: int) -> float:
    """The quantile of the largest |t| of some pairs. `spread`: a root of the covariances. *Shape:* (any, scores)."""
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((draws, len(spread))) @ spread
    largest = np.zeros(draws)
    for (a, b), error in errors.items():
        np.maximum(largest, np.abs(drawn[:, a] - drawn[:, b]) / error, out=largest)
    freedom = clusters - 1
    return float(np.quantile(largest / np.sqrt(rng.chisquare(freedom, draws) / freedom), LEVEL))


def _both_orders(
    names: list[str], shares: Array, halves: Mapping[tuple[int, int], float]
) -> Iterator[tuple[tuple[str, str], Area]]:
    for (a, b), half in halves.items():
        for first, second in ((a, b), (b, a)):
            value = float(shares[first] - shares[second])
            ends = (None, None) if math.isnan(half) else (max(value - half, -1.0), min(value + half, 1.0))
            yield (names[first], names[second]), Area(value, *ends)
