"""What the table of rows knows of each row of a report: its question, groups, scores and the texts to search in."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rag_evaluator.dataset.columns import ALIASES, ColumnNames, as_key
from rag_evaluator.dataset.readers.json_files import InputRecord
from rag_evaluator.report.pages import clean
from rag_evaluator.results.run import Run
from rag_evaluator.results.summary import NO_VALUE

QUESTION, GROUP, SEARCHED = 300, 80, 2000  # characters of a question, of a group's name, of each text to search in
SEARCH_IN = ("id", "user_input", "response", "reference")
Row = Mapping[str, Any]  # a line of `scores.jsonl`; Any: JSON
Kind = Literal["group", "score", "difference"]


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Attributes:
        short: in the table, where there is no room for the title.
        key: by which it is sorted and filtered: the metric; `group:` and the column's name; metric and run.
        low, high: of the scores.
    """

    key: str
    title: str
    kind: Kind
    short: str | None = None
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class TableRow:
    """A row as the table shows it.

    Attributes:
        label: in place of its number: it is a row of another run only.
        groups: column -> value.
        scores: metric, or metric and run -> a score or difference; None where there is none.
        text: what is searched in.
    """

    question: str
    groups: Mapping[str, str]
    scores: Mapping[str, float | None]
    text: str
    label: str | None = None


def difference_key(metric: str, run: int) -> str:
    """The key of the differences of a run, by its place, from the first run."""
    return f"{metric} {run}-0"


class RowReader:
    """Reads what the table shows from lines of `scores.jsonl`.

    Args:
        run: tells metrics, names of columns and groups.
    """

    def __init__(self, run: Run) -> None:
        self.metrics, self.groups = run.metrics, list(run.config.get("group_by") or ())
        self.names = ColumnNames(run.config.get("columns") or {})

    def value(self, row: Row, column: str) -> Any:
        """What a row has in a column, by its own name or by that of ragas."""
        if column in row or column not in ALIASES:
            return row.get(column)
        return next((row[name] for name in self.names.names_of(column, InputRecord("", row))), None)

    def key(self, row: Row, column: str) -> str | None:
        """By which rows of runs belong together."""
        return as_key(self.value(row, column))

    def question(self, row: Row) -> str:
        return clean(_text(self.value(row, "user_input"))[:QUESTION])

    def scores(self, row: Row) -> dict[str, float | None]:
        return {metric: _score(row.get(metric)) for metric in self.metrics}

    def table_row(self, row: Row) -> TableRow:
        groups = {name: clean((as_key(self.value(row, name)) or NO_VALUE)[:GROUP]) for name in self.groups}
        texts = (clean(_text(self.value(row, name))[:SEARCHED]) for name in SEARCH_IN)
        return TableRow(self.question(row), groups, self.scores(row), "\n".join(filter(None, texts)))


def names_of(runs: Sequence[Run]) -> list[str]:
    """The names of runs; their folders where several have the same name."""
    names = [run.title for run in runs]
    return names if len(set(names)) == len(names) else [str(run.folder) for run in runs]


def columns_of(runs: Sequence[Run]) -> list[Column]:
    """The columns of the table: groups, scores of the first run, and what the others differ by."""
    first, *remaining = runs
    base, *names = names_of(runs)
    columns = [Column(f"group:{name}", name, "group") for name in first.config.get("group_by") or ()]
    for metric in first.metrics:
        low, high = first.manifest.get("metrics", {}).get(metric, {}).get("range") or (0.0, 1.0)
        columns.append(Column(metric, metric, "score", None, low, high))
        for place, (other, name) in enumerate(zip(remaining, names, strict=True), start=1):
            if metric in other.metrics:
                title = f"{metric}: {name} − {base}"
                short = f"Δ {name}"
                columns.append(
                    Column(difference_key(metric, place), title, "difference", short, low - high, high - low)
                )
    return columns


@dataclass(frozen=True)
class RowsOfRuns:
    """A line of the table: the number of its row in each run, None where a run has none; what the table shows of it."""

    numbers: tuple[int | None, ...]
    row: TableRow


def rows_of(runs: Sequence[Run], on: str | None) -> Iterator[RowsOfRuns]:
    """The lines of the table: the rows of the first run in order, then those that only others have.

    Args:
        on: the column by which rows of several runs belong together.
    """
    readers = [RowReader(run) for run in runs]
    partners = [_Partners(run, reader, on) for run, reader in zip(runs[1:], readers[1:], strict=True) if on is not None]
    for number, row in enumerate(runs[0].rows()):
        key = None if on is None else readers[0].key(row, on)
        matches = [other.take(key) for other in partners]
        shown = readers[0].table_row(row)
        differences = {
            difference_key(metric, place): _minus(scores[metric] if scores else None, shown.scores[metric])
            for place, (_, scores) in enumerate(matches, start=1)
            for metric in readers[0].metrics
            if metric in partners[place - 1].reader.metrics
        }
        both = TableRow(shown.question, shown.groups, {**shown.scores, **differences}, shown.text)
        yield RowsOfRuns((number, *(partner for partner, _ in matches)), both)
    for place, other in enumerate(partners, start=1):
        for partner, line in other.left():
            label = f"{names_of(runs)[place]}: {partner}"
            alone = other.reader.table_row(line)
            numbers = (*([None] * place), partner, *([None] * (len(partners) - place)))
            groups = {name: alone.groups.get(name, "") for name in readers[0].groups}
            yield RowsOfRuns(numbers, TableRow(alone.question, groups, {}, alone.text, label))


class _Partners:
    """The rows of another run by what they are matched on; several with the same key are taken in order."""

    def __init__(self, run: Run, reader: RowReader, on: str) -> None:
        self.run, self.reader = run, reader
        self.scores: list[dict[str, float | None]] = []
        self.by_key: dict[str | None, list[int]] = {}
        for number, row in enumerate(run.rows()):
            self.scores.append(reader.scores(row))
            self.by_key.setdefault(reader.key(row, on), []).append(number)
        self.unmatched = set(range(len(self.scores)))

    def take(self, key: str | None) -> tuple[int | None, Mapping[str, float | None] | None]:
        """The next row with a key, and its scores."""
        numbers = self.by_key.get(key) if key is not None else None
        if not numbers:
            return None, None
        self.unmatched.discard(numbers[0])
        return numbers[0], self.scores[numbers.pop(0)]

    def left(self) -> Iterator[tuple[int, Row]]:
        """The rows that nothing was matched with."""
        return ((number, row) for number, row in enumerate(self.run.rows()) if number in self.unmatched)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _score(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) <= sys.float_info.max else None


def _minus(value: float | None, other: float | None) -> float | None:
    return None if value is None or other is None else value - other
