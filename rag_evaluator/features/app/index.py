"""`RowIndex`: the rows of a table in a temporary SQLite database, where a million of them are sorted and searched."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from rag_evaluator.report import TableRow, clean, columns_of, rows_of, worst_places
from rag_evaluator.results import Run

from .answers import BadRequest

GROUP = "group:"  # before the name of a column that is no metric
WORK = "group:judge's work"  # a list of flags
NEAR = 1e-9  # what a score may be beyond a bound, as bounds are written in decimals


class RowQuery(BaseModel):
    """Which rows, in which order.

    Attributes:
        sort: `row`, the order of the file; `worst`, by the combined rank; `question`; `group:` with a column by which
            figures are grouped; a metric. Missing scores come last, of equal ones the worst row first.
        search: words that are all somewhere in the texts of the row, in any case.
        missing: only rows without a score of `metric`, or of any metric where none is chosen.
        metric, min, max: only rows whose score is within the range, both ends included.
        groups: key of a column -> only rows of this group, or with this flag.
        offset, limit: which of these rows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    sort: str = "row"
    descending: bool = False
    search: str = Field("", max_length=500)
    missing: bool = False
    metric: str | None = None
    min: FiniteFloat | None = None
    max: FiniteFloat | None = None
    groups: dict[str, str] = {}
    offset: int = Field(0, ge=0, le=10**12)
    limit: int = Field(50, ge=1, le=500)

    @property
    def in_file_order(self) -> bool:
        """Whether all rows are asked for, as they are in the file."""
        return self.model_dump(exclude={"offset", "limit"}) == RowQuery().model_dump(exclude={"offset", "limit"})

    def where(self, columns: Mapping[str, str], metrics: Sequence[str]) -> tuple[str, list[float | str]]:
        """Return the condition, and the values for its question marks: no text of the browser's becomes a part of it.

        Args:
            columns: what can be asked for -> its column in the index.
            metrics: those of which one is missing where none is chosen.
        """
        parts = ["1"]
        values = list[float | str]()
        for word in clean(self.search).casefold().split():
            parts.append("instr(searched, ?) > 0")
            values.append(word)
        chosen = [columns[name] for name in (metrics if self.metric is None else [self.metric])]
        if self.missing:
            parts.append(f"({' OR '.join(f'{column} IS NULL' for column in chosen)})")
        for sign, bound, near in ((">=", self.min, -NEAR), ("<=", self.max, NEAR)):
            if bound is not None:
                parts.append(f"{chosen[0]} {sign} ?")
                values.append(bound + near)
        for name, group in self.groups.items():
            parts.append(
                "instr(', ' || " + columns[name] + " || ', ', ?) > 0" if name == WORK else f"{columns[name]} = ?"
            )
            values.append(f", {group}, " if name == WORK else group)
        return " AND ".join(parts), values

    def order(self, columns: Mapping[str, str]) -> str:
        """Return what follows ORDER BY; `columns` as for `where`."""
        down = " DESC" if self.descending else ""
        if self.sort in ("row", "worst"):
            return f"{self.sort}{down}"
        column = columns.get(self.sort, "question COLLATE NOCASE")
        return f"{column} IS NULL, {column}{down}, worst"


def read_query(values: Mapping[str, str], runs: Sequence[Run]) -> RowQuery:
    """Read the query of an address, for the table of runs. Raises `BadRequest`."""
    given = {name: value for name, value in values.items() if value != "" and not name.startswith(GROUP)}
    groups = {name: value for name, value in values.items() if value != "" and name.startswith(GROUP)}
    try:
        query = RowQuery.model_validate({**given, "groups": groups})
    except ValidationError as error:
        raise BadRequest(f"The query of this address cannot be read: {error}.") from error
    columns = [column.key for column in columns_of(runs)]
    metrics = [name for name in columns if not name.startswith(GROUP)]
    if query.sort not in ("row", "worst", "question", *columns) or query.metric not in (None, *metrics):
        raise BadRequest(f"There is no column {query.metric or query.sort!r:.80}.")
    if unknown := groups.keys() - set(columns):
        raise BadRequest(f"There is no column {min(unknown)!r:.80}.")
    if query.metric is None and (query.min, query.max) != (None, None):
        raise BadRequest("A range needs the metric that it is of.")
    return query


class RunsTable(NamedTuple):
    """What one table shows: rows of runs, the baseline first, that belong together by a column; None for one run."""

    runs: Sequence[Run]
    on: str | None


def first_rows(run: Run, offset: int, limit: int) -> list[dict[str, Any]]:
    """Return rows in their order, as the browser gets them, without an index."""
    return [_shown(number, row) for number, row in islice(enumerate(rows_of([run], None)), offset, offset + limit)]


class RowIndex:
    """The rows of a table as they are when it is made. Its database is a file of SQLite's own, gone with this object.

    Attributes:
        count: of all rows.
    """

    def __init__(self, table: RunsTable) -> None:
        self.table = table
        self._lock = Lock()
        # what can be sorted and filtered by -> its column in the index: names of metrics may hold anything
        self.columns = {column.key: f"c{place}" for place, column in enumerate(columns_of(table.runs))}
        self._database = sqlite3.connect("", check_same_thread=False)
        groups = [key for key in self.columns if key.startswith(GROUP)]
        kinds = [f"{column} {'TEXT' if key in groups else 'REAL'}" for key, column in self.columns.items()]
        self._database.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
            f"CREATE TABLE rows ({', '.join(['row INTEGER PRIMARY KEY', 'worst INTEGER', *kinds])});"  # read quickly
            "CREATE TABLE texts (row INTEGER PRIMARY KEY, numbers TEXT, question TEXT, shown TEXT, searched TEXT)"
        )
        worst = worst_places(table.runs[0])
        self.count = 0
        places = ", ".join("?" * (2 + len(kinds)))
        for number, row in enumerate(rows_of(table.runs, table.on)):
            cells = {**{f"{GROUP}{name}": value for name, value in row.groups.items()}, **row.scores}
            place = worst[number] if number < len(worst) else number
            self._database.execute(
                f"INSERT INTO rows VALUES ({places})", [number, place, *map(cells.get, self.columns)]
            )
            texts = json.dumps(row.numbers), row.question, json.dumps(_shown(number, row)), row.searched.casefold()
            self._database.execute("INSERT INTO texts VALUES (?, ?, ?, ?, ?)", [number, *texts])
            self.count = number + 1

    def page(self, query: RowQuery) -> tuple[int, list[dict[str, Any]]]:
        """Return how many rows a query finds, and those of its page."""
        where, values = query.where(self.columns, self.table.runs[0].metrics)
        joined = " JOIN texts USING (row)" if query.search or query.sort == "question" else ""
        found = f"FROM rows{joined} WHERE {where}"
        ordered = f"SELECT row {found} ORDER BY {query.order(self.columns)} LIMIT ? OFFSET ?"
        with self._lock:
            [[total]] = self._database.execute(f"SELECT count(*) {found}", values)
            rows = self._database.execute(ordered, [*values, query.limit, query.offset]).fetchall()
            shown = [self._database.execute("SELECT shown FROM texts WHERE row = ?", row).fetchone() for row in rows]
        return total, [json.loads(text) for [text] in shown]

    def numbers(self, row: int) -> list[int | None] | None:
        """Return the number that a row of the table has in each run; None if there is no such row."""
        with self._lock:
            numbers = self._database.execute("SELECT numbers FROM texts WHERE row = ?", [row]).fetchone()
        return None if numbers is None else list(json.loads(numbers[0]))


def _shown(number: int, row: TableRow) -> dict[str, Any]:
    """Return a row as the browser gets it."""
    parts = {"texts": row.texts, "groups": row.groups, "scores": row.scores}
    return {"row": number, "label": row.label, "question": row.question, **parts}
