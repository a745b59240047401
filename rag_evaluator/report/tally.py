"""`Tally`: the numbers that charts are made of, from one pass over the rows; no text of a row is kept."""

import math
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.dataset import ALIASES, Sample
from rag_evaluator.dataset.columns import accepted_names
from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.results.figures import RowFacts
from rag_evaluator.results.reporting import cluster_of, reporting_of, weight_of
from rag_evaluator.trust.estimate import Estimate
from rag_evaluator.trust.intervals import mean_interval
from rag_evaluator.trust.scale import TIE, Scale

Floats = NDArray[np.float64]
LEAST = 5  # rows in a bin of lengths
BINS = 5


@dataclass(frozen=True, eq=False)
class Tally:
    """The rows of a run as numbers.

    Attributes:
        scores: metric -> a number per row, NaN where it is missing.
        lengths: characters of each response; NaN where there is none.
        facts: clusters and weights of the rows.
        level: of intervals.
    """

    scores: Mapping[str, Floats]
    lengths: Floats
    facts: RowFacts
    level: float

    def mean(self, metric: str, places: Sequence[int], scale: Scale) -> Estimate:
        """The mean score of some rows with its interval."""
        facts = self.facts.of(places)
        return mean_interval(self.scores[metric][places], scale, self.level, facts.clusters, facts.weights)


def tally(run: RunFiles) -> Tally:
    """What a run's rows come to. Raises `ResultsError` if its files cannot be read."""
    reporting, mapping = reporting_of(run.manifest), run.config.get("columns") or {}
    scores = {metric: array("d") for metric in run.metrics}
    lengths, weights, clusters = array("d"), array("d"), array("q")
    numbers: dict[str, int] = {}  # of a cluster, by its name
    read = [name for name in ALIASES if name in ("response", reporting.cluster)]
    for place, row in enumerate(run.rows()):
        for metric, values in scores.items():
            values.append(as_number(row.get(metric)))
        columns = {name: cell(row, name, mapping) for name in read}
        response, sample = columns["response"], Sample(place, row, columns, f"row {place}")
        lengths.append(len(response) if isinstance(response, str) else math.nan)
        weights.append(weight_of(sample, reporting.weight))
        key = cluster_of(sample, reporting)
        clusters.append(-place - 1 if key is None else numbers.setdefault(key, len(numbers)))
    facts = RowFacts(clusters if reporting.cluster else None, weights if reporting.weight else None)
    arrays = {metric: np.array(values) for metric, values in scores.items()}
    return Tally(arrays, np.array(lengths), facts, reporting.ci_level)


def cell(row: Mapping[str, Any], column: str, mapping: Mapping[str, str]) -> Any:
    """What a row has in one of its own columns, or in one of ragas' by any accepted name. Any: JSON."""
    mapped = [name for name, canonical in mapping.items() if canonical == column]
    names = [*mapped, column, *(accepted_names(column) if column in ALIASES else ())]
    return next((row[name] for name in names if row.get(name) is not None), None)


def as_number(value: Any) -> float:
    """A number; NaN for everything else. Any: JSON."""
    return float(value) if isinstance(value, int | float) and abs(value) <= sys.float_info.max else math.nan


def by_length(tally: Tally, metric: str, scale: Scale) -> Iterator[tuple[tuple[int, int], Estimate]]:
    """Bins with about as many rows each, as the shortest and longest response in characters, and their means.

    Nothing for rows that are too few, or whose responses have one length. Responses of one length share a bin.
    """
    there = np.flatnonzero(~np.isnan(tally.lengths) & ~np.isnan(tally.scores[metric]))
    count = min(BINS, len(there) // LEAST)
    if count < 2:
        return
    lengths = tally.lengths[there]
    starts = np.unique(np.sort(lengths)[np.arange(count) * len(there) // count])
    if len(starts) < 2:
        return
    bins = np.searchsorted(starts, lengths, side="right") - 1
    for number in range(len(starts)):
        places = there[bins == number]
        own = tally.lengths[places]
        yield (int(own.min()), int(own.max())), tally.mean(metric, places.tolist(), scale)


@dataclass(frozen=True)
class ScoreBin:
    """The scores from `low` to `high`, both included, of which there are `count`.

    Attributes:
        at: where its bar is drawn.
        is_value: whether all of them are `at`.
    """

    low: float
    high: float
    count: int
    at: float
    is_value: bool = False


def bins_of(values: Floats, scale: Scale, most: int = 20) -> list[ScoreBin]:
    """A histogram: a bar for each value where values are few and far between, else `most` bins over the range.

    Of a range from below 0 the upper part only, if no score lies below.
    """
    seen = values[~np.isnan(values)]
    if not len(seen):
        return []
    low, high = axis_of(seen, scale)
    step = (high - low) / most
    distinct, which = np.unique(np.round(seen, 5) + 0.0, return_inverse=True)
    if len(distinct) <= most + 1 and (len(distinct) == 1 or np.diff(distinct).min() >= step * 0.99):
        parts = [seen[which == place] for place in range(len(distinct))]
        return [_value_bin(value, part) for value, part in zip(distinct.tolist(), parts, strict=True)]
    edges = low + step * np.arange(most + 1) - TIE
    places = np.clip(np.searchsorted(edges, seen, side="right") - 1, 0, most - 1)
    counts = np.bincount(places, minlength=most).tolist()
    ends = [_below(low), *edges[1:-1].tolist(), _above(high)]
    return [ScoreBin(ends[k], ends[k + 1], counts[k], low + step * (k + 0.5)) for k in range(most)]


def _value_bin(value: float, scores: Floats) -> ScoreBin:
    return ScoreBin(_below(float(scores.min())), _above(float(scores.max())), len(scores), value, is_value=True)


def axis_of(values: Floats, scale: Scale) -> tuple[float, float]:
    """The range that scores are shown on."""
    seen = values[~np.isnan(values)]
    low = 0.0 if scale.low < 0 < scale.high and (not len(seen) or seen.min() >= 0) else scale.low
    return (low, scale.high) if not len(seen) else (min(low, float(seen.min())), max(scale.high, float(seen.max())))


def _below(value: float) -> float:
    """With six decimals, and not above the value."""
    near = round(value, 6)
    return near if near <= value else near - TIE


def _above(value: float) -> float:
    near = round(value, 6)
    return near if near >= value else near + TIE
