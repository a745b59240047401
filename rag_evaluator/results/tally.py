"""The rows of a run as numbers: scores, lengths of responses and clusters; read once."""

import math
import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.dataset.columns import ALIASES, accepted_names
from rag_evaluator.dataset.sample import Sample
from rag_evaluator.results.overview import Figures
from rag_evaluator.results.rows import Score
from rag_evaluator.results.run import Run
from rag_evaluator.results.summary import Clusters, cluster_of, clusters_at, reporting_of
from rag_evaluator.statistics.formulas import Estimate, Scale
from rag_evaluator.statistics.intervals import mean_interval

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tally:
    """The rows of a run as numbers.

    Attributes:
        scores: metric -> a number per row, NaN where it is missing.
        lengths: characters of each response; NaN where there is none.
        clusters: of the rows; None: rows do not depend on each other.
        level: of intervals.
        repeats: rows with the question, the contexts and the response of an earlier row, of which intervals do not
            know that they depend on it: it is in another cluster.
    """

    scores: Mapping[str, Floats]
    lengths: Floats
    clusters: Clusters | None
    level: float
    repeats: int = 0

    def mean(self, metric: str, places: Sequence[int], scale: Scale) -> Estimate:
        """The mean score of some rows with its interval."""
        return mean_interval(self.scores[metric][places], scale, self.level, clusters_at(self.clusters, places))


def whole_tally(run: Run) -> Tally:
    """What a run's rows come to. Raises `ResultsError` if its files cannot be read."""
    reporting, mapping = reporting_of(run.manifest), run.config.get("columns") or {}
    scores = {metric: array("d") for metric in run.metrics}
    lengths, clusters = array("d"), array("q")
    numbers: dict[str, int] = {}  # of a cluster, by its name
    read = [name for name in ALIASES if name in (*REPEATED, reporting.cluster)]
    repeats = _Repeats()
    for place, row in enumerate(run.rows()):
        for metric, values in scores.items():
            score = as_score(row.get(metric))
            values.append(math.nan if score is None else score)
        columns = {name: cell(row, name, mapping) for name in read}
        response, sample = columns["response"], Sample(place, row, columns, f"row {place}")
        lengths.append(len(response) if isinstance(response, str) else math.nan)
        key = cluster_of(sample, reporting)
        clusters.append(-place - 1 if key is None else numbers.setdefault(key, len(numbers)))
        repeats.add(columns, clusters[-1])
    arrays = {metric: np.array(values) for metric, values in scores.items()}
    by_cluster = clusters if reporting.cluster else None
    return Tally(arrays, np.array(lengths), by_cluster, reporting.ci_level, repeats.count)


def tally_of(scores: Mapping[str, Sequence[Score]], samples: Sequence[Sample], manifest: Mapping[str, Any]) -> Tally:
    """The same of scores in memory. Any: JSON."""
    reporting = reporting_of(manifest)
    clusters = [cluster_of(sample, reporting) for sample in samples] if reporting.cluster else None
    lengths = [len(str(sample.columns.get("response") or "")) or math.nan for sample in samples]
    arrays = {metric: np.array([score.value for score in column]) for metric, column in scores.items()}
    repeats = _Repeats()
    for place, (sample, label) in enumerate(zip(samples, clusters or [None] * len(samples), strict=True)):
        repeats.add(sample.columns, place if label is None else label)
    return Tally(arrays, np.array(lengths, dtype=np.float64), clusters, reporting.ci_level, repeats.count)


REPEATED = ("user_input", "retrieved_contexts", "response")


class _Repeats:
    """Counts `repeats`; of texts only a number is kept, so that a million rows fit."""

    def __init__(self) -> None:
        self.texts, self.apart = array("q"), array("q")

    @property
    def count(self) -> int:
        return len(np.unique(self.apart)) - len(np.unique(self.texts))

    def add(self, columns: Mapping[str, Any], cluster: object) -> None:
        """Add a row; one without a question is no repeat."""
        if columns.get(REPEATED[0]) is not None:
            text = repr([columns.get(name) for name in REPEATED])
            self.texts.append(hash(text))
            self.apart.append(hash((text, cluster)))


def cell(row: Mapping[str, Any], column: str, mapping: Mapping[str, str]) -> Any:
    """What a row has in one of its own columns, or in one of ragas' by any accepted name. Any: JSON."""
    mapped = [name for name, canonical in mapping.items() if canonical == column]
    names = [*mapped, column, *(accepted_names(column) if column in ALIASES else ())]
    return next((row[name] for name in names if row.get(name) is not None), None)


def as_score(value: Any) -> float | None:
    """A number that a float can hold; None for everything else. Any: JSON."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) <= sys.float_info.max else None


def scales_of(manifest: Mapping[str, Any], summary: Mapping[str, Figures]) -> dict[str, Scale]:
    """The scale of each metric; for one that nobody has described the range of what is known of its scores."""
    known = reporting_of(manifest).scales
    return {metric: known.get(metric) or _seen(row) for metric, row in summary.items()}


def _seen(row: Figures) -> Scale:
    ends = [row[key] for key in ("ci_low", "ci_high", "bound_low", "bound_high", "mean") if row.get(key) is not None]
    return Scale(min([0.0, *ends]), max([1.0, *ends]), row.get("kind", "continuous"), row.get("better", "higher"))
