"""What a number of rows can show: the smallest difference, and the rows that an effect needs."""

import math
from typing import Any

import numpy as np

from rag_evaluator.trust.scale import TIE

ALPHA, POWER = 0.05, 0.8
FEW = 12  # pairs up to which each number is tried: the solver fails for an effect that is large against the spread


def smallest_difference(
    std: float | None, n: int, design_effect: float = 1.0, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """The true mean difference that a two-sided paired t test of n rows finds with this power.

    With `TTestPower` of statsmodels. In the metric's units; None where the spread of the differences is not known: with
    fewer than two rows, or when no row differs from the others.

    Args:
        std: standard deviation of the differences.
        design_effect: how many rows of clusters tell as much as one independent row.
    """
    from statsmodels.stats.power import TTestPower

    independent = n / design_effect
    if std is None or std <= TIE or independent < 2:
        return None
    return _number(TTestPower().solve_power(nobs=independent, alpha=alpha, power=power)) * std


def rows_needed(
    std: float | None, effect: float, design_effect: float = 1.0, alpha: float = ALPHA, power: float = POWER
) -> int | None:
    """The rows with which a true mean difference of `effect` is found with this power; None as above."""
    from statsmodels.stats.power import TTestPower

    if std is None or std <= TIE:
        return None
    test, size = TTestPower(), effect / std
    few = (pairs for pairs in range(2, FEW) if not test.power(size, pairs, alpha) < power)  # NaN: beyond any doubt
    independent = next(few, None) or _number(test.solve_power(effect_size=size, alpha=alpha, power=power))
    return math.ceil(independent * design_effect)


def _number(found: Any) -> float:
    """What the solver gives: a number or an array of one (Any); of an effect, its size in either direction."""
    return abs(float(np.asarray(found).item()))
