"""Krippendorff's alpha: how far any number of raters agree with each other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rag_evaluator.statistics.formulas import Array

Measure = Literal["nominal", "ordinal"]


@dataclass(frozen=True)
class Alpha:
    """Krippendorff's alpha.

    Attributes:
        alpha: 1: full agreement; 0: what chance gives; below 0: systematic disagreement. None where undefined.
        units: rows with at least two ratings; others do not count.
        ratings: ratings of these rows.
        reason: why there is no alpha; None if there is one.
    """

    alpha: float | None
    units: int
    ratings: int
    reason: str | None


def krippendorff_alpha(ratings: ArrayLike, measure: Measure = "nominal") -> Alpha:
    """alpha = 1 - observed / expected disagreement (Krippendorff 2011, "Computing Krippendorff's alpha-reliability").

    For n ratings of rows with at least two, alpha = 1 - (n-1) sum_u d(u)/(m_u - 1) / d(all): d is the sum of the
    squared differences of all pairs in a row of m_u ratings, or of all n. A difference is 1 if ratings are not equal
    (nominal), or that of the mean ranks in all n (ordinal). The last is the published one: the ratings between both,
    and half of those at each end.

    Args:
        ratings: a number for each category or grade; NaN: missing. *Shape:* (annotators, rows).
        measure: what differences mean.
    """
    table = np.asarray(ratings, dtype=np.float64)
    rated = [row[~np.isnan(row)] for row in table.T]
    rows = [row for row in rated if len(row) > 1]
    values = np.concatenate(rows) if rows else np.empty(0)
    if not rows:
        return Alpha(None, 0, 0, "no row has two ratings")
    if np.ptp(values) == 0:
        return Alpha(None, len(rows), len(values), "all ratings are equal")
    disagreement, moved = DISAGREEMENTS[measure], _mean_ranks(values) if measure == "ordinal" else values
    parts = np.split(moved, np.cumsum([len(row) for row in rows])[:-1])
    within = sum(disagreement(part) / (len(part) - 1) for part in parts)
    return Alpha(1 - (len(values) - 1) * within / disagreement(moved), len(rows), len(values), None)


def _unequal_pairs(values: Array) -> float:
    counts = np.unique(values, return_counts=True)[1]
    return float((len(values) ** 2 - np.sum(counts**2)) / 2)


def _squared_differences(values: Array) -> float:
    """The sum over all pairs: n times that of the squared deviations from the mean."""
    return float(len(values) * np.sum((values - values.mean()) ** 2))


def _mean_ranks(values: Array) -> Array:
    from scipy.stats import rankdata

    return np.asarray(rankdata(values), dtype=np.float64)


DISAGREEMENTS: Mapping[Measure, Callable[[Array], float]] = {
    "nominal": _unequal_pairs,
    "ordinal": _squared_differences,
}
