"""`Run`: a finished evaluation, read back from its results folder. Nobody else reads these files."""

import json
import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, takewhile
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.dataset import (
    ALIASES,
    AS_WRITTEN,
    ColumnNames,
    Sample,
    accepted_names,
    history_of,
    is_cells,
    numbered,
    open_dataset,
)
from rag_evaluator.dataset import samples_of as kept_samples
from rag_evaluator.errors import ResultsError
from rag_evaluator.files import Json, JsonDict, file_digest, short_digest

from .flags import FLAGGED
from .manifest import (
    SCORES,
    WRITTEN,
    again,
    changed,
    config_of,
    misfit,
    names_us,
)
from .rows import (
    ADDED,
    DETAILS,
    HEAD,
    PROBABILITIES,
    Cell,
    Details,
    Record,
    row_name,
)
from .summary import cluster_of, reporting_of, unit_of
from .tally import Tally, tally_of
from .times import Times, read_times

Canonical = Callable[[str], str | None]  # the name of a metric by any of its names; None for what is no metric
INPUT = {"id", *ADDED, *chain.from_iterable(accepted_names(name) for name in ALIASES)}  # never a score
HEAD_BYTES = 40  # of a line of the details, that hold its row


@dataclass(frozen=True)
class ScoreTable:
    """Rows with their scores.

    Attributes:
        name: what messages call it.
        samples: the rows, in order.
        scores: metric -> a number per row, NaN where there is none.
        manifest: how they were made; empty where nobody knows.
        records: gives the details of some cells; none where nobody has kept them.
        summary: metric -> its figures, as in `summary.json`; none where nobody has made them.
    """

    name: str
    samples: Sequence[Sample]
    scores: Mapping[str, Sequence[float]]
    manifest: Json = field(default_factory=dict)  # Any: JSON
    records: Callable[[Collection[Cell]], Details] = lambda cells: {}
    summary: Mapping[str, JsonDict] = field(default_factory=dict)
    folder: None = None

    @property
    def config(self) -> Json:
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
    dataset = open_dataset(source)
    samples = list(dataset)
    scores = dict[str, list[float]]()
    for column in dataset.names:
        known = canonical(column)
        numbers = [_as_number(sample.row.get(column)) for sample in samples]
        holds_numbers = None not in numbers and not all(math.isnan(number or 0.0) for number in numbers)
        if column in no_scores or column in INPUT or not (known or holds_numbers):
            continue
        metric = known or column
        if metric in scores:
            raise ResultsError(f"{name}: '{column}' is a second column for {metric}. Keep one of them.")
        scores[metric] = [score_of(sample, column) for sample in samples]
    if not scores:
        raise ResultsError(f"{name}: no column holds scores. Received the columns {', '.join(dataset.names)}.")
    return ScoreTable(name, samples, scores)


def score_of(sample: Sample, column: str) -> float:
    """The score in a row's column, NaN if there is none. Raises `ResultsError` for anything else, infinity too."""
    value = _as_number(sample.row.get(column))
    if value is None or math.isinf(value):
        received = sample.row[column]
        raise ResultsError(f"{sample.where}: '{column}' is {received!r:.40}, expected a number or nothing.")
    return value


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


class Run:
    """A results folder. Nothing is read before it is asked for, so that a run of a million rows opens at once.

    Records of the details that nobody asks for are not parsed, and those of a row are found by bisection.

    Every attribute and method raises `ResultsError` for a file that is not there, cannot be read, or is not as it was
    written.

    Attributes:
        folder: the results folder.
        name: what messages call it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = str(folder)
        self._checked: set[str] = set()

    def named(self, name: str) -> "Run":
        """The same run, called otherwise in messages."""
        run = copy(self)
        run.name = name
        return run

    @property
    def title(self) -> str:
        """What pages call it: its name in the configuration, else that of the folder."""
        return str(self.manifest.get("name") or self.folder.name)

    @cached_property
    def manifest(self) -> Json:
        with _reading(self.folder / "manifest.json") as path:
            manifest: Json = json.loads(path.read_bytes())
            if not names_us(manifest):
                raise ValueError("it has neither 'program' nor 'signatures', which every run writes")
        return manifest

    @property
    def config(self) -> Json:
        return config_of(self.manifest)

    @cached_property
    def summary(self) -> Mapping[str, JsonDict]:
        with _reading(self.folder / "summary.json") as path:
            summary: Mapping[str, JsonDict] = json.loads(path.read_bytes())
            fault = misfit(summary, self.manifest)
        if fault:
            raise changed(path, fault)
        return summary

    @cached_property
    def times(self) -> Times:
        return read_times(self.folder)

    @property
    def metrics(self) -> list[str]:
        return list(self.manifest.get("metrics") or self.summary)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(next(iter(self.summary.values()))["count"])

    @cached_property
    def prompts(self) -> Json:
        """Metric -> prompt -> frames, see `rag_evaluator.results.questions`."""
        with self._open("prompts.json") as file:
            return dict(json.load(file))

    def check(self, name: str = SCORES) -> None:
        """Raise `ResultsError` where somebody has changed the file of scores; whoever reads scores passes here.

        Args:
            name: of the file, one of `SEALED`.
        """
        if name not in self._checked:
            with _reading(self.folder / name) as path:
                digest = file_digest(path)
            if (self.manifest.get(WRITTEN) or {}).get("sha256", {}).get(name, digest) != digest:
                raise changed(path, "it has been changed since")
            self._checked.add(name)

    @cached_property
    def samples(self) -> Sequence[Sample]:
        """The rows with the columns that ragas reads."""
        return samples_of(self.rows(), self.config)

    @cached_property
    def scores(self) -> Mapping[str, Sequence[float]]:
        """Metric -> a number per row, NaN where there is none."""
        scores = {metric: array("d") for metric in self.summary}
        for sample in self.samples:
            for metric, values in scores.items():
                values.append(score_of(sample, metric))
        return scores

    @cached_property
    def tally(self) -> Tally:
        """What the rows come to."""
        probabilities = (sample.row.get(PROBABILITIES) or {} for sample in self.samples)
        return tally_of(self.manifest, self.summary, self.scores, self.samples, probabilities)

    def rows(self) -> Iterator[JsonDict]:
        """The scored rows as they were written, in order."""
        with self._open(SCORES) as file:
            for line in file:
                yield dict(json.loads(line))

    def row(self, number: int) -> JsonDict:
        """One scored row. Raises `IndexError` if there is none of this number, from 0."""
        if not 0 <= number < len(self._offsets):
            raise IndexError(number)
        with self._open(SCORES) as file:
            file.seek(self._offsets[number])
            return dict(json.loads(file.readline()))

    def name_of(self, number: int) -> str:
        """What a row is called, see `row_name`. Raises `IndexError`."""
        return row_name(number, self.row(number))

    def details(self, number: int) -> list[JsonDict]:
        """The details of a row: a record per metric, or per metric and repeat; none if the row has none."""
        with self._open(DETAILS) as file, mmap(file.fileno(), 0, access=ACCESS_READ) as text:

            def row_at(place: int) -> int:
                start = text.rfind(b"\n", 0, place) + 1
                return _row(text[start : start + HEAD_BYTES])

            text.seek(bisect_left(range(len(text)), number, key=row_at))
            lines = iter(text.readline, b"")
            return list(map(json.loads, takewhile(lambda line: _row(line) == number, lines)))

    @cached_property
    def group_by(self) -> list[str]:
        """The columns by whose values figures and rows are shown."""
        return list(self.config.get("group_by") or ())

    @cached_property
    def flags(self) -> Mapping[int, list[str]]:
        """Row -> what is doubtful in the judge's work there, by name; rows without doubt are not there."""
        flags = dict[int, set[str]]()
        if any(row.get(FLAGGED) for row in self.summary.values()):
            with self._open(DETAILS) as file:
                for line in file:
                    if b'"flags"' in line:
                        record = json.loads(line)
                        flags.setdefault(record["row"], set()).update(record.get("flags") or ())
        return {row: sorted(names) for row, names in flags.items() if names}

    def records(self, cells: Collection[Cell]) -> Details:
        """The details of some cells; others are not parsed. What is not there is left out."""
        records: dict[Cell, list[Record]] = {}
        with self._open(DETAILS) as file:
            for line in file:
                head = HEAD.match(line)
                if head is None or head[3] is None or (int(head[1]), json.loads(head[3])) in cells:
                    record = json.loads(line)
                    records.setdefault((record["row"], record["metric"]), []).append(record)
        return records

    @cached_property
    def digests(self) -> list[str]:
        """The digest of each row that was judged, in order."""
        digests = dict[int, str]()
        with self._open(DETAILS) as file:
            for line in file:
                if (head := HEAD.match(line)) and head[2] is not None:
                    digests[int(head[1])] = head[2].decode()
        return [digests[row] for row in sorted(digests)]

    @cached_property
    def data(self) -> str:
        """The digest of all rows."""
        return short_digest(digest.encode() + b"\n" for digest in self.digests)

    @cached_property
    def _offsets(self) -> "array[int]":
        """Where the line of each row begins in the file of scores."""
        offsets = array("q")
        place = 0
        with self._open(SCORES) as file:
            for line in file:
                offsets.append(place)
                place += len(line)
        return offsets

    @contextmanager
    def _open(self, name: str) -> Iterator[BinaryIO]:
        """A file of the folder; that of scores is as it was written."""
        if name == SCORES:
            self.check()
        with _reading(self.folder / name) as path, path.open("rb") as file:
            yield file


def samples_of(rows: Iterable[Json], config: Json) -> Sequence[Sample]:
    """Rows of `scores.jsonl` with the columns that ragas reads. Rows of a table file have their cells there.

    Args:
        config: of the run.
    """
    are_cells = is_cells(Path(config.get("dataset") or ""))
    records = (replace(record, is_cells=are_cells) for record in numbered(rows, ""))
    as_written = config.get("responses") == AS_WRITTEN
    names = ColumnNames(config.get("columns") or {}, as_written=as_written, history=history_of(config))
    return kept_samples(SCORES, records, names)


ScoredRows = Run | ScoreTable  # what can be compared


@contextmanager
def _reading(path: Path) -> Iterator[Path]:
    """Turns what goes wrong while a file is read into `ResultsError` with the way out."""
    try:
        yield path
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ResultsError(f"{path}: cannot be read: {error}. {again(path.parent)}") from error


def _row(line: bytes) -> int:
    """The row that a line of the details begins with. Raises `ValueError`."""
    head = HEAD.match(line)
    if head is None:
        raise ValueError(f"expected a line that begins with its row, received {line[:40]!r}")
    return int(head[1])


def units_of(run: ScoredRows) -> list[str]:
    """Of each row the key of what it depends on, see `unit_of`."""
    reporting = reporting_of(run.manifest)
    return [unit_of(sample, cluster_of(sample, reporting)) for sample in run.samples]


def mean_probabilities(run: ScoredRows, metric: str) -> NDArray[np.float64] | None:
    """The mean probability of each row's sentences, by which rows are ranked; NaN for a row without a score.

    None where a score has none.
    """
    known = (sample.row.get(PROBABILITIES) or {} for sample in run.samples)
    means = np.array([row.get(metric, {}).get("mean", np.nan) for row in known])
    is_scored = ~np.isnan(np.asarray(run.scores[metric], dtype=np.float64))
    return means if is_scored.any() and not np.isnan(means[is_scored]).any() else None
