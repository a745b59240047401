"""Labels that people gave, read from tables: to which row of a run each line belongs, and what it says."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rag_evaluator.config import find_language
from rag_evaluator.dataset import (
    ID,
    LABEL_EXPECTED,
    InputRecord,
    accepted_names,
    as_key,
    column_names,
    is_blank,
    is_word,
    label_of,
    read_records,
)
from rag_evaluator.errors import ConfigError, DatasetError, did_you_mean
from rag_evaluator.files import folder_names
from rag_evaluator.metrics import canonical_name
from rag_evaluator.results import DETAILS, QUESTION, Run, ScoredRows, keys_of, probabilities_of, row_name
from rag_evaluator.verifiers import labels_by_spans

from .draws import DrawRecord, read_draw
from .sheet import ANNOTATOR, DRAW, LABEL, METRIC, ROW, SAMPLE, STATEMENT

logger = logging.getLogger(__name__)

RowOf = Callable[[InputRecord], int | None]  # None for a line without any cell
Cell = tuple[str, str, str | None, str]  # metric, annotator, statement, column


def key_of(name: str, columns: Sequence[str], run: Run) -> RowOf:
    """What finds the row of a line, by the first of `row`, `sample`, `id` and the question that the table has.

    All of them that a line has must be of the same row; but where the digest of all that the row has is right, a
    question that was shortened for people is none. Its errors are `DatasetError` with the line.
    """
    known = [column for column in (ROW, SAMPLE, ID, *accepted_names(QUESTION)) if column in columns]
    if not known:
        raise DatasetError(
            f"{name}: no column says which row a label is about. Expected 'row' (from 0, as in {DETAILS}), 'sample', "
            f"'id' or the question; received {', '.join(map(repr, columns))}."
        )
    if known == [ROW]:
        first = row_name(0, run.samples[0].row)
        logger.warning("%s: 'row' counts from 0, as in %s: row 0 is the row that is called %s", name, DETAILS, first)
    column = known[0]
    keys = {each: [_folded(key) for key in _run_keys(run, each)] for each in known}
    rows_by: dict[str | None, list[int]] = {}
    for row, key in enumerate(keys[column]):
        rows_by.setdefault(key, []).append(row)

    def row_of(record: InputRecord) -> int | None:
        cells = {each: _folded(as_key(record.row.get(each))) for each in keys}
        if not any(as_key(cell) for cell in record.row.values()):
            return None
        if cells[column] is None:
            raise DatasetError(f"{record.where}: '{column}' is blank, so that its labels belong to no row.")
        rows = rows_by.get(cells[column], [])
        if len(rows) != 1:
            raise DatasetError(
                f"{record.where}: {len(rows) or 'no'} rows of {run.name} have the {column} {cells[column]!r:.60}. "
                f"Give the number of the row, from 0 to {len(run.samples) - 1}, in a column 'row'."
            )
        for other in [SAMPLE] if cells.get(SAMPLE) else keys:
            if cells[other] is not None and keys[other][rows[0]] not in (None, cells[other]):
                raise DatasetError(
                    f"{record.where}: '{column}' is {cells[column]!r:.60}, but '{other}' {cells[other]!r:.60} is not "
                    f"that of this row of {run.name}. Rows count from 0, as in {DETAILS}. Give the results that the "
                    "labels are about, or remove the column that is wrong."
                )
        return rows[0]

    return row_of


def _folded(key: str | None) -> str | None:
    """Line breaks and blanks are the first that tables change."""
    return None if key is None else " ".join(key.split())


def _run_keys(run: Run, column: str) -> Sequence[str | None]:
    if column == ROW:
        return [str(place) for place in range(len(run.samples))]
    if column == SAMPLE:
        return run.digests
    return keys_of(run.samples, QUESTION if column in accepted_names(QUESTION) else column)


@dataclass(frozen=True)
class Label:
    """What a person said of one row, or of one statement that the judge judged there.

    Attributes:
        row: place of the row in the run.
        annotator: empty where the table names none.
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


def votes_of(labels: Iterable[Label]) -> dict[tuple[int, str], list[Label]]:
    """The labels of each statement, by annotator."""
    votes: dict[tuple[int, str], list[Label]] = {}
    for label in labels:
        if label.statement is not None:
            votes.setdefault((label.row, label.statement), []).append(label)
    return votes


@dataclass(frozen=True)
class LabelTable:
    """The labels of one source.

    Attributes:
        name: of the source, for messages.
        labels: without the blank cells.
        draw: that its rows come from, as a label sheet says; None: no such draw.
    """

    name: str
    labels: Sequence[Label]
    draw: DrawRecord | None = None


def read_labels(path: Path, run: Run) -> LabelTable:
    """The labels in a file.

    Raises `DatasetError` with file, line and column for a key that no row has, a key that is there twice, a cell that
    is no label; `ResultsError` for a draw that the run does not have.
    """
    name, lines = read_records(path)
    records = list(lines)
    columns = column_names(record.row for record in records)
    cells_of = _layout(name, columns, run)
    row_of = key_of(name, columns, run)
    labels = [
        label
        for record in records
        if (row := row_of(record)) is not None
        for cell_of in cells_of(record)
        if (label := _label(record, row, cell_of))
    ]
    _refuse_twice(labels)
    draws = sorted({draw for record in records if (draw := as_key(record.row.get(DRAW)))})
    if len(draws) > 1:
        raise DatasetError(f"{name}: its rows come from {len(draws)} draws: certify the labels of one at a time.")
    return LabelTable(name, labels, read_draw(run.folder, draws[0], run.data) if draws else None)


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
    labels = [
        replace(label, annotator=label.annotator or names[path])
        for table, path in zip(tables, whole, strict=True)
        for label in table.labels
    ]
    _refuse_twice(labels)
    if any(table.draw != tables[0].draw for table in tables):
        raise DatasetError(
            f"{name}: these sheets come from different draws. Certify the labels of one at a time: a sheet that is "
            "made after that holds the labels that its rows have."
        )
    return LabelTable(name, labels, tables[0].draw)


def labels_in_column(run: ScoredRows, metric: str, column: str) -> LabelTable:
    """The labels in a column of the run's own rows. Raises `DatasetError`; `ConfigError` for a column of scores."""
    if {column, canonical_name(column)} & run.scores.keys():
        raise ConfigError(
            f"--label {metric}={column}: '{column}' holds scores of {run.name}. Name a column with people's labels; if "
            f"labels of the dataset have this name, give them as a file: --labels FILE."
        )
    if not any(column in sample.row for sample in run.samples):
        known = column_names(sample.row for sample in run.samples)
        hint = did_you_mean(column, known)
        raise DatasetError(f"--label {metric}={column}: no row of {run.name} has this column.{hint}")
    if any(isinstance(sample.row.get(column), list) for sample in run.samples):
        return LabelTable(f"column '{column}'", _by_spans(run, metric, column))
    cell_of = metric, "", None, column
    records = (InputRecord(sample.where, sample.row) for sample in run.samples)
    labels = [label for place, record in enumerate(records) if (label := _label(record, place, cell_of))]
    return LabelTable(f"column '{column}'", labels)


def _by_spans(run: ScoredRows, metric: str, column: str) -> list[Label]:
    """Labels of the sentences that a verifier looked at. Raises `DatasetError` where there are none."""
    language = find_language(run.config.get("language") or "english")
    cells = {(row, metric) for row, sample in enumerate(run.samples) if sample.row.get(column) is not None}
    labels = [
        Label(row, metric, "", text, value, f"{run.samples[row].where}, column '{column}'")
        for (row, _), records in run.records(cells).items()
        for text, value in labels_by_spans(run.samples[row], column, language).items()
        if value is not None and text in probabilities_of(records[0])
    ]
    if not labels:
        advice = "Spans label sentences of the response, each of which groundedness looks at."
        raise DatasetError(f"--label {metric}={column}: it holds spans, and {metric} has no such sentences. {advice}")
    return labels


def _label(record: InputRecord, row: int, cell_of: Cell) -> Label | None:
    """What a cell says; None for a blank one."""
    metric, annotator, statement, column = cell_of
    cell = record.row.get(column)
    where = f"{record.where}, column '{column}'"
    if is_blank(cell):
        return None
    try:
        return Label(row, metric, annotator, statement, label_of(cell), where, is_word(cell))
    except ValueError:
        raise DatasetError(f"{where}: {cell!r:.60} is no label. {LABEL_EXPECTED}") from None


def metric_named(column: str, run: ScoredRows) -> tuple[str, str] | None:
    """Metric and annotator of a column: `faithfulness`, or `faithfulness.anna`; None for a column of something else."""
    for metric, _, annotator in ((column, "", ""), column.partition("."), column.rpartition(".")):
        if name := name_in(run, metric):
            return name, annotator.strip()
    return None


def name_in(run: ScoredRows, metric: str) -> str | None:
    """The name that a metric has in a run, or in the table of metrics; None for what is no metric."""
    return metric if metric in run.scores else canonical_name(metric)


def _layout(name: str, columns: Sequence[str], run: ScoredRows) -> Callable[[InputRecord], Iterator[Cell]]:
    """Long if there are the columns `metric` and `label`, else wide: what gives the cells of a line."""
    if METRIC in columns and LABEL in columns:
        return lambda record: _long(record, run)
    wide = {column: named for column in columns if (named := metric_named(column, run))}
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
        yield metric, ".".join(filter(None, (line, annotator))), None, column


def _long(record: InputRecord, run: ScoredRows) -> Iterator[Cell]:
    metric = as_key(record.row.get(METRIC)) or ""
    name = name_in(run, metric) or metric
    _refuse_unscored(f"{record.where}, column '{METRIC}'", name, run)
    yield name, as_key(record.row.get(ANNOTATOR)) or "", as_key(record.row.get(STATEMENT)), LABEL


def _refuse_unscored(where: str, metric: str, run: ScoredRows) -> None:
    if metric not in run.scores:
        raise DatasetError(f"{where}: {run.name} has no scores of '{metric}'.{did_you_mean(metric, run.scores)}")


def _refuse_twice(labels: Sequence[Label]) -> None:
    seen: dict[tuple[int, str, str, str | None], Label] = {}
    for label in labels:
        key = (label.row, label.metric, label.annotator, label.statement)
        if (other := seen.setdefault(key, label)) is not label:
            who = f" by {label.annotator}" if label.annotator else ""
            raise DatasetError(
                f"{label.where}: a second label of row {label.row}{who}; the first is in {other.where}. Remove one of "
                "them, or name who gave each in a column 'annotator'."
            )
