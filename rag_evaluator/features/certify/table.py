"""Labels that people gave, read from tables: to which row of a run each line belongs, and what it says."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.columns import accepted_names, as_key, column_names
from rag_evaluator.dataset.readers import read_records
from rag_evaluator.dataset.readers.json_files import InputRecord
from rag_evaluator.errors import ConfigError, DatasetError, did_you_mean
from rag_evaluator.features.certify.sheet import (
    ANNOTATOR,
    DRAW,
    EXPECTED,
    LABEL,
    METRIC,
    ROW,
    SAMPLE,
    STATEMENT,
    is_word,
    label_of,
)
from rag_evaluator.files.atomic import folder_names
from rag_evaluator.results.aligned import ID, QUESTION, keys_of
from rag_evaluator.results.rows import DETAILS
from rag_evaluator.results.run import Canonical, ScoredRows

RowOf = Callable[[InputRecord], int | None]  # None for a line without any cell
SAMPLED = "sampled"  # a column that says `false` of rows that were chosen for some reason, and not drawn
Cell = tuple[str, str, str | None, Any, str]  # metric, annotator, statement, what the cell says, its column


def key_of(name: str, columns: Sequence[str], run: ScoredRows, digests: Sequence[str], on: str | None) -> RowOf:
    """What finds the row of a line. Its errors are `DatasetError` with the line.

    Args:
        name: of the table.
        on: the key column; None takes `row`, `sample`, `id` or the question, the first of these that is there. All of
            them that a line has must be of the same row; but where the digest of all that the row has is right, a
            question that was shortened for people is none.
    """
    known = [column for column in (ROW, SAMPLE, ID, *accepted_names(QUESTION)) if column in columns]
    if on is None and not known:
        raise DatasetError(
            f"{name}: no column says which row a label is about. Expected 'row' (from 0, as in {DETAILS}), 'sample', "
            f"'id' or the question, or --on COLUMN; received {', '.join(map(repr, columns))}."
        )
    column = on or known[0]
    if column not in columns:
        raise DatasetError(f"{name}: no column '{column}' (--on).{did_you_mean(column, columns)}")
    keys = {each: [_folded(key) for key in _run_keys(run, digests, each)] for each in (column, *known)}
    rows = {each: _rows_by(of_run) for each, of_run in keys.items()}

    def row_of(record: InputRecord) -> int | None:
        cells = {each: _folded(as_key(record.row.get(each))) for each in keys}
        if not any(as_key(cell) for cell in record.row.values()):
            return None
        place = _place(record.where, column, cells[column], rows[column], run)
        for other in [SAMPLE] if cells.get(SAMPLE) else keys:
            cell, key = cells[other], keys[other][place]
            if cell is not None and key is not None and cell != key:
                others = ", ".join(map(str, rows[other].get(cell, [])[:5]))
                raise DatasetError(
                    f"{record.where}: '{column}' is {cells[column]!r:.60}, but '{other}' {cell!r:.60} is that of "
                    f"{f'row {others}' if others else 'no row'} of {run.name}. Rows count from 0, as in {DETAILS}. "
                    "Give the results that the labels are about, or remove the column that is wrong."
                )
        return place

    return row_of


def _folded(key: str | None) -> str | None:
    """Line breaks and blanks are the first that tables change."""
    return None if key is None else " ".join(key.split())


def _rows_by(keys: Sequence[str | None]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, key in enumerate(keys):
        if key is not None:
            rows.setdefault(key, []).append(row)
    return rows


def _run_keys(run: ScoredRows, digests: Sequence[str], column: str) -> Sequence[str | None]:
    if column == ROW:
        return [str(place) for place in range(len(run.samples))]
    if column == SAMPLE:
        return digests
    return keys_of(run.samples, QUESTION if column in accepted_names(QUESTION) else column)


def _place(where: str, column: str, key: str | None, rows_by: Mapping[str, list[int]], run: ScoredRows) -> int:
    if key is None:
        raise DatasetError(f"{where}: '{column}' is blank, so that its labels belong to no row.")
    rows = rows_by.get(key, [])
    if len(rows) == 1:
        return rows[0]
    several = f"{len(rows)} rows of {run.name} have the {column} {key!r:.60} (rows {', '.join(map(str, rows[:5]))})"
    raise DatasetError(
        f"{where}: {several if rows else f'no row of {run.name} has the {column} {key!r:.60}'}. Choose the key column "
        f"with --on, or give the number of the row, from 0 to {len(run.samples) - 1}, in a column 'row'."
    )


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
    path: Path, run: ScoredRows, digests: Sequence[str], canonical: Canonical, on: str | None
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
    bare = [str(path.resolve().with_suffix("")) for path in paths]
    whole = bare if len(set(bare)) == len(bare) else [str(path.resolve()) for path in paths]
    names = folder_names(whole)
    whose = [
        [replace(label, annotator=label.annotator or names[path]) for label in table.labels]
        for table, path in zip(tables, whole, strict=True)
    ]
    _refuse_twice(whose)
    draws = {table.draw for table in tables}
    if len(draws) > 1:
        raise DatasetError(
            f"{name}: these sheets come from different draws. Certify the labels of one at a time: a sheet that is "
            "made after that holds the labels that its rows have."
        )
    return LabelTable(name, list(chain(*whose)), draws.pop(), all(table.sampled for table in tables))


def labels_in_column(run: ScoredRows, metric: str, column: str, canonical: Canonical) -> LabelTable:
    """The labels in a column of the run's own rows. Raises `DatasetError`; `ConfigError` for a column of scores."""
    if {column, canonical(column)} & run.scores.keys():
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


def metric_named(column: str, run: ScoredRows, canonical: Canonical) -> tuple[str, str] | None:
    """Metric and annotator of a column: `faithfulness`, or `faithfulness.anna`; None for a column of something else."""
    for metric, _, annotator in ((column, "", ""), column.partition("."), column.rpartition(".")):
        name = metric if metric in run.scores else canonical(metric)
        if name is not None:
            return name, annotator.strip()
    return None


def _layout(
    name: str, columns: Sequence[str], run: ScoredRows, canonical: Canonical
) -> Callable[[InputRecord], Iterator[Cell]]:
    """Long if there are the columns `metric` and `label`, else wide: what gives the cells of a line."""
    if METRIC in columns and LABEL in columns:
        return lambda record: _long(record, run, canonical)
    wide = {column: named for column in columns if (named := metric_named(column, run, canonical))}
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


def _long(record: InputRecord, run: ScoredRows, canonical: Canonical) -> Iterator[Cell]:
    metric = as_key(record.row.get(METRIC)) or ""
    name = metric if metric in run.scores else canonical(metric) or metric
    _refuse_unscored(f"{record.where}, column '{METRIC}'", name, run)
    statement = as_key(record.row.get(STATEMENT))
    yield name, as_key(record.row.get(ANNOTATOR)) or "", statement, record.row.get(LABEL), LABEL


def _refuse_unscored(where: str, metric: str, run: ScoredRows) -> None:
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
