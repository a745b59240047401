"""Cohen's kappa, plain and weighted, of two ratings a row."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.trust.bootstrap import Statistic, bootstrap_interval, with_pseudo_rows
from rag_evaluator.trust.estimate import Coefficient, undefined
from rag_evaluator.trust.formulas import Array

Weighting = Literal["nominal", "linear", "quadratic"]
Places = NDArray[np.int64]
DISTANCES: Mapping[Weighting, Callable[[Array], Array]] = {
    "nominal": lambda gaps: (gaps > 0).astype(np.float64),
    "linear": lambda gaps: gaps,
    "quadratic": lambda gaps: gaps**2,
}


def cohen_kappa(
    first: Array,
    second: Array,
    weights: Array,
    clusters: Sequence[Hashable] | None = None,
    weighting: Weighting = "nominal",
    level: float = 0.95,
    seed: int = 0,
) -> Coefficient:
    """kappa = 1 - observed / expected disagreement, in [-1, 1] (Cohen 1960; with weights of disagreement Cohen 1968).

    Disagreement of two ratings is 1 (nominal), their distance (linear) or its square (quadratic). Interval:
    `bootstrap_interval`; the pseudo-rows are the lowest rating against the highest, both ways.

    Args:
        first, second: ratings as numbers, none missing.
        weights: how many rows each one speaks for, above 0.
    """
    ratings = np.unique(np.concatenate([first, second]))
    if len(first) < 2 or len(ratings) < 2:
        return undefined("fewer than two rows" if len(first) < 2 else "all ratings are equal", level)
    distances = DISTANCES[weighting](np.abs(ratings[:, None] - ratings))
    sides = with_pseudo_rows(first, second, ratings)
    one, other = (np.asarray(np.searchsorted(ratings, side), dtype=np.int64) for side in sides)
    return bootstrap_interval(_statistic(one, other, distances), weights, clusters, level, seed)


def _statistic(first: Places, second: Places, distances: Array) -> Statistic:
    one, other = (np.eye(len(distances))[places] for places in (first, second))
    apart = distances[first, second]

    def kappas(weights: Array) -> Array:
        expected = np.sum((weights @ one @ distances) * (weights @ other), axis=-1)
        return np.asarray(1 - (weights @ apart) * weights.sum(axis=-1) / expected)

    return kappas
