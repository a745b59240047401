"""The rows of a run as numbers: scores, lengths of responses and clusters; read once."""

import math
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.dataset.columns import ALIASES, accepted_names
from rag_evaluator.dataset.sample import Sample
from rag_evaluator.results.overview import Figures
from rag_evaluator.results.rows import Score
from rag_evaluator.results.run import Run
from rag_evaluator.results.summary import Clusters, Reporting, cluster_of, clusters_at, reporting_of
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
    read = [name for name in ALIASES if name in (*REPEATED, reporting.cluster)]

    def rows() -> Iterator[tuple[Sample, list[float]]]:
        for place, row in enumerate(run.rows()):
            scores = [as_score(row.get(metric)) for metric in run.metrics]
            columns = {name: cell(row, name, mapping) for name in read}
            values = [math.nan if score is None else score for score in scores]
            yield Sample(place, row, columns, f"row {place}"), values

    return _tally(run.metrics, rows(), reporting)


def tally_of(scores: Mapping[str, Sequence[Score]], samples: Sequence[Sample], manifest: Mapping[str, Any]) -> Tally:
    """The same of scores in memory. Any: JSON."""
    rows = ([column[place].value for column in scores.values()] for place in range(len(samples)))
    return _tally(list(scores), zip(samples, rows, strict=True), reporting_of(manifest))


REPEATED = ("user_input", "retrieved_contexts", "response")


def _tally(metrics: Sequence[str], rows: Iterable[tuple[Sample, Sequence[float]]], reporting: Reporting) -> Tally:
    """The tally of rows that come one by one; of texts only a hash is kept, so that a million rows fit."""
    scores, lengths, clusters = [array("d") for _ in metrics], array("d"), array("q")
    texts, apart = array("q"), array("q")
    numbers: dict[str, int] = {}  # of a cluster, by its name
    for place, (sample, values) in enumerate(rows):
        for column, value in zip(scores, values, strict=True):
            column.append(value)
        response, key = sample.columns.get("response"), cluster_of(sample, reporting)
        lengths.append(len(response) if isinstance(response, str) else math.nan)
        clusters.append(-place - 1 if key is None else numbers.setdefault(key, len(numbers)))
        if sample.columns.get(REPEATED[0]) is not None:  # a row without a question is no repeat
            text = repr([sample.columns.get(name) for name in REPEATED])
            texts.append(hash(text))
            apart.append(hash((text, clusters[-1])))
    return Tally(
        {metric: np.array(column) for metric, column in zip(metrics, scores, strict=True)},
        np.array(lengths),
        clusters if reporting.cluster else None,
        reporting.ci_level,
        len(np.unique(apart)) - len(np.unique(texts)),
    )


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
