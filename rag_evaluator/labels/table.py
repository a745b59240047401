"""Reads a table of labels, wide or long, and finds the rows of the run that they are about."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.columns import column_names
from rag_evaluator.dataset.keys import as_key
from rag_evaluator.dataset.readers.record import InputRecord
from rag_evaluator.dataset.readers.table import read_records
from rag_evaluator.errors import ConfigError, DatasetError, did_you_mean
from rag_evaluator.files.names import folder_names
from rag_evaluator.labels.keys import key_of
from rag_evaluator.labels.words import EXPECTED, is_word, label_of
from rag_evaluator.results.panel_names import BETWEEN
from rag_evaluator.results.saved import Canonical, SavedScores

METRIC, LABEL, STATEMENT, ANNOTATOR, DRAW = "metric", "label", "statement", "annotator", "draw"
SAMPLED = "sampled"  # a column that says `false` of rows that were chosen for some reason, and not drawn
Cell = tuple[str, str, str | None, Any, str]  # metric, annotator, statement, what the cell says, its column


@dataclass(frozen=True)
class Label:
    """What a person said of one row, or of one statement that the judge judged there.

    Attributes:
        row: place of the row in the run.
        annotator: empty where the table names none.
        value: NaN for a blank cell.
        where: for messages: file, line and column.
        is_word: whether the cell holds a word, not a number.
    """

    row: int
    metric: str
    annotator: str
    statement: str | None
    value: float
    where: str
    is_word: bool = False


@dataclass(frozen=True)
class LabelTable:
    """The labels of one source.

    Attributes:
        name: of the source, for messages.
        labels: blank ones included.
        draw: the draw that its rows come from, as a label sheet says; None: no such draw.
        sampled: whether its rows may be a random sample; not if it says itself that they are none.
    """

    name: str
    labels: Sequence[Label]
    draw: str | None = None
    sampled: bool = True


def read_labels(
    path: Path, run: SavedScores, digests: Sequence[str], canonical: Canonical, on: str | None
) -> LabelTable:
    """The labels in a file.

    Args:
        digests: of the samples of the run, in order.
        canonical: the name of a metric by any of its names.
        on: the key column; None takes the first of `row`, `sample`, `id` and the question that is there.

    Raises `DatasetError` with file, line and column for a key that no row has, a key that is there twice, a cell that
    is no label.
    """
    name, records = read_records(path)
    columns = column_names(record.row for record in records)
    cells_of = _layout(name, columns, run, canonical)
    row_of = key_of(name, columns, run, digests, on)
    labels = [
        Label(
            row,
            metric,
            annotator,
            statement,
            _value(record, column, cell),
            f"{record.where}, column '{column}'",
            is_word(cell),
        )
        for record in records
        if (row := row_of(record)) is not None
        for metric, annotator, statement, cell, column in cells_of(record)
    ]
    _refuse_twice([labels])
    return LabelTable(name, labels, _draw(name, records), not any(map(_is_chosen, records)))


def together(tables: Sequence[LabelTable], paths: Sequence[Path]) -> LabelTable:
    """The labels of several files as one table: those of a file that names no annotator are its own.

    Such a file's annotator has its name, with as many folders as tell it from other files.

    Raises `DatasetError` if rows come from several draws.
    """
    if len(tables) == 1:
        return tables[0]
    name = ", ".join(table.name for table in tables)
    whose = [
        [replace(label, annotator=label.annotator or annotator) for label in table.labels]
        for table, annotator in zip(tables, _annotators(paths), strict=True)
    ]
    _refuse_twice(whose)
    draws = {table.draw for table in tables}
    if len(draws) > 1:
        raise DatasetError(f"{name}: these sheets come from different draws. Certify the labels of one at a time.")
    return LabelTable(name, list(chain(*whose)), draws.pop(), all(table.sampled for table in tables))


def _annotators(paths: Sequence[Path]) -> list[str]:
    """A name for each file."""
    stems = [path.stem for path in paths]
    whole = [path if stems.count(path.stem) == 1 else path.resolve() for path in paths]
    bare = [str(path.with_suffix("")) for path in whole]
    names = bare if len(set(bare)) == len(bare) else list(map(str, whole))
    return [
        path.stem if stems.count(path.stem) == 1 else folder_names(names)[name]
        for path, name in zip(paths, names, strict=True)
    ]


def labels_in_column(run: SavedScores, metric: str, column: str, canonical: Canonical) -> LabelTable:
    """The labels in a column of the run's own rows. Raises `DatasetError`; `ConfigError` for a column of scores."""
    if {column, column.partition(BETWEEN)[0], canonical(column)} & run.scores.keys():
        raise ConfigError(
            f"--label {metric}={column}: '{column}' holds scores of {run.name}. Name a column with people's labels; if "
            f"labels of the dataset have this name, give them as a file: --labels FILE."
        )
    if not any(column in sample.row for sample in run.samples):
        known = column_names(sample.row for sample in run.samples)
        hint = did_you_mean(column, known)
        raise DatasetError(f"--label {metric}={column}: no row of {run.name} has this column.{hint}")
    labels = []
    for place, sample in enumerate(run.samples):
        record = InputRecord(sample.where, sample.row)
        where = f"{sample.where}, column '{column}'"
        cell = sample.row.get(column)
        labels.append(Label(place, metric, "", None, _value(record, column, cell), where, is_word(cell)))
    return LabelTable(f"column '{column}'", labels)


def metric_named(column: str, run: SavedScores, canonical: Canonical) -> tuple[str, str] | None:
    """Metric and annotator of a column: `faithfulness`, or `faithfulness.anna`; None for a column of something else."""
    for metric, _, annotator in ((column, "", ""), column.partition("."), column.rpartition(".")):
        name = metric if metric in run.scores else canonical(metric)
        if name is not None:
            return name, annotator.strip()
    return None


def _layout(
    name: str, columns: Sequence[str], run: SavedScores, canonical: Canonical
) -> Callable[[InputRecord], Iterator[Cell]]:
    """Long if there are the columns `metric` and `label`, else wide: what gives the cells of a line."""
    if METRIC in columns and LABEL in columns:
        return lambda record: _long(record, run, canonical)
    wide = {column: found for column in columns if (found := metric_named(column, run, canonical))}
    if not wide:
        raise DatasetError(
            f"{name}: no column has the name of a metric, and there are no columns 'metric' and 'label'. Received "
            f"{', '.join(map(repr, columns))}. Metrics of {run.name}: {', '.join(run.scores)}."
        )
    for column, (metric, _) in wide.items():
        _refuse_unscored(f"{name}: column '{column}'", metric, run)
    return lambda record: _wide(record, wide)


def _wide(record: InputRecord, metrics: Mapping[str, tuple[str, str]]) -> Iterator[Cell]:
    """The annotator of a line, and that of a column, name one person together."""
    line = as_key(record.row.get(ANNOTATOR)) or ""
    for column, (metric, annotator) in metrics.items():
        yield metric, ".".join(filter(None, (line, annotator))), None, record.row.get(column), column


def _long(record: InputRecord, run: SavedScores, canonical: Canonical) -> Iterator[Cell]:
    metric = as_key(record.row.get(METRIC)) or ""
    name = metric if metric in run.scores else canonical(metric) or metric
    _refuse_unscored(f"{record.where}, column '{METRIC}'", name, run)
    statement = as_key(record.row.get(STATEMENT))
    yield name, as_key(record.row.get(ANNOTATOR)) or "", statement, record.row.get(LABEL), LABEL


def _refuse_unscored(where: str, metric: str, run: SavedScores) -> None:
    if metric not in run.scores:
        raise DatasetError(f"{where}: {run.name} has no scores of '{metric}'.{did_you_mean(metric, run.scores)}")


def _value(record: InputRecord, column: str, cell: Any) -> float:
    try:
        return label_of(cell)
    except ValueError:
        raise DatasetError(f"{record.where}, column '{column}': {cell!r:.60} is no label. {EXPECTED}") from None


def _refuse_twice(tables: Sequence[Sequence[Label]]) -> None:
    seen: dict[tuple[int, str, str, str | None], Label] = {}
    for label in chain(*tables):
        key = (label.row, label.metric, label.annotator, label.statement)
        if not math.isnan(label.value) and (other := seen.setdefault(key, label)) is not label:
            who = f" by {label.annotator}" if label.annotator else ""
            raise DatasetError(
                f"{label.where}: a second label of row {label.row}{who}; the first is in {other.where}. Remove one of "
                "them, or name who gave each in a column 'annotator'."
            )


def _draw(name: str, records: Sequence[InputRecord]) -> str | None:
    draws = sorted({draw for record in records if (draw := as_key(record.row.get(DRAW)))})
    if len(draws) > 1:
        raise DatasetError(
            f"{name}: its rows come from {len(draws)} draws ({', '.join(draws)}): certify the labels of one at a time."
        )
    return draws[0] if draws else None


def _is_chosen(record: InputRecord) -> bool:
    return str(record.row.get(SAMPLED)).strip().casefold() == "false"
