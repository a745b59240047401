"""`RowIndex`: the rows of a table in a temporary SQLite file, in which a million of them are sorted and searched."""

import logging
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Event, Thread
from typing import Any

from rag_evaluator.errors import RagEvaluatorError, ResultsError
from rag_evaluator.report.rows_index import RowsOfRuns, columns_of, rows_of
from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.view.row_query import GROUP, RowQuery

BATCH = 2000  # rows written at once
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tabled:
    """What one table shows: the rows of a run, or of several beside each other.

    Attributes:
        runs: the baseline first.
        on: the column by which their rows belong together; None for one run.
    """

    runs: Sequence[RunFiles]
    on: str | None = None

    @property
    def columns(self) -> dict[str, str]:
        """What can be sorted and filtered by -> its column in the index: names of metrics may hold anything."""
        found = columns_of(self.runs)
        groups = [column.key for column in found if column.kind == "group"]
        scores = [column.key for column in found if column.kind != "group"]
        return {
            key: f"{kind}{place}" for kind, keys in (("g", groups), ("m", scores)) for place, key in enumerate(keys)
        }

    @property
    def count(self) -> int:
        """Rows of the first run."""
        return self.runs[0].count

    def first(self, offset: int, limit: int) -> list[dict[str, Any]]:
        """Rows in their order, as the browser gets them, without an index. Raises `ResultsError`."""
        lines = enumerate(islice(rows_of(self.runs, self.on), offset, offset + limit), start=offset)
        return [
            _shown(place, line.row.label, line.row.question, line.row.groups, line.row.scores) for place, line in lines
        ]


class RowIndex:
    """The rows of a table as they are now. A thread makes it; `ready` is set when that has ended.

    Args:
        tabled: the rows.
        path: the file of the index, not there yet.

    Attributes:
        share: how much of the rows has been read, in [0, 1].
        error: what went wrong; None if nothing did.
    """

    def __init__(self, tabled: Tabled, path: Path) -> None:
        self.tabled, self.path, self.columns = tabled, path, tabled.columns
        self.ready, self.share, self.all = Event(), 0.0, 0
        self.error: str | None = None
        self._closed = False

    def start(self) -> None:
        Thread(target=self._make, name="index of rows", daemon=True).start()

    def close(self) -> None:
        """Remove the file; a thread at work ends soon."""
        self._closed = True
        self.path.unlink(missing_ok=True)

    def page(self, query: RowQuery) -> tuple[int, list[dict[str, Any]]]:
        """How many rows a query finds, and those of its page. Raises `ResultsError` if the rows cannot be read."""
        where, values = query.where(self.columns, self.tabled.runs[0].metrics)
        order, source = query.order(self.columns), _source(query)
        chosen = f"SELECT row FROM {source} WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?"
        with closing(self._opened()) as index:
            found = index.execute(
                f"SELECT * FROM shown JOIN rows USING (row) WHERE row IN ({chosen}) ORDER BY {order}",
                [*values, query.limit, query.offset],
            ).fetchall()
            counted = f"SELECT count(*) FROM {source} WHERE {where}"
            total = index.execute(counted, values).fetchone()[0] if query.is_filtered else self.all
            return total, [self._row(row) for row in found]

    def numbers(self, row: int) -> list[int | None] | None:
        """The number that a row of the table has in each run; None if there is no such row."""
        names = ", ".join(f"n{place}" for place in range(len(self.tabled.runs)))
        with closing(self._opened()) as index:
            found = index.execute(f"SELECT {names} FROM rows WHERE row = ?", [row]).fetchone()
        return None if found is None else list(found)

    def _opened(self) -> sqlite3.Connection:
        if self.error is not None:
            raise ResultsError(self.error)
        try:
            return sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)
        except sqlite3.Error as error:  # closed meanwhile, as its rows have changed
            raise ResultsError(f"The rows have just changed ({error}). Ask again.") from error

    def _row(self, values: Sequence[Any]) -> dict[str, Any]:
        row, label, question, *cells = values
        named = dict(zip(self.columns, cells[len(self.tabled.runs) :], strict=True))
        groups = {key.removeprefix(GROUP): value for key, value in named.items() if self.columns[key][0] == "g"}
        return _shown(row, label, question, groups, {key: named[key] for key in named if self.columns[key][0] == "m"})

    def _make(self) -> None:
        try:
            with closing(sqlite3.connect(self.path)) as index:
                self._fill(index)
        except Exception as error:  # nobody waits for this thread: what went wrong is for whoever asks for rows
            known = isinstance(error, RagEvaluatorError | OSError | sqlite3.Error)
            self.error = f"The rows cannot be sorted and searched: {error if known else repr(error)}"
            if not known:
                logger.exception("the index of %s", self.tabled.runs[0].folder)
        finally:
            self.ready.set()

    def _fill(self, index: sqlite3.Connection) -> None:
        numbers = [f"n{place}" for place in range(len(self.tabled.runs))]
        kinds = {"n": "INTEGER", "g": "TEXT", "m": "REAL"}
        columns = [f"{name} {kinds[name[0]]}" for name in (*numbers, *self.columns.values())]
        index.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
            f"CREATE TABLE rows (row INTEGER PRIMARY KEY, {', '.join(columns)});"  # what is sorted is read quickly
            "CREATE TABLE shown (row INTEGER PRIMARY KEY, label TEXT, question TEXT);"
            "CREATE TABLE texts (row INTEGER PRIMARY KEY, text TEXT);"
        )
        places, count = ", ".join("?" * (1 + len(columns))), max(self.tabled.count, 1)
        lines = enumerate(rows_of(self.tabled.runs, self.tabled.on))
        while (batch := list(islice(lines, BATCH))) and not self._closed:
            index.executemany(f"INSERT INTO rows VALUES ({places})", (self._values(*numbered) for numbered in batch))
            shown = ((row, line.row.label, line.row.question) for row, line in batch)
            index.executemany("INSERT INTO shown VALUES (?, ?, ?)", shown)
            index.executemany(
                "INSERT INTO texts VALUES (?, ?)", ((row, line.row.text.casefold()) for row, line in batch)
            )
            self.all = batch[-1][0] + 1
            self.share = min(self.all / count, 1.0)
        index.commit()

    def _values(self, row: int, line: RowsOfRuns) -> list[Any]:
        shown = line.row
        groups = {f"{GROUP}{name}": value for name, value in shown.groups.items()}
        cells = [{**groups, **shown.scores}.get(key) for key in self.columns]
        return [row, *line.numbers, *cells]


def _source(query: RowQuery) -> str:
    """The tables that a query needs, and no wider one."""
    joined = {"texts": bool(query.search), "shown": query.sort == "question"}
    return "rows" + "".join(f" JOIN {name} USING (row)" for name, is_needed in joined.items() if is_needed)


def _shown(
    row: int, label: str | None, question: str, groups: Mapping[str, str], scores: Mapping[str, float | None]
) -> dict[str, Any]:
    """A row as the browser gets it."""
    return {"row": row, "label": label, "question": question, "groups": dict(groups), "scores": dict(scores)}
