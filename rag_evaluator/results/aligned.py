"""Runs brought to the same keys: all rows of a key count, each with the weight that the baseline gives it.

The weight of a row, its cluster and its group are those of the baseline, whatever the other run says of them. A row
counts so many times as much as a row of weight 1, so that a key counts as much as its rows together; its score is the
weighted mean of the rows that have one. No figure depends on the order of rows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.errors import ResultsError
from rag_evaluator.results.comparison import RowMatch
from rag_evaluator.results.matching import Matched, keys_of, nothing_in_common, require_column
from rag_evaluator.results.reporting import NO_VALUE
from rag_evaluator.results.saved import SavedScores, run_weights
from rag_evaluator.trust.comparison import Paired
from rag_evaluator.trust.permutation import Floats
from rag_evaluator.trust.scale import Scale

APART = "Match rows by a column in which they differ, with --on (on= in Python)."


@dataclass(frozen=True)
class Aligned:
    """One run by the keys that all are compared on.

    Attributes:
        keys: of the baseline, in order; those that no other run has only where these were asked for.
        weights: of each row of the run, as the baseline counts it.
        scores: metric -> the mean score of each key's rows, NaN where none was scored or no row has the key.
        there: which keys the run has.
    """

    run: SavedScores
    matched: Matched
    keys: Sequence[str]
    weights: Sequence[float]
    scores: Mapping[str, Floats]
    there: NDArray[np.bool_]

    def rows(self, place: int) -> list[int]:
        """The rows of the run that have a key."""
        return self.matched.places.get(self.keys[place], [])


def align(
    runs: Sequence[SavedScores], matched: Sequence[Matched], weight: str | None = None, whole: bool = False
) -> list[Aligned]:
    """The runs, the baseline first, by the keys of the baseline.

    Args:
        weight: the column of the baseline that says how much its rows count.
        whole: also by keys that no other run has.

    Raises `ResultsError` for rows of which nobody knows how much they count.
    """
    keys = set(matched[0].places)
    if not whole:
        keys &= set().union(*(other.places for other in matched[1:]))
    own = run_weights(runs[0], weight) if weight else [1.0] * len(runs[0].samples)
    weights = [own, *(_weights_in(runs[0], matched[0], own, *other, weight) for other in _others(runs, matched))]
    return [_aligned(*side, sorted(keys)) for side in zip(runs, matched, weights, strict=True)]


def _others(runs: Sequence[SavedScores], matched: Sequence[Matched]) -> list[tuple[SavedScores, Matched]]:
    return list(zip(runs[1:], matched[1:], strict=True))


def _weights_in(
    baseline: SavedScores,
    matched: Matched,
    weights: Sequence[float],
    run: SavedScores,
    rows: Matched,
    column: str | None,
) -> list[float]:
    """The weight of each row of another run: that of the baseline's rows with its key, else the mean weight there."""
    found = [math.fsum(weights) / len(weights)] * len(run.samples)
    by_key = {key: {weights[place] for place in matched.places.get(key, ())} for key in rows.places}
    own = run_weights(run, column) if column and any(len(known) > 1 for known in by_key.values()) else []
    for key, places in rows.places.items():
        known = by_key[key]
        for place in places if known else ():
            weight = min(known) if len(known) == 1 else own[place]
            if weight not in known:
                raise ResultsError(
                    f"{run.name}, {run.samples[place].where}: '{column}' is {weight:g}, and the rows of '{key:.60}' in "
                    f"{baseline.name} have {', '.join(f'{each:g}' for each in sorted(known))}: which of them it "
                    f"belongs to is not known. {APART}"
                )
            found[place] = weight
    return found


def _aligned(run: SavedScores, matched: Matched, weights: Sequence[float], keys: Sequence[str]) -> Aligned:
    places = [matched.places.get(key, []) for key in keys]
    scores = {
        metric: np.array([_mean([(values[place], weights[place]) for place in rows]) for rows in places], np.float64)
        for metric, values in run.scores.items()
    }
    there = np.array([bool(rows) for rows in places], dtype=np.bool_)
    return Aligned(run, matched, keys, weights, scores, there)


def _mean(values: Sequence[tuple[float, float]]) -> float:
    """The weighted mean of what was scored, NaN if nothing was; of rows that count nothing the plain mean."""
    scored = [(value, weight) for value, weight in values if value == value]
    if len({weight for _, weight in scored}) <= 1:
        return math.fsum(value for value, _ in scored) / len(scored) if scored else np.nan
    return math.fsum(value * weight for value, weight in scored) / math.fsum(weight for _, weight in scored)


def paired(a: Aligned, b: Aligned, metric: str, scale: Scale) -> Paired:
    """The scores of both sides, in the metric's range.

    A row of the baseline that the other side does not have is no missing score.
    """
    first, second = (np.clip(side.scores[metric], scale.low, scale.high) for side in (a, b))
    return Paired(metric, np.where(b.there, first, np.nan), second, scale)


def row_match(a: Aligned, b: Aligned) -> RowMatch:
    """How many rows of both have a partner."""
    common = a.matched.places.keys() & b.matched.places.keys()
    unmatched_a, unmatched_b = (
        side.matched.without + sum(len(rows) for key, rows in side.matched.places.items() if key not in common)
        for side in (a, b)
    )
    repeated = sum(len(a.matched.places[key]) > 1 or len(b.matched.places[key]) > 1 for key in common)
    return RowMatch(b.run.name, len(common), unmatched_a, unmatched_b, repeated)


def column_of(side: Aligned, column: str) -> list[str | None]:
    """What a run has in a column, by key; None for a key that it does not have.

    Raises `ResultsError` if it has nothing there, or if the rows of a key differ.
    """
    require_column(side.run, column, "by which rows are put together")
    values = keys_of(side.run.samples, column)
    return [_only(side, column, key, {values[row] for row in side.matched.places.get(key, ())}) for key in side.keys]


def _only(side: Aligned, column: str, key: str, values: set[str | None]) -> str | None:
    if len(values) > 1:
        listed = ", ".join(sorted("nothing" if value is None else f"'{value:.30}'" for value in values)[:3])
        raise ResultsError(
            f"{side.run.name}: the rows of '{key:.60}' differ in '{column}' ({listed}), so that nobody knows to "
            f"which of these they belong. {APART}"
        )
    return next(iter(values), None)


def groups_of(side: Aligned, column: str) -> dict[str, list[int]]:
    """The places of the keys that share a value of a column, values in order."""
    groups: dict[str, list[int]] = {}
    for place, value in enumerate(column_of(side, column)):
        groups.setdefault(NO_VALUE if value is None else value, []).append(place)
    return dict(sorted(groups.items()))


def weights_of(baseline: Aligned) -> Floats | None:
    """How much each key counts: as much as its rows together; None if all count the same."""
    places = range(len(baseline.keys))
    weights = np.array([math.fsum(baseline.weights[row] for row in baseline.rows(place)) for place in places])
    return weights if len(weights) and np.ptp(weights) > 0 else None


def common_metrics(a: Aligned, b: Aligned, on: str) -> list[str]:
    """The metrics that both sides have. Raises `ResultsError` where there is nothing to compare."""
    if not b.there.any():
        raise nothing_in_common(a.run, b.run, on)
    metrics = [metric for metric in a.scores if metric in b.scores]
    if not metrics:
        raise ResultsError(
            f"{a.run.name} and {b.run.name} have no metric in common: {', '.join(a.scores)} against "
            f"{', '.join(b.scores)}. Score both with one metric at least."
        )
    return metrics
