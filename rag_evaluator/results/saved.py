"""Scores read back, to be compared or checked: those of a results folder, of `Results`, of a table from elsewhere."""

import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import ALIASES, Sample, open_dataset, row_names
from rag_evaluator.dataset.columns import accepted_names
from rag_evaluator.errors import DatasetError, ResultsError
from rag_evaluator.program import command
from rag_evaluator.results.manifest import config_of, read_manifest
from rag_evaluator.results.panel_names import BETWEEN
from rag_evaluator.results.reporting import weight_of
from rag_evaluator.results.results import Results
from rag_evaluator.results.rows import DROPPED
from rag_evaluator.results.summary import read_summary
from rag_evaluator.results.written import changed, refuse_changed

Cell = tuple[int, str]  # place of the row, metric
Record = Mapping[str, Any]  # a line of `details.jsonl`; Any: JSON
Details = Mapping[Cell, Sequence[Record]]  # several records where a score was made several times
Canonical = Callable[[str], str | None]  # the name of a metric by any of its names; None for what is no metric
LINE = re.compile(rb'\{"row": (\d+), "sample": "\w*", "metric": ("(?:[^"\\]|\\.)*")')
TABLES = ("scores.jsonl", "scores.csv", "scores.xlsx")  # of a results folder
INPUT = {"id", DROPPED, *chain.from_iterable(accepted_names(name) for name in ALIASES)}  # never a score


@dataclass(frozen=True)
class SavedScores:
    """The scores of one run with its rows.

    Attributes:
        name: what messages call it: the folder or file as it was given.
        samples: the rows, in order.
        scores: metric -> a number per row, NaN where there is none.
        manifest: how they were made; empty where nobody knows.
        details: gives the records of some cells; a table from elsewhere has none.
        folder: the results folder; None for what comes from elsewhere.
    """

    name: str
    samples: Sequence[Sample]
    scores: Mapping[str, Sequence[float]]
    manifest: Mapping[str, Any] = field(default_factory=dict)  # Any: JSON
    details: Callable[[Collection[Cell]], Details] = lambda cells: {}
    folder: Path | None = None

    @property
    def config(self) -> Mapping[str, Any]:
        """The configuration of the run; empty where nobody knows."""
        return config_of(self.manifest)


def of_results(results: Results, name: str, canonical: Canonical) -> SavedScores:
    """The scores of an evaluation in memory, under the canonical names of the metrics."""

    def named(metric: str) -> str:
        return canonical(metric) or metric

    def details(cells: Collection[Cell]) -> Details:
        found: dict[Cell, list[Record]] = {}
        rows = {row for row, _ in cells}
        for place, row in enumerate(results):
            for record in map(json.loads, row.details()) if place in rows else ():
                if (cell := (place, named(record["metric"]))) in cells:
                    found.setdefault(cell, []).append(record)
        return found

    scores = {named(metric): [score.value for score in row] for metric, row in results.scores.items()}
    return SavedScores(name, results.samples, scores, results.manifest, details)


def of_folder(folder: Path) -> SavedScores:
    """The scores of a results folder. Raises `ResultsError` if its files are not there, cannot be read, or disagree."""
    require_scores(folder)
    metrics, manifest = list(read_summary(folder)), read_manifest(folder)
    about = manifest.get("metrics")
    if isinstance(about, Mapping) and (lost := [name for name in about if name not in metrics]):
        raise changed(folder / "summary.json", f"it lacks {', '.join(lost)}, which manifest.json names")
    samples = open_dataset(_read_rows(folder / "scores.jsonl"), config_of(manifest).get("columns"))
    scores = {metric: [_number(sample, metric) for sample in samples] for metric in metrics}
    return SavedScores(str(folder), samples, scores, manifest, lambda cells: _read_details(folder, cells), folder)


def require_scores(folder: Path) -> None:
    """Raises `ResultsError` if a folder is not there, or holds no scores."""
    if not folder.is_dir():
        raise ResultsError(
            f"{folder}: no such folder. Give the results folder of a run, <output_dir>/<name>, or a file of scores."
        )
    if not (folder / "scores.jsonl").is_file():
        raise ResultsError(
            f"{folder}: no scores here (scores.jsonl is missing). Give the results folder of a finished evaluation."
        )


def of_table(source: Any, name: str, canonical: Canonical, others: Collection[str] = ()) -> SavedScores:
    """The scores in a file or frame from elsewhere, such as that of ragas' `to_pandas`. Any: what `load_dataset` takes.

    Args:
        others: columns that hold no scores, though they may be numbers.

    Columns of metrics are scores, and so is every other column that holds numbers only. Raises `ResultsError` where a
    metric's column holds something else, or no column holds scores.
    """
    samples = list(open_dataset(source))
    scores: dict[str, list[float]] = {}
    for column in row_names(samples):
        known = canonical(column)
        if column in others or column in INPUT:
            continue
        if known is None and not _holds_numbers(samples, column):
            continue
        metric = known or column
        if metric in scores:
            raise ResultsError(f"{name}: '{column}' is a second column for {metric}. Keep one of them.")
        scores[metric] = [_number(sample, column) for sample in samples]
    if not scores:
        raise ResultsError(f"{name}: no column holds scores. Received the columns {', '.join(row_names(samples))}.")
    return SavedScores(name, samples, scores)


def of_own_table(path: Path, canonical: Canonical) -> SavedScores | None:
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
    others = {name for name in columns if name not in about and BETWEEN not in name}
    scores = of_table(path, str(path), canonical, others)
    refuse_changed(path.parent, manifest, path.name, len(scores.samples))
    return replace(scores, manifest={"metrics": about})


def run_weights(run: SavedScores, column: str) -> list[float]:
    """The weight of each row. Raises `ResultsError` for one that is no number from 0 up."""
    try:
        return [weight_of(sample, column) for sample in run.samples]
    except DatasetError as error:
        raise ResultsError(f"{run.name}, {error}") from None


def _read_rows(path: Path) -> list[dict[str, Any]]:
    try:
        with path.open("rb") as file:
            return [json.loads(line) for line in file]
    except (OSError, ValueError) as error:
        raise ResultsError(
            f"{path}: cannot be read: {error}. '{command('merge', path.parent)}' writes it again."
        ) from error


def _read_details(folder: Path, cells: Collection[Cell]) -> Details:
    """The records of some cells; the lines of others are not parsed. What is not there is left out."""
    found: dict[Cell, list[Record]] = {}
    try:
        with (folder / "details.jsonl").open("rb") as file:
            for line in _lines_of(file, cells):
                record = json.loads(line)
                found.setdefault((record["row"], record["metric"]), []).append(record)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(
            f"{folder / 'details.jsonl'}: cannot be read: {error!r}. '{command('merge', folder)}' writes it again."
        ) from error
    return found


def _lines_of(file: Iterator[bytes], cells: Collection[Cell]) -> Iterator[bytes]:
    for line in file:
        head = LINE.match(line)
        if head is None or (int(head[1]), json.loads(head[2])) in cells:
            yield line


def _number(sample: Sample, column: str) -> float:
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
