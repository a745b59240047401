"""Paired comparison of two runs' scores over the same rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag_evaluator.trust.estimate import Estimate
from rag_evaluator.trust.intervals import difference_interval, difference_p_value
from rag_evaluator.trust.permutation import Floats, holm
from rag_evaluator.trust.power import rows_needed, smallest_difference
from rag_evaluator.trust.scale import TIE, Scale

EFFECT = 0.05  # a difference worth finding, in units of a metric


@dataclass(frozen=True)
class Paired:
    """The scores of a metric in two runs: a number per row, NaN where there is none."""

    metric: str
    a: Floats
    b: Floats
    scale: Scale


@dataclass(frozen=True)
class MetricComparison:
    """A metric in two runs. Rows that only one side scored do not count, but for `only_a` and `only_b`.

    Attributes:
        mean_a, mean_b: of the rows that both sides scored; None if there are none.
        difference: b minus a, row by row, with its interval.
        p: of the test that the interval of the difference belongs to: below 1 - level exactly where that excludes 0;
            None if it was not made. `p_holm` holds for all tests of the table together.
        wins, ties, losses: rows in which b is better than, equal to, worse than a.
        smallest_difference: that this many rows find with a power of 0.8; None where rows do not differ at all.
        rows_needed: to find the effect that was asked for.
        only_a, only_b: rows that only this side scored.
    """

    metric: str
    scale: Scale
    mean_a: float | None
    mean_b: float | None
    difference: Estimate
    p: float | None
    p_holm: float | None
    wins: int
    ties: int
    losses: int
    smallest_difference: float | None
    rows_needed: int | None
    only_a: int
    only_b: int


def compare_scores(
    pairs: Sequence[Paired],
    clusters: Sequence[str | None] | None = None,
    weights: Floats | None = None,
    effect: float = EFFECT,
    level: float = 0.95,
    tested: bool = True,
) -> list[MetricComparison]:
    """Each pair compared, over the same rows in any order; the p-values are adjusted for all of them together.

    Args:
        clusters: rows of one cluster depend on each other; None: each row stands for itself.
        weights: how much each row counts in means, intervals and tests; wins, ties and losses are counted as they are.
        tested: whether p-values are wanted.
    """
    differences = [pair.b - pair.a for pair in pairs]
    counted = np.ones(len(differences[0]) if differences else 0) if weights is None else weights
    compared = [
        _described(pair, values, difference_interval(values, pair.scale, level, clusters, weights), counted, effect)
        for pair, values in zip(pairs, differences, strict=True)
    ]
    own = [
        difference_p_value(values, pair.scale, clusters, weights) if tested else None
        for pair, values in zip(pairs, differences, strict=True)
    ]
    return [replace(row, p=p, p_holm=adjusted) for row, p, adjusted in zip(compared, own, holm(own), strict=True)]


def _described(
    pair: Paired, differences: Floats, difference: Estimate, weights: Floats, effect: float
) -> MetricComparison:
    a, b, both = pair.a, pair.b, ~np.isnan(differences)
    gains = differences[both] if pair.scale.better == "higher" else -differences[both]
    design = _design_effect(difference)
    spread = None if difference.stderr is None else difference.std  # one cluster says nothing of others
    return MetricComparison(
        metric=pair.metric,
        scale=pair.scale,
        mean_a=_mean(a[both], weights[both]),
        mean_b=_mean(b[both], weights[both]),
        difference=difference,
        p=None,
        p_holm=None,
        wins=int(np.count_nonzero(gains > TIE)),
        ties=int(np.count_nonzero(np.abs(gains) <= TIE)),
        losses=int(np.count_nonzero(gains < -TIE)),
        smallest_difference=smallest_difference(spread, difference.n, design),
        rows_needed=rows_needed(spread, effect, design),
        only_a=int(np.count_nonzero(~np.isnan(a) & np.isnan(b))),
        only_b=int(np.count_nonzero(np.isnan(a) & ~np.isnan(b))),
    )


def _mean(values: Floats, weights: Floats) -> float | None:
    total = math.fsum(weights)
    return math.fsum(values * weights) / total if total else None


def _design_effect(estimate: Estimate) -> float:
    """How many rows of these clusters tell as much as one independent row (Kish 1965); 1 without clusters."""
    if not estimate.std or not estimate.stderr:
        return 1.0
    return estimate.n * (estimate.stderr / estimate.std) ** 2
