"""What missing scores could do to a mean."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from rag_evaluator.trust.intervals import mean_interval
from rag_evaluator.trust.scale import Scale


def missing_bounds(
    values: ArrayLike, scale: Scale, weights: Sequence[float] | None = None
) -> tuple[float | None, float | None]:
    """The mean if each missing score (NaN, None) were the lowest, and the highest, of its range.

    No chance is involved: these are limits, not an interval. Without missing scores both are the mean; without rows
    both are None.
    """
    numbers = np.asarray(values, dtype=np.float64)
    filled = (np.where(np.isnan(numbers), end, numbers) for end in (scale.low, scale.high))
    low, high = (mean_interval(scores, scale, weights=weights).mean for scores in filled)
    return low, high
