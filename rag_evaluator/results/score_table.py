"""`ScoreTable`: scores that are not in a results folder, of Python or of a table from elsewhere."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import ALIASES, Sample, open_dataset, row_names
from rag_evaluator.dataset.columns import accepted_names
from rag_evaluator.errors import ResultsError
from rag_evaluator.results.details import Cell, Details
from rag_evaluator.results.manifest import config_of, read_manifest, refuse_changed
from rag_evaluator.results.panel_names import BETWEEN
from rag_evaluator.results.rows import DROPPED

Canonical = Callable[[str], str | None]  # the name of a metric by any of its names; None for what is no metric
TABLES = ("scores.jsonl", "scores.csv", "scores.xlsx")  # of a results folder
INPUT = {"id", DROPPED, *chain.from_iterable(accepted_names(name) for name in ALIASES)}  # never a score


@dataclass(frozen=True)
class ScoreTable:
    """Rows with their scores.

    Attributes:
        name: what messages call it.
        samples: the rows, in order.
        scores: metric -> a number per row, NaN where there is none.
        manifest: how they were made; empty where nobody knows.
        records: gives the details of some cells; none where nobody has kept them.
    """

    name: str
    samples: Sequence[Sample]
    scores: Mapping[str, Sequence[float]]
    manifest: Mapping[str, Any] = field(default_factory=dict)  # Any: JSON
    records: Callable[[Collection[Cell]], Details] = lambda cells: {}
    folder: None = None

    @property
    def config(self) -> Mapping[str, Any]:
        """Any: JSON."""
        return config_of(self.manifest)

    def named(self, name: str) -> "ScoreTable":
        """The same table, called otherwise in messages."""
        return replace(self, name=name)


def of_table(source: Any, name: str, canonical: Canonical, no_scores: Collection[str] = ()) -> ScoreTable:
    """The scores in a file or frame from elsewhere, such as that of ragas' `to_pandas`. Any: what `load_dataset` takes.

    Args:
        no_scores: columns that hold no scores, though they may be numbers.

    Columns of metrics are scores, and so is every other column that holds numbers only. Raises `ResultsError` where a
    metric's column holds something else, or no column holds scores.
    """
    samples = list(open_dataset(source))
    scores: dict[str, list[float]] = {}
    for column in row_names(samples):
        known = canonical(column)
        if column in no_scores or column in INPUT:
            continue
        if known is None and not _holds_numbers(samples, column):
            continue
        metric = known or column
        if metric in scores:
            raise ResultsError(f"{name}: '{column}' is a second column for {metric}. Keep one of them.")
        scores[metric] = [score_of(sample, column) for sample in samples]
    if not scores:
        raise ResultsError(f"{name}: no column holds scores. Received the columns {', '.join(row_names(samples))}.")
    return ScoreTable(name, samples, scores)


def of_own_table(path: Path, canonical: Canonical) -> ScoreTable | None:
    """The scores in a file that a run wrote into its results folder; None for a table from elsewhere.

    Of the manifest beside it only what it says of metrics is taken: the rest holds for the folder. Raises
    `ResultsError` if the file is not as it was written.
    """
    if path.name not in TABLES or not (path.parent / "manifest.json").is_file():
        return None
    manifest = read_manifest(path.parent)
    about = manifest.get("metrics")
    if "program" not in manifest or not isinstance(about, Mapping):
        return None
    columns = {name for sample in open_dataset(path) for name in sample.row}
    no_scores = {name for name in columns if name not in about and BETWEEN not in name}
    scores = of_table(path, str(path), canonical, no_scores)
    refuse_changed(path.parent, manifest, path.name, len(scores.samples))
    return replace(scores, manifest={"metrics": about})


def score_of(sample: Sample, column: str) -> float:
    """The score in a row's column, NaN if there is none. Raises `ResultsError` for anything else, infinity too."""
    value = _as_number(sample.row.get(column))
    if value is None or math.isinf(value):
        received = sample.row[column]
        raise ResultsError(f"{sample.where}: '{column}' is {received!r:.40}, expected a number or nothing.")
    return value


def _holds_numbers(samples: Sequence[Sample], column: str) -> bool:
    """Whether a column holds numbers, infinite ones too, and blanks only, and a number at least."""
    numbers = [_as_number(sample.row.get(column)) for sample in samples]
    return None not in numbers and not all(math.isnan(number or 0.0) for number in numbers)


def _as_number(value: Any) -> float | None:
    """A number; NaN for a blank; None for what is neither. Any: JSON, or the text of a cell."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return math.nan
    if isinstance(value, str | int | float):
        try:
            return float(value)
        except (ValueError, OverflowError):
            return None
    return None
