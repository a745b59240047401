"""The rows of tables in temporary SQLite files, in which a million of them are sorted and searched: what a browser asks
for, the index of one table, and the indexes of those that somebody looks at.
"""

import logging
import math
import sqlite3
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from rag_evaluator.errors import RagEvaluatorError, ResultsError, did_you_mean
from rag_evaluator.features.app.answers import BadRequest
from rag_evaluator.features.app.state import Stamp, stamp_of
from rag_evaluator.report.document import TEXTS, RowsOfRuns, columns_of, rows_of, worst_places
from rag_evaluator.report.pages import clean
from rag_evaluator.results.run import Run

MOST_ROWS, LAST = 500, 10**12  # rows of one page; an offset beyond it is no offset
SEARCH = 500  # characters
GROUP = "group:"  # before the name of a column that is no metric
NEAR = 1e-9  # what a score may be beyond a bound, as bounds are written in decimals
YES_OR_NO = {"1": True, "true": True, "0": False, "false": False, "": False}
BATCH = 2000  # rows written at once
logger = logging.getLogger(__name__)
MOST_INDEXES = 4  # an index holds texts of its rows: about half the disk space of scores.jsonl
READ_BY_INDEX = ("scores.jsonl", "summary.json", "manifest.json")  # files that an index depends on
Key = tuple[tuple[Path, ...], str | None]


@dataclass(frozen=True)
class RowQuery:
    """Which rows, in which order.

    Attributes:
        sort: `row`, the order of the file; `worst`, by the combined rank; `question`; `group:` with a column by which
            figures are grouped; a metric. Missing scores come last, of equal ones the worst row first.
        search: words that are all somewhere in the texts of the row, in any case.
        missing: only rows without a score of `metric`, or of any metric where none is chosen.
        metric, min, max: only rows whose score is within the range, both ends included.
        offset, limit: which of these rows.
    """

    sort: str = "row"
    descending: bool = False
    search: str = ""
    missing: bool = False
    metric: str | None = None
    min: float | None = None
    max: float | None = None
    offset: int = 0
    limit: int = 50

    @property
    def in_file_order(self) -> bool:
        """Whether all rows are asked for, as they are in the file."""
        return self.sort == "row" and not self.descending and not self.is_filtered

    @property
    def is_filtered(self) -> bool:
        """Whether some rows are left out."""
        return (self.search, self.missing, self.min, self.max) != ("", False, None, None)

    def where(self, columns: Mapping[str, str], metrics: Sequence[str]) -> tuple[str, list[float | str]]:
        """The condition, and the values for its question marks: no text of the browser's becomes a part of it.

        Args:
            columns: what can be asked for -> its column in the index.
            metrics: those of which one is missing where none is chosen.
        """
        parts, values = ["1"], list[float | str]()
        for word in clean(self.search).casefold().split():
            parts.append("instr(texts.text, ?) > 0")
            values.append(word)
        chosen = [columns[name] for name in (metrics if self.metric is None else [self.metric])]
        if self.missing:
            parts.append(f"({' OR '.join(f'{column} IS NULL' for column in chosen)})")
        for sign, bound, near in ((">=", self.min, -NEAR), ("<=", self.max, NEAR)):
            if bound is not None:
                parts.append(f"{chosen[0]} {sign} ?")
                values.append(bound + near)
        return " AND ".join(parts), values

    def order(self, columns: Mapping[str, str]) -> str:
        """What follows ORDER BY; `columns` as for `where`."""
        down = " DESC" if self.descending else ""
        if self.sort == "row":
            return f"rows.row{down}"
        if self.sort == "worst":
            return f"worst{down}"
        column = columns.get(self.sort, "question COLLATE NOCASE")
        return f"{column} IS NULL, {column}{down}, worst"


def read_query(pairs: Sequence[tuple[str, str]], columns: Collection[str]) -> RowQuery:
    """The query in an address. Raises `BadRequest`.

    Args:
        pairs: names and values, in order.
        columns: what can be asked for.
    """
    values = dict(pairs)
    if len(values) < len(pairs):
        raise BadRequest("Expected each part of the query once.")
    for name in values:
        if name not in RowQuery.__dataclass_fields__:
            raise BadRequest(f"There is no '{name[:40]}'.{did_you_mean(name[:40], RowQuery.__dataclass_fields__)}")
    values = {name: value for name, value in values.items() if value != ""}
    query = RowQuery(
        sort=_one_of(values, "sort", ["row", "worst", "question", *columns]) or "row",
        descending=_flag(values, "descending"),
        search=_search(values.get("search", "")),
        missing=_flag(values, "missing"),
        metric=_one_of(values, "metric", [name for name in columns if not name.startswith(GROUP)]),
        min=_number(values, "min"),
        max=_number(values, "max"),
        offset=_whole(values, "offset", 0, 0, LAST),
        limit=_whole(values, "limit", 50, 1, MOST_ROWS),
    )
    if query.metric is None and (query.min, query.max) != (None, None):
        raise BadRequest("A range needs the metric that it is of.")
    return query


def _one_of(values: Mapping[str, str], name: str, known: Sequence[str]) -> str | None:
    value = values.get(name)
    if value is not None and value not in known:
        raise BadRequest(f"{name} is '{value[:80]}', which is not there.{did_you_mean(value[:80], known)}")
    return value


def _flag(values: Mapping[str, str], name: str) -> bool:
    value = values.get(name, "0")
    if value not in YES_OR_NO:
        raise BadRequest(f"{name}: expected 1 or 0.")
    return YES_OR_NO[value]


def _search(text: str) -> str:
    if len(text) > SEARCH:
        raise BadRequest(f"search: expected at most {SEARCH} characters.")
    return text


def _number(values: Mapping[str, str], name: str) -> float | None:
    if name not in values:
        return None
    try:
        number = float(values[name])
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadRequest(f"{name}: expected a number.")
    return number


def _whole(values: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = values.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 20 and low <= int(text) <= high):
        raise BadRequest(f"{name}: expected a whole number from {low} to {high}.")
    return int(text)


@dataclass(frozen=True)
class RunsTable:
    """What one table shows: the rows of a run, or of several beside each other.

    Attributes:
        runs: the baseline first.
        on: the column by which their rows belong together; None for one run.
    """

    runs: Sequence[Run]
    on: str | None = None

    @property
    def columns(self) -> dict[str, str]:
        """What can be sorted and filtered by -> its column in the index: names of metrics may hold anything."""
        columns = columns_of(self.runs)
        groups = [column.key for column in columns if column.kind == "group"]
        scores = [column.key for column in columns if column.kind != "group"]
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
            _shown(place, line.row.label, line.row.question, line.row.texts, line.row.groups, line.row.scores)
            for place, line in lines
        ]


class RowIndex:
    """The rows of a table as they are now. A thread makes it; `ready` is set when that has ended.

    Args:
        table: the rows.
        path: the file of the index, not there yet.

    Attributes:
        share: how much of the rows has been read, in [0, 1].
        error: what went wrong; None if nothing did.
    """

    def __init__(self, table: RunsTable, path: Path) -> None:
        self.table, self.path, self.columns = table, path, table.columns
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
        where, values = query.where(self.columns, self.table.runs[0].metrics)
        order, source = query.order(self.columns), _source(query)
        chosen = f"SELECT row FROM {source} WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?"
        with closing(self._opened()) as index:
            rows = index.execute(
                f"SELECT * FROM shown JOIN rows USING (row) WHERE row IN ({chosen}) ORDER BY {order}",
                [*values, query.limit, query.offset],
            ).fetchall()
            counted = f"SELECT count(*) FROM {source} WHERE {where}"
            total = index.execute(counted, values).fetchone()[0] if query.is_filtered else self.all
            return total, [self._row(row) for row in rows]

    def numbers(self, row: int) -> list[int | None] | None:
        """The number that a row of the table has in each run; None if there is no such row."""
        names = ", ".join(f"n{place}" for place in range(len(self.table.runs)))
        with closing(self._opened()) as index:
            numbers = index.execute(f"SELECT {names} FROM rows WHERE row = ?", [row]).fetchone()
        return None if numbers is None else list(numbers)

    def _opened(self) -> sqlite3.Connection:
        if self.error is not None:
            raise ResultsError(self.error)
        try:
            return sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)
        except sqlite3.Error as error:  # closed meanwhile, as its rows have changed
            raise ResultsError(f"The rows have just changed ({error}). Ask again.") from error

    def _row(self, values: Sequence[Any]) -> dict[str, Any]:
        row, label, question, *cells = values
        texts, cells = dict(zip(TEXTS, cells, strict=False)), cells[len(TEXTS) :]
        named = dict(zip(self.columns, cells[1 + len(self.table.runs) :], strict=True))
        groups = {key.removeprefix(GROUP): value for key, value in named.items() if self.columns[key][0] == "g"}
        return _shown(
            row, label, question, texts, groups, {key: named[key] for key in named if self.columns[key][0] == "m"}
        )

    def _make(self) -> None:
        try:
            with closing(sqlite3.connect(self.path)) as index:
                self._fill(index)
        except Exception as error:  # nobody waits for this thread: what went wrong is for whoever asks for rows
            known = isinstance(error, RagEvaluatorError | OSError | sqlite3.Error)
            self.error = f"The rows cannot be sorted and searched: {error if known else repr(error)}"
            if not known:
                logger.exception("the index of %s", self.table.runs[0].folder)
        finally:
            self.ready.set()

    def _fill(self, index: sqlite3.Connection) -> None:
        numbers = [f"n{place}" for place in range(len(self.table.runs))]
        kinds = {"w": "INTEGER", "n": "INTEGER", "g": "TEXT", "m": "REAL"}
        columns = [f"{name} {kinds[name[0]]}" for name in ("worst", *numbers, *self.columns.values())]
        index.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
            f"CREATE TABLE rows (row INTEGER PRIMARY KEY, {', '.join(columns)});"  # what is sorted is read quickly
            f"CREATE TABLE shown (row INTEGER PRIMARY KEY, label TEXT, question TEXT, {', '.join(TEXTS)});"
            "CREATE TABLE texts (row INTEGER PRIMARY KEY, text TEXT);"
        )
        places, count = ", ".join("?" * (1 + len(columns))), max(self.table.count, 1)
        worst = worst_places(self.table.runs[0])
        lines = enumerate(rows_of(self.table.runs, self.table.on))
        while (batch := list(islice(lines, BATCH))) and not self._closed:
            values = (self._values(row, worst[row] if row < len(worst) else row, line) for row, line in batch)
            index.executemany(f"INSERT INTO rows VALUES ({places})", values)
            shown = ((row, line.row.label, line.row.question, *map(line.row.texts.get, TEXTS)) for row, line in batch)
            index.executemany(f"INSERT INTO shown VALUES (?, ?, ?{', ?' * len(TEXTS)})", shown)
            index.executemany(
                "INSERT INTO texts VALUES (?, ?)", ((row, line.row.text.casefold()) for row, line in batch)
            )
            self.all = batch[-1][0] + 1
            self.share = min(self.all / count, 1.0)
        index.commit()

    def _values(self, row: int, worst: int, line: RowsOfRuns) -> list[Any]:
        shown = line.row
        groups = {f"{GROUP}{name}": value for name, value in shown.groups.items()}
        cells = [{**groups, **shown.scores}.get(key) for key in self.columns]
        return [row, worst, *line.numbers, *cells]


def _source(query: RowQuery) -> str:
    """The tables that a query needs, and no wider one."""
    joined = {"texts": bool(query.search), "shown": query.sort == "question"}
    return "rows" + "".join(f" JOIN {name} USING (row)" for name, is_needed in joined.items() if is_needed)


def _shown(
    row: int,
    label: str | None,
    question: str,
    texts: Mapping[str, str],
    groups: Mapping[str, str],
    scores: Mapping[str, float | None],
) -> dict[str, Any]:
    """A row as the browser gets it."""
    parts = {"texts": dict(texts), "groups": dict(groups), "scores": dict(scores)}
    return {"row": row, "label": label, "question": question, **parts}


class Indexes:
    """Indexes in a temporary folder of this process."""

    def __init__(self) -> None:
        self._lock, self._numbers = Lock(), count()
        self._folder = tempfile.TemporaryDirectory(prefix="rag-evaluator-view-", ignore_cleanup_errors=True)
        self._known: dict[Key, tuple[list[Stamp], RowIndex]] = {}

    def of(self, table: RunsTable) -> RowIndex:
        """The index of a table as it is now; it may be in the making. Raises `ResultsError`."""
        key = tuple(run.folder for run in table.runs), table.on
        stamps = [stamp_of(run.folder, READ_BY_INDEX) for run in table.runs]
        with self._lock:
            before = self._known.pop(key, None)
            if before is not None and before[0] != stamps:
                before[1].close()
                before = None
            index = self._begin(table) if before is None else before[1]
            self._known[key] = stamps, index
            while len(self._known) > MOST_INDEXES:
                self._known.pop(next(iter(self._known)))[1].close()
        return index

    def close(self) -> None:
        """Remove all of them."""
        with self._lock:
            for _, index in self._known.values():
                index.close()
            self._known.clear()
            self._folder.cleanup()

    def _begin(self, table: RunsTable) -> RowIndex:
        index = RowIndex(table, Path(self._folder.name) / f"{next(self._numbers)}.sqlite")
        index.start()
        return index
