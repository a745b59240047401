"""Resampling: the Bayesian bootstrap for intervals without a formula, sign flips for tests, and Holm's correction."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.statistics.formulas import TIE, Array, Coefficient, effective_units, undefined

DRAWS = 2_000
AT_ONCE = 4_000_000  # weights in memory at once
PSEUDO = 0.5  # weight of a pseudo-row, in effective rows
METHOD = "bayesian-bootstrap-pseudo-rows"
Statistic = Callable[[Array], Array]


def bootstrap_interval(
    statistic: Statistic, weights: Array, clusters: Sequence[Hashable] | None, level: float, seed: int
) -> Coefficient:
    """Percentile interval of a coefficient over random weights of rows, or of clusters (Rubin 1981).

    Each row (each cluster) counts with an exponential random number times its weight. Unlike rows drawn with
    replacement no draw loses a class, so that the coefficient is always defined. The bootstrap alone would give full
    agreement an interval of zero width. So for the lower end the draws, not the coefficient itself, have two more rows
    of the greatest disagreement, and for the upper end two of the greatest agreement. Each has the weight of `PSEUDO`
    effective rows: a Gamma random number of that shape, as the Dirichlet prior of Jeffreys has for cells that were
    never seen. (With the rows of disagreement for both ends the upper one was too low: of 30 graded labels that follow
    the scores closely, a quadratic kappa was covered in 0.7 of simulations instead of 0.95.) The interval is stretched
    to the coefficient if it does not contain it.

    Args:
        statistic: coefficients for many sets of weights. *Shape:* (draws, rows + 4) -> (draws,); the last columns are
            two rows of disagreement and two of agreement (see `with_pseudo_rows`).
        weights: of the rows, above 0.
        clusters: rows of one cluster have one random number; None: each row has its own.
        level, seed: nominal coverage, and seed of the random weights.
    """
    rng = np.random.default_rng(seed)
    members = cluster_numbers(clusters, len(weights))
    units = effective_units(np.bincount(members, weights=weights) / weights.sum())
    value = float(statistic(np.concatenate([weights, np.zeros(4)])[None, :])[0])
    lows, highs = [], []
    for rows in _batches(len(weights)):
        random = rng.exponential(size=(rows, members.max() + 1))[:, members] * weights
        extra, none = rng.gamma(PSEUDO, size=(rows, 2)) * weights.sum() / units, np.zeros((rows, 2))
        lows.append(statistic(np.concatenate([random, extra, none], axis=1)))
        highs.append(statistic(np.concatenate([random, none, extra], axis=1)))
    low = float(np.quantile(np.concatenate(lows), (1 - level) / 2))
    high = float(np.quantile(np.concatenate(highs), (1 + level) / 2))
    return Coefficient(value, min(low, value), max(high, value), level, METHOD)


def with_pseudo_rows(first: Array, second: Array, both: Array | None = None) -> tuple[Array, Array]:
    """The values of rows and of the pseudo-rows: (lowest, highest), (highest, lowest), both lowest, both highest.

    Lowest and highest are those of each side, or of values that are on one scale with both.
    """
    (low, high), (other_low, other_high) = (
        (values.min(), values.max()) for values in ((first, second) if both is None else (both, both))
    )
    return np.concatenate([first, [low, high, low, high]]), np.concatenate(
        [second, [other_high, other_low, other_low, other_high]]
    )


def _batches(rows: int) -> Iterator[int]:
    """Numbers of draws that are made together."""
    size = max(AT_ONCE // rows, 1)
    return (min(size, DRAWS - start) for start in range(0, DRAWS, size))


def cluster_numbers(clusters: Sequence[Hashable] | None, rows: int) -> NDArray[np.int64]:
    """A number for each row, the same for rows of one cluster; None and NaN are a cluster of their own."""
    if clusters is None:
        return np.arange(rows)
    numbers: dict[Hashable, int] = {}
    keys = [
        ("row", place) if label is None or label != label else ("label", label) for place, label in enumerate(clusters)
    ]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


EXACT = 12  # units that differ, up to which all 2^12 flips are counted
FLIPS = 9_999
FLIPS_AT_ONCE = 256  # flips drawn together: at 10,000 units 20 MB
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
    for metric, (of_unit, has_both) in sums.items():
        moved = of_unit[np.abs(of_unit) > TIE]
        if has_both and len(moved) <= EXACT:
            p_values[metric] = int(_reached(_all_signs(len(moved)) @ moved, moved.sum())) / 2 ** len(moved)
        elif has_both:
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
    has_both = ~np.isnan(differences)
    counted = np.where(has_both & (np.abs(differences) > TIE), differences, 0.0)
    sums = np.bincount(place, weights=counted, minlength=len(names)).astype(np.float64)
    return sums, bool(has_both.any())


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
    for start in range(0, flips, FLIPS_AT_ONCE):
        rows = min(FLIPS_AT_ONCE, flips - start)
        bits = np.unpackbits(rng.integers(0, 256, (rows, -(-units // 8)), dtype=np.uint8), axis=1, count=units)
        reached += _reached(total - 2.0 * (bits.astype(np.float64) @ of_unit), seen)  # a set bit turns the sign
    return reached


def spearman(
    scores: Array,
    labels: Array,
    weights: Array,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Coefficient:
    """Pearson's correlation of mean ranks, in [-1, 1] (Spearman 1904); a row of weight 2 has the rank of two rows.

    Interval: `bootstrap_interval`; the pseudo-rows are the lowest score with the highest label, and the reverse.

    Args:
        scores, labels: none missing.
        weights: how many rows each one speaks for, above 0.
    """
    reason = _undefined(scores, labels=labels)
    if reason:
        return undefined(reason, level)
    sides = [_Ranks(values) for values in with_pseudo_rows(scores, labels)]

    def correlations(weights: Array) -> Array:
        total = weights.sum(axis=-1, keepdims=True)
        x, y = (side.of(weights) - total / 2 for side in sides)  # the weighted mean of ranks is half of the total
        products = (np.sum(weights * left * right, axis=-1) for left, right in ((x, y), (x, x), (y, y)))
        both, first, second = products
        return np.asarray(both / np.sqrt(first * second))

    return bootstrap_interval(correlations, weights, clusters, level, seed)


def kendall_tau_b(
    scores: Array,
    labels: Array,
    weights: Array,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Coefficient:
    """(concordant - discordant) pairs over the geometric mean of pairs untied in each, in [-1, 1] (Kendall 1945).

    A pair of rows counts with the product of their weights. Interval and arguments: as in `spearman`.
    """
    reason = _undefined(scores, labels=labels)
    if reason:
        return undefined(reason, level)
    return bootstrap_interval(_tau_b(*with_pseudo_rows(scores, labels)), weights, clusters, level, seed)


def concordance(
    scores: Array,
    labels: Array,
    weights: Array,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Coefficient:
    """Of pairs of rows with different labels the share whose scores are in the same order; equal scores count half.

    In [0, 1], 0.5 is chance: (1 + d) / 2 with the d of Somers (1962). For labels of two values it is the AUC. A pair
    counts with the product of the weights. Interval and arguments: as in `spearman`.
    """
    reason = _undefined(labels=labels)
    if reason:
        return undefined(reason, level)
    return bootstrap_interval(_concordance(*with_pseudo_rows(scores, labels)), weights, clusters, level, seed)


class _Ranks:
    """Mean ranks of the same values under many sets of weights."""

    def __init__(self, values: Array) -> None:
        self.order = np.argsort(values, kind="stable")
        ordered = values[self.order]
        self.starts = np.searchsorted(ordered, values, side="left")
        self.ends = np.searchsorted(ordered, values, side="right")

    def of(self, weights: Array) -> Array:
        """The weight below each value and half of that at it. *Shape:* (draws, rows) -> (draws, rows)."""
        sums = np.cumsum(weights[:, self.order], axis=1)
        below = np.concatenate([np.zeros((len(weights), 1)), sums], axis=1)
        return np.asarray((below[:, self.starts] + below[:, self.ends]) / 2)

    def untied(self, weights: Array) -> Array:
        """Weight of the ordered pairs whose values differ."""
        firsts = np.unique(self.starts)
        sums = np.add.reduceat(weights[:, self.order], firsts, axis=1)
        return np.asarray(weights.sum(axis=1) ** 2 - np.sum(sums**2, axis=1))


def _tau_b(scores: Array, labels: Array) -> Statistic:
    pairs = _Pairs(scores, labels)

    def taus(weights: Array) -> Array:
        net, first, second = pairs.of(weights)
        return np.asarray(net / np.sqrt(first * second))

    return taus


def _concordance(scores: Array, labels: Array) -> Statistic:
    pairs = _Pairs(scores, labels)

    def shares(weights: Array) -> Array:
        net, _, untied = pairs.of(weights)
        return np.asarray((1 + net / untied) / 2)

    return shares


class _Pairs:
    """Pairs of rows. Rows that are equal in both are joined first: grades take few values, and pairs are many."""

    def __init__(self, scores: Array, labels: Array) -> None:
        joined, groups = np.unique(np.stack([scores, labels]), axis=1, return_inverse=True)
        self.order = np.argsort(groups.ravel(), kind="stable")
        self.starts = np.searchsorted(groups.ravel()[self.order], np.arange(joined.shape[1]))
        self.signs = np.prod(np.sign(joined[:, :, None] - joined[:, None, :]), axis=0)
        self.sides = [_Ranks(values) for values in joined]

    def of(self, weights: Array) -> tuple[Array, Array, Array]:
        """Weight of ordered pairs: concordant less discordant, untied in the scores, untied in the labels."""
        sums = np.add.reduceat(weights[:, self.order], self.starts, axis=1)
        scores, labels = (side.untied(sums) for side in self.sides)
        return np.sum((sums @ self.signs) * sums, axis=1), scores, labels


def _undefined(scores: Array | None = None, *, labels: Array) -> str | None:
    if len(labels) < 2:
        return "fewer than two rows"
    for name, values in (("labels", labels), ("scores", scores)):
        if values is not None and np.ptp(values) == 0:
            return f"all {name} are equal"
    return None
