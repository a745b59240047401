"""Means, mean differences and pass rates with an interval for what the rows are a sample of."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rag_evaluator.trust.formulas import (
    Bounds,
    Units,
    difference_bounds,
    difference_p,
    mean_bounds,
    mean_points,
    moments,
)
from rag_evaluator.trust.scale import TIE, Estimate, Scale
from rag_evaluator.trust.units import Rows, has_one_unit, make_rows

NO_SCORE, ONE_SCORE = "none: no scores", "range: one score"
ONE_CLUSTER, ONE_WEIGHT = "range: one cluster", "range: one has nearly all the weight"
STUDENT = "student-t"
TIED = (
    "Student's t, which made the interval, may make it too narrow where scores pile up; for a metric of your own set "
    "kind: judged, for others read the pass rate of a threshold"
)
PASS = Scale(0.0, 1.0, "judged", "higher")  # a pass is 1, a failure 0


class Statistic(NamedTuple):
    """What an interval is for.

    Attributes:
        bounds: the formula.
        points: those of its units.
        judged, atoms: names of its method for judged scores, and for those of metrics with atoms.
    """

    bounds: Callable[[Units, Scale, float], Bounds]
    points: Callable[[Scale], tuple[float, ...]]
    judged: str
    atoms: str


MEAN = Statistic(mean_bounds, mean_points, "wilson-effective-n", "two-part-wilson-t")
DIFFERENCE = Statistic(difference_bounds, lambda scale: (0.0,), *["student-t-pseudo-pairs"] * 2)


def mean_interval(
    values: ArrayLike,
    scale: Scale,
    level: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
    weights: ArrayLike | None = None,
) -> Estimate:
    """The mean score with its interval.

    `judged`: Wilson's interval with an effective number of rows, "wilson-effective-n". `continuous`: Student's t cut to
    the range, "student-t"; if all values are equal that has no width, so that the judged method is used. A scale with
    atoms: Wilson's interval for the rows at them and Student's t for the others, "two-part-wilson-t". One row or one
    cluster: the whole range. Formulas and sources: `trust.formulas`; a worked example: docs/statistics.md.

    Args:
        values: a score a row, clipped to the range. NaN or None: missing, the row does not count.
        scale: range and kind of the scores.
        level: nominal coverage.
        clusters: a label a row. Rows with one label may depend on each other, clusters may not. None, NaN: a cluster of
            its own.
        weights: a finite number >= 0 a row; only their ratios matter. A row of weight 0 does not count.

    Returns:
        The same to the last bit for any order of rows and any labels of the clusters.

    Raises:
        ValueError: if lengths differ, or level or weights are not as described.
    """
    clipped = np.clip(np.asarray(values, dtype=np.float64), scale.low, scale.high)
    rows = make_rows(clipped, clusters, weights)
    return _estimate(rows, scale, (scale.low, scale.high), level, MEAN)


def difference_interval(
    differences: ArrayLike,
    scale: Scale,
    level: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
    weights: ArrayLike | None = None,
) -> Estimate:
    """The mean of paired differences with its interval; ties of at most `TIE` count as 0.

    `judged`, or a scale with atoms: Student's t of the differences and one pseudo-pair at each end,
    "student-t-pseudo-pairs". `continuous`: Student's t, or the judged method if all differences are equal. Both are cut
    to the range of differences, which is -(high - low) to high - low. `scale` is that of the scores; the rest is as in
    `mean_interval`.
    """
    rows = _difference_rows(differences, scale, clusters, weights)
    return _estimate(rows, scale, (-scale.width, scale.width), level, DIFFERENCE)


def tie_warning(values: ArrayLike, scale: Scale, estimate: Estimate, weights: ArrayLike | None = None) -> str | None:
    """That Student's t made an interval though two or more scores are exactly at one end of the range; None: not so.

    Scores that pile up there are a mass, of which Student's t knows nothing; which metrics have one by construction,
    their `atoms` say. Without them it covered 0.60 to 0.92 (benchmarks/intervals.md).

    Args:
        values, weights: of the rows, as for `mean_interval`.
        estimate: the mean of the rows, or their difference from others.
    """
    if estimate.ci_method.partition(", ")[0] != STUDENT:
        return None
    scores = make_rows(np.clip(np.asarray(values, dtype=np.float64), scale.low, scale.high), None, weights).values
    counts = ((end, int(np.sum(np.abs(scores - end) <= TIE))) for end in (scale.low, scale.high))
    tied = " and ".join(f"{count} are exactly {end:g}" for end, count in counts if count > 1)
    return f"of {len(scores)} scores {tied}: {TIED}" if tied else None


def difference_p_value(
    differences: ArrayLike,
    scale: Scale,
    clusters: Sequence[Hashable] | None = None,
    weights: ArrayLike | None = None,
) -> float | None:
    """Two-sided p-value of a mean difference of 0: below 0.05 exactly where the 95 % interval of `difference_interval`
    excludes 0, and so for any level. 1 with one row or one cluster, None without a row that counts."""
    rows = _difference_rows(differences, scale, clusters, weights)
    if not len(rows.values):
        return None
    units = rows.units(DIFFERENCE.points(scale))
    return 1.0 if has_one_unit(units.shares) else float(difference_p(units, scale))


def _difference_rows(
    differences: ArrayLike, scale: Scale, clusters: Sequence[Hashable] | None, weights: ArrayLike | None
) -> Rows:
    numbers = np.asarray(differences, dtype=np.float64)
    numbers = np.clip(np.where(np.abs(numbers) <= TIE, 0.0, numbers), -scale.width, scale.width)
    return make_rows(numbers, clusters, weights)


def pass_rate(
    values: ArrayLike,
    threshold: float,
    scale: Scale,
    level: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
    weights: ArrayLike | None = None,
) -> Estimate:
    """The share of scores that reach the threshold, with its interval: `mean_interval` of 1 (pass) and 0.

    A score passes if it is at least the threshold, or at most if lower scores are better; `TIE` is allowed for. Missing
    scores neither pass nor fail.
    """
    numbers = np.asarray(values, dtype=np.float64)
    above = numbers - threshold if scale.better == "higher" else threshold - numbers
    passes = np.where(np.isnan(numbers), np.nan, above >= -TIE)
    return mean_interval(passes, PASS, level, clusters, weights)


def _estimate(rows: Rows, scale: Scale, ends: tuple[float, float], level: float, statistic: Statistic) -> Estimate:
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; it must lie between 0 and 1, such as 0.95")
    n = len(rows.values)
    if n == 0:
        return Estimate(0, None, None, None, None, None, None, level, NO_SCORE)
    described = partial(Estimate, n=n, mean=rows.mean, median=rows.median, std=rows.std, ci_level=level)
    units = rows.units(statistic.points(scale))
    if has_one_unit(units.shares):
        why = ONE_WEIGHT if len(units.shares) > 1 else ONE_SCORE if n == 1 else ONE_CLUSTER
        return described(stderr=None, ci_low=ends[0], ci_high=ends[1], ci_method=why)
    low, high, judged = statistic.bounds(units, scale, level)
    interval = statistic.atoms if scale.atoms else statistic.judged
    return described(
        stderr=float(np.sqrt(moments(units.shares, units.values)[1])),
        ci_low=min(float(low), rows.mean),
        ci_high=max(float(high), rows.mean),
        ci_method=_method(interval if judged else STUDENT, rows),
    )


def _method(name: str, rows: Rows) -> str:
    parts = {name: True, "clustered": rows.clusters is not None, "weighted": rows.weighted}
    return ", ".join(part for part, shown in parts.items() if shown)
