"""Intervals of coefficients that have no formula for weights and clusters: the Bayesian bootstrap."""

from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.trust.estimate import Coefficient
from rag_evaluator.trust.formulas import Array, effective_units

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
