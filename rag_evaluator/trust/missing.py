"""What missing scores could do to a mean."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from rag_evaluator.trust.scale import Scale
from rag_evaluator.trust.units import make_rows


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
