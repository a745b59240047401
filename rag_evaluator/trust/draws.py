"""Which rows people label: draws at random, with the probability of each row to be drawn."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rag_evaluator.trust.formulas import Array
from rag_evaluator.trust.labelled import LEAST_OF_STRATUM

STRATA = 4
Places = NDArray[np.int64]


class Draw(NamedTuple):
    """Rows drawn from all rows of a run.

    Attributes:
        rows: places of the rows, in the random order in which they are shown.
        probabilities: of every row of the run, that it is drawn; above 0, at most 1.
        strata: of every row of the run, the number of its stratum. Unscored rows are a stratum of their own, the last.
    """

    rows: Places
    probabilities: Array
    strata: Places


def draw_uniform(scores: ArrayLike, size: int, seed: int = 0) -> Draw:
    """Each row with nearly the same probability: as many of the scored and of the unscored rows as their share is.

    Args:
        scores: of all rows; NaN: no score.
        size: rows to draw. All rows are drawn if there are no more. A group of rows gets `LEAST_OF_STRATUM` at least, so
            that more rows may be drawn than the size if it is very small.
    """
    return _draw(_is_missing(scores).astype(np.int64), size, seed)


def draw_stratified(scores: ArrayLike, size: int, seed: int = 0, strata: int = STRATA) -> Draw:
    """From each of up to `strata` groups of similar scores as many rows as its share is; the rest as `draw_uniform`."""
    return _draw(score_strata(scores, strata), size, seed)


def draw_uncertain(scores: ArrayLike, uncertainty: ArrayLike, size: int, seed: int = 0) -> Draw:
    """Half of the probability uniform, half in proportion to the uncertainty, so that every row can be drawn.

    Probabilities are at most 1: what is above goes to the other rows. The draw is systematic along a random order of
    rows (Madow 1949), which keeps the size and each probability exactly. Unscored rows are drawn uniformly.

    Args:
        scores, size: as in `draw_uniform`.
        uncertainty: a finite number >= 0 a row, in any unit; that of unscored rows does not count.
    """
    missing = _is_missing(scores)
    doubts = np.asarray(uncertainty, dtype=np.float64)
    if not np.all(missing | (np.isfinite(doubts) & (doubts >= 0))):
        raise ValueError("uncertainty must be a finite number of at least 0 for every row with a score")
    return _draw(missing.astype(np.int64), size, seed, np.where(missing, 0.0, doubts))


def score_strata(scores: ArrayLike, strata: int = STRATA) -> Places:
    """Groups of rows of similar scores, of about equal size; rows of equal scores are in one group, NaN in the last."""
    numbers = np.asarray(scores, dtype=np.float64)
    known = np.sort(numbers[~np.isnan(numbers)])
    cuts = np.unique([known[edge] for part in range(1, strata) for edge in _edge(known, part / strata)])
    groups = np.where(np.isnan(numbers), strata, np.searchsorted(cuts, numbers, side="right"))
    return np.asarray(np.unique(groups, return_inverse=True)[1], dtype=np.int64)


def inclusion_probabilities(uncertainty: ArrayLike, size: int) -> Array:
    """Of each row: half of `size` uniform, half in proportion to the uncertainty; at most 1, their sum is `size`."""
    doubts = np.asarray(uncertainty, dtype=np.float64)
    total = doubts.sum()
    shares = 0.5 / len(doubts) + (0.5 * doubts / total if total > 0 else 0.5 / len(doubts))
    certain = np.zeros(len(doubts), dtype=bool)
    while True:
        free = np.where(certain, 0.0, shares)
        chances = np.where(certain, 1.0, (size - certain.sum()) * free / max(free.sum(), 1e-300))
        over = ~certain & (chances > 1 - 1e-12)
        if not over.any():
            return chances
        certain |= over


def allocate(sizes: Places, size: int) -> Places:
    """Rows to draw from each stratum: its share of `size`, rounded by largest remainders, `LEAST_OF_STRATUM` at least."""
    exact = min(size, int(sizes.sum())) * sizes / sizes.sum()
    drawn: Places = np.minimum(np.maximum(np.floor(exact).astype(np.int64), LEAST_OF_STRATUM), sizes)
    while drawn.sum() < exact.sum() - 0.5:
        drawn[np.argmax(np.where(drawn < sizes, exact - drawn, -np.inf))] += 1
    while drawn.sum() > exact.sum() + 0.5 and np.any(drawn > LEAST_OF_STRATUM):
        drawn[np.argmax(np.where(drawn > LEAST_OF_STRATUM, drawn - exact, -np.inf))] -= 1
    return drawn


def _edge(known: Array, share: float) -> list[int]:
    """The place where a new value begins that is nearest to a share of the sorted scores; none if all are equal."""
    starts = 1 + np.flatnonzero(np.diff(known) > 0)
    return [int(starts[np.argmin(np.abs(starts - share * len(known)))])] if len(starts) else []


def _is_missing(scores: ArrayLike) -> NDArray[np.bool_]:
    return np.asarray(np.isnan(np.asarray(scores, dtype=np.float64)))


def _draw(groups: Places, size: int, seed: int, uncertainty: Array | None = None) -> Draw:
    rng = np.random.default_rng(seed)
    strata = np.asarray(np.unique(groups, return_inverse=True)[1], dtype=np.int64)
    probabilities = np.ones(len(strata))
    rows = [np.empty(0, dtype=np.int64)]
    for stratum, count in enumerate(allocate(np.bincount(strata), size) if len(strata) else []):
        members = np.flatnonzero(strata == stratum)
        doubts = np.zeros(len(members)) if uncertainty is None else uncertainty[members]
        probabilities[members] = inclusion_probabilities(doubts, int(count))
        rows.append(members[_systematic(probabilities[members], int(count), rng)])
    return Draw(rng.permutation(np.concatenate(rows)), probabilities, strata)


def _systematic(probabilities: Array, count: int, rng: np.random.Generator) -> Places:
    """Places of `count` rows: steps of 1 from a random start along the summed probabilities, in random order."""
    order = rng.permutation(len(probabilities))
    ends = np.cumsum(probabilities[order])
    steps = np.arange(count) + rng.random()
    places = np.minimum(np.searchsorted(ends, steps, side="right"), len(order) - 1)
    return np.asarray(order[places], dtype=np.int64)
