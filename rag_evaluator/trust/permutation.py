"""The paired sign-flip permutation test, and p-values of several tests at once."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.trust.scale import TIE

EXACT = 12  # units that differ, up to which all 2^12 flips are counted
FLIPS = 9_999
AT_ONCE = 256  # flips drawn together: at 10,000 units 20 MB
Floats = NDArray[np.float64]


def sign_flip_p_values(
    differences: Mapping[Any, Sequence[float] | Floats], units: Sequence[str], seed: int = 0, flips: int = FLIPS
) -> dict[Any, float | None]:
    """Two-sided p-values of paired differences, one per metric.

    Under the null hypothesis the two runs are exchangeable: each difference might as well have the other sign. The
    statistic is the sum of the differences. The test is about exchangeability, not about a mean of zero: differences of
    -1 in a tenth of the rows and +1/9 in the others have the mean zero, and it rejects more often than its level.

    Args:
        differences: metric (any key) -> one difference per row, NaN where a score is missing.
        units: per row what it belongs to: its own key, or that of its cluster. Rows of a unit change their sign
            together. The result does not depend on the order of rows, but on the order of these names.
        seed: of the random flips.
        flips: random flips where more than `EXACT` units differ; p is then (b + 1) / (flips + 1), where b of them are
            at least as far from zero (Phipson and Smyth 2010). Fewer units: all flips, the exact p-value.

    Differences of at most 1e-6 are ties, and sums that differ by no more are equal. None where no row has a difference.
    """
    sums = {metric: _sum_by_unit(np.asarray(values, float), units) for metric, values in differences.items()}
    p_values: dict[Any, float | None] = dict.fromkeys(sums)
    drawn: dict[Any, Floats] = {}
    for metric, (of_unit, there) in sums.items():
        moved = of_unit[np.abs(of_unit) > TIE]
        if there and len(moved) <= EXACT:
            p_values[metric] = int(_reached(_all_signs(len(moved)) @ moved, moved.sum())) / 2 ** len(moved)
        elif there:
            drawn[metric] = of_unit
    if drawn:
        reached = _reached_at_random(np.stack(list(drawn.values()), axis=1), seed, flips)
        p_values |= {metric: (int(b) + 1) / (flips + 1) for metric, b in zip(drawn, reached, strict=True)}
    return p_values


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values of a family of tests, adjusted so that they hold together (Holm 1979); None stays, and does not count.

    With `multipletests(method="holm")` of statsmodels.
    """
    from statsmodels.stats.multitest import multipletests

    tested = [p for p in p_values if p is not None]
    adjusted = iter(multipletests(tested, method="holm")[1] if tested else ())
    return [None if p is None else float(next(adjusted)) for p in p_values]


def _sum_by_unit(differences: Floats, units: Sequence[str]) -> tuple[Floats, bool]:
    """The sum of each unit's differences, units in the order of their names; and whether there is any difference."""
    names, place = np.unique(np.asarray(units, dtype=object), return_inverse=True)
    there = ~np.isnan(differences)
    counted = np.where(there & (np.abs(differences) > TIE), differences, 0.0)
    sums = np.bincount(place, weights=counted, minlength=len(names)).astype(np.float64)
    return sums, bool(there.any())


def _all_signs(count: int) -> NDArray[Any]:
    """Every choice of signs. *Shape:* (2^count, count)."""
    choices = np.arange(2**count)[:, None] >> np.arange(count)
    return 1.0 - 2.0 * (choices & 1)


def _reached(sums: Floats, seen: Floats | float) -> Any:
    """How many sums are at least as far from zero as the one that was seen. Any: an integer, or one per metric."""
    return np.count_nonzero(np.abs(sums) >= np.abs(seen) - TIE, axis=0)


def _reached_at_random(of_unit: Floats, seed: int, flips: int) -> NDArray[np.int64]:
    """The same per metric, with signs that all metrics share. *Shape:* of_unit (units, metrics)."""
    rng, units = np.random.default_rng(seed), len(of_unit)
    seen, total = of_unit.sum(axis=0), of_unit.sum(axis=0)
    reached = np.zeros(of_unit.shape[1], dtype=np.int64)
    for start in range(0, flips, AT_ONCE):
        rows = min(AT_ONCE, flips - start)
        bits = np.unpackbits(rng.integers(0, 256, (rows, -(-units // 8)), dtype=np.uint8), axis=1, count=units)
        reached += _reached(total - 2.0 * (bits.astype(np.float64) @ of_unit), seen)  # a set bit turns the sign
    return reached
