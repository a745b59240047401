"""Krippendorff's alpha: how far any number of raters agree with each other."""

import numpy as np
from numpy.typing import ArrayLike

from rag_evaluator.files import JsonDict

from .formulas import Array


def krippendorff_alpha(ratings: ArrayLike) -> JsonDict:
    """alpha = 1 - observed / expected disagreement (Krippendorff 2011, "Computing Krippendorff's alpha-reliability").

    For n ratings of rows with at least two, alpha = 1 - (n-1) sum_u d(u)/(m_u - 1) / d(all): d is the sum of the
    squared differences of all pairs in a row of m_u ratings, or of all n. A difference is that of the mean ranks in all
    n: the published ordinal one, the ratings between both and half of those at each end. For ratings of two values it
    is the nominal alpha, too.

    Args:
        ratings: 0 and 1, or grades; NaN: missing. *Shape:* (annotators, rows).

    Returns:
        `alpha`: 1: full agreement; 0: what chance gives; below 0: systematic disagreement; None where undefined.
        `units`: rows with at least two ratings; others do not count. `ratings` of these rows. `reason`: why there is
        no alpha; None if there is one.
    """
    from scipy.stats import rankdata

    rated = [row[~np.isnan(row)] for row in np.asarray(ratings, dtype=np.float64).T]
    rows = [row for row in rated if len(row) > 1]
    if not rows:
        return {"alpha": None, "units": 0, "ratings": 0, "reason": "no row has two ratings"}
    values = np.concatenate(rows)
    if np.ptp(values) == 0:
        return {"alpha": None, "units": len(rows), "ratings": len(values), "reason": "all ratings are equal"}
    ranks = np.asarray(rankdata(values), dtype=np.float64)
    parts = np.split(ranks, np.cumsum([len(row) for row in rows])[:-1])
    within = sum(_squared_differences(part) / (len(part) - 1) for part in parts)
    alpha = 1 - (len(values) - 1) * within / _squared_differences(ranks)
    return {"alpha": alpha, "units": len(rows), "ratings": len(values), "reason": None}


def _squared_differences(values: Array) -> float:
    """The sum over all pairs: n times that of the squared deviations from the mean."""
    return float(len(values) * np.sum((values - values.mean()) ** 2))
