"""`RowIndex`: the rows of a run in a temporary SQLite file, so that a million of them are sorted and searched at once."""

import json
import math
import sqlite3
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from rag_evaluator.dataset.columns import ALIASES, ColumnNames
from rag_evaluator.dataset.readers.record import InputRecord
from rag_evaluator.errors import RagEvaluatorError, ResultsError
from rag_evaluator.report.pages import clean
from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.view.row_query import RowQuery, searchable

QUESTION = 300  # characters of a question in the table
BATCH = 2000  # rows written at once
SEARCHED = ("id", *(name for name in ALIASES if name != "document_score"))


@dataclass(frozen=True)
class TableRow:
    """A row as the table shows it.

    Attributes:
        groups: values of the columns by which the run's figures are grouped.
        scores: metric -> its score; None where it is missing.
    """

    row: int
    question: str
    groups: Mapping[str, str]
    scores: Mapping[str, float | None]


class RowReader:
    """Makes rows of the table from lines of `scores.jsonl`.

    Args:
        run: tells metrics, names of columns and groups.
    """

    def __init__(self, run: RunFiles) -> None:
        config = run.config
        self.metrics: Sequence[str] = run.metrics
        self.groups: Sequence[str] = list(config.get("group_by") or ())
        self.columns = ColumnNames(config.get("columns") or {})

    def table_row(self, number: int, row: Mapping[str, Any]) -> TableRow:  # Any: the users' values
        question = self._texts(row, "user_input")
        groups = {name: clean(_as_text(row[name])[:QUESTION]) for name in self.groups if row.get(name) is not None}
        scores = {name: score_of(row.get(name)) for name in self.metrics}
        return TableRow(number, clean(question[:QUESTION]), groups, scores)

    def search_text(self, row: Mapping[str, Any]) -> str:
        """All texts in which a search looks: the columns of ragas, id and groups; a line each."""
        return searchable("\n".join([*(self._texts(row, name) for name in SEARCHED), *self._group_texts(row)]))

    def _group_texts(self, row: Mapping[str, Any]) -> Iterator[str]:
        yield from (_as_text(row[name]) for name in self.groups if row.get(name) is not None)

    def _texts(self, row: Mapping[str, Any], canonical: str) -> str:
        if canonical not in ALIASES:
            return _as_text(row.get(canonical, ""))
        names = self.columns.names_of(canonical, InputRecord("", row))
        return "\n".join(_as_text(row[name]) for name in names[:1])


class RowIndex:
    """The rows of one state of a run's `scores.jsonl`. It is made by a thread; `ready` is set when that has ended.

    Args:
        run: the run.
        path: the file of the index, not there yet.

    Attributes:
        share: how much of the rows has been read, in [0, 1].
        error: what went wrong; None if nothing did.
    """

    def __init__(self, run: RunFiles, path: Path) -> None:
        self.run, self.path, self.reader = run, path, RowReader(run)
        self.ready, self.share = Event(), 0.0
        self.error: str | None = None
        self._closed = False

    def start(self) -> None:
        Thread(target=self._make, name=f"index of {self.run.folder.name}", daemon=True).start()

    def close(self) -> None:
        """Remove the file; a thread at work ends soon."""
        self._closed = True
        self.path.unlink(missing_ok=True)

    def page(self, query: RowQuery) -> tuple[int, list[TableRow]]:
        """How many rows a query finds, and those of its page. Raises `ResultsError` if the rows cannot be read."""
        if self.error is not None:
            raise ResultsError(self.error)
        metrics, groups = self.reader.metrics, self.reader.groups
        where, values = query.where(metrics)
        source = "rows JOIN texts USING (row)" if query.search else "rows"
        with closing(self._opened()) as index:
            total = index.execute(f"SELECT count(*) FROM {source} WHERE {where}", values).fetchone()[0]
            found = index.execute(
                f"SELECT rows.* FROM {source} WHERE {where} ORDER BY {query.order(metrics, groups)} LIMIT ? OFFSET ?",
                [*values, query.limit, query.offset],
            )
            return total, [self._table_row(*values) for values in found]

    def _opened(self) -> sqlite3.Connection:
        try:
            return sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)
        except sqlite3.Error as error:  # closed meanwhile, as its rows have changed
            raise ResultsError(f"{self.run.folder}: its rows have just changed ({error}). Ask again.") from error

    def _table_row(self, row: int, question: str, *values: Any) -> TableRow:
        groups, scores = values[: len(self.reader.groups)], values[len(self.reader.groups) :]
        there = {name: value for name, value in zip(self.reader.groups, groups, strict=True) if value is not None}
        return TableRow(row, question, there, dict(zip(self.reader.metrics, scores, strict=True)))

    def _make(self) -> None:
        try:
            with closing(sqlite3.connect(self.path)) as index:
                self._fill(index)
        except (RagEvaluatorError, OSError, ValueError, sqlite3.Error) as error:
            self.error = f"{self.run.folder}: its rows cannot be indexed: {error}"
        finally:
            self.ready.set()

    def _fill(self, index: sqlite3.Connection) -> None:
        columns = "".join(f", g{place} TEXT" for place in range(len(self.reader.groups)))
        columns += "".join(f", m{place} REAL" for place in range(len(self.reader.metrics)))
        index.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
            f"CREATE TABLE rows (row INTEGER PRIMARY KEY, question TEXT{columns});"
            "CREATE TABLE texts (row INTEGER PRIMARY KEY, text TEXT);"
        )
        places = ", ".join("?" * (2 + len(self.reader.groups) + len(self.reader.metrics)))
        rows: list[tuple[Any, ...]] = []
        texts: list[tuple[int, str]] = []
        offsets = array("q")
        for number, row in self._lines(offsets):
            line = self.reader.table_row(number, row)
            groups = map(line.groups.get, self.reader.groups)
            rows.append((number, line.question, *groups, *line.scores.values()))
            texts.append((number, self.reader.search_text(row)))
            if len(rows) == BATCH:
                self._write(index, places, rows, texts)
                if self._closed:
                    return
        self._write(index, places, rows, texts)
        index.commit()
        self.run.offsets = offsets

    def _write(self, index: sqlite3.Connection, places: str, rows: list[Any], texts: list[tuple[int, str]]) -> None:
        index.executemany(f"INSERT INTO rows VALUES ({places})", rows)
        index.executemany("INSERT INTO texts VALUES (?, ?)", texts)
        rows.clear()
        texts.clear()

    def _lines(self, offsets: "array[int]") -> Iterator[tuple[int, Mapping[str, Any]]]:
        """The rows with their numbers; where each line begins is added to `offsets`."""
        path, place = self.run.folder / "scores.jsonl", 0
        with path.open("rb") as file:
            size = max(path.stat().st_size, 1)
            for number, line in enumerate(file):
                offsets.append(place)
                place += len(line)
                self.share = place / size
                yield number, read_line(path, number, line)


def first_rows(run: RunFiles, offset: int, limit: int) -> list[TableRow]:
    """Rows in the order of the file, without an index. Raises `ResultsError`."""
    reader, path, found = RowReader(run), run.folder / "scores.jsonl", []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file):
                if number >= offset + limit:
                    break
                if number >= offset:
                    found.append(reader.table_row(number, read_line(path, number, line)))
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error}. 'rag-evaluator merge' writes it again.") from error
    return found


def read_line(path: Path, number: int, line: bytes) -> Mapping[str, Any]:
    """A row. Raises `ResultsError`, with its line, where it is damaged."""
    try:
        row = json.loads(line)
        if not isinstance(row, dict):
            raise ValueError("it is no object")
    except ValueError as error:
        raise ResultsError(
            f"{path}, line {number + 1}: cannot be read: {error}. 'rag-evaluator merge' writes it again."
        ) from error
    return row


def score_of(value: Any) -> float | None:
    """A score in a row; None where there is none. Any: JSON."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if number else None


def _as_text(value: Any) -> str:
    """A value as it is searched and shown: texts as they are, those of a list below each other. Any: JSON."""
    if isinstance(value, list):
        return "\n".join(map(_as_text, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
