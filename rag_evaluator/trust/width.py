"""How many rows an interval of a given width needs."""

import numpy as np
from numpy.typing import ArrayLike

from rag_evaluator.trust.intervals import mean_interval
from rag_evaluator.trust.scale import Scale

MOST_ROWS = 100_000
FEWEST = 2  # rows; one has the whole range


def rows_for_interval(values: ArrayLike, scale: Scale, half_width: float, level: float = 0.95) -> int | None:
    """The rows with which `mean_interval` is at most `half_width` to either side, if scores vary as these do.

    Scores of n rows are taken from the given ones, evenly over their order of size, so that each n has the same method
    and nearly the same spread. It is an estimate: the spread of few scores is known badly.

    Args:
        values: scores of some rows; NaN: missing.
        half_width: half of high - low, in units of the metric.
        level: nominal coverage.

    Returns:
        None with fewer than two scores, or where more than `MOST_ROWS` rows were needed.
    """
    numbers = np.asarray(values, dtype=np.float64)
    known = np.sort(numbers[~np.isnan(numbers)])
    if len(known) < FEWEST:
        return None

    def is_enough(rows: int) -> bool:
        spread = known[((np.arange(rows) + 0.5) * len(known) / rows).astype(int)]
        found = mean_interval(spread, scale, level)
        assert found.ci_low is not None
        assert found.ci_high is not None
        return found.ci_high - found.ci_low <= 2 * half_width

    low, high = FEWEST - 1, FEWEST
    while not is_enough(high):
        low, high = high, 2 * high
        if low == MOST_ROWS:
            return None
        high = min(high, MOST_ROWS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
