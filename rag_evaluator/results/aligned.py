"""Runs brought to the same rows: one score per key and metric, where several rows share a key their mean."""

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


@dataclass(frozen=True)
class Aligned:
    """One run by the keys that all are compared on.

    Attributes:
        keys: of the baseline, those that some other run has, too; in order.
        scores: metric -> the mean score of each key's rows, NaN where none was scored or no row has the key.
        there: which keys the run has.
    """

    run: SavedScores
    matched: Matched
    keys: Sequence[str]
    scores: Mapping[str, Floats]
    there: NDArray[np.bool_]

    def rows(self, place: int) -> list[int]:
        """The rows of the run that have a key."""
        return self.matched.places.get(self.keys[place], [])


def align(runs: Sequence[SavedScores], matched: Sequence[Matched]) -> list[Aligned]:
    """The runs, the baseline first, by the keys of the baseline that another run has."""
    keys = sorted(matched[0].places.keys() & set().union(*(other.places for other in matched[1:])))
    return [_aligned(run, rows, keys) for run, rows in zip(runs, matched, strict=True)]


def _aligned(run: SavedScores, matched: Matched, keys: Sequence[str]) -> Aligned:
    places = [matched.places.get(key, []) for key in keys]
    scores = {
        metric: np.array([_mean([values[place] for place in rows]) for rows in places], dtype=np.float64)
        for metric, values in run.scores.items()
    }
    return Aligned(run, matched, keys, scores, np.array([bool(rows) for rows in places], dtype=np.bool_))


def _mean(values: Sequence[float]) -> float:
    """The mean of what was scored, NaN if nothing was."""
    scored = sorted(value for value in values if value == value)
    return sum(scored) / len(scored) if scored else np.nan


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
    """What a run has in a column, by key: in the first of its rows. Raises `ResultsError` if it has nothing there."""
    require_column(side.run, column, "by which rows are put together")
    values = keys_of(side.run.samples, column)
    return [values[side.rows(place)[0]] for place in range(len(side.keys))]


def groups_of(side: Aligned, column: str) -> dict[str, list[int]]:
    """The places of the keys that share a value of a column, values in order."""
    groups: dict[str, list[int]] = {}
    for place, value in enumerate(column_of(side, column)):
        groups.setdefault(NO_VALUE if value is None else value, []).append(place)
    return dict(sorted(groups.items()))


def weights_of(side: Aligned, column: str) -> Floats:
    """The weights in a column of a run, by key: those of the first of its rows. Raises `ResultsError`."""
    weights = run_weights(side.run, column)
    return np.array([weights[side.rows(place)[0]] for place in range(len(side.keys))], dtype=np.float64)


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
