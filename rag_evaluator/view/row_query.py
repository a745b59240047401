"""`RowQuery`: which rows a table asks for, read from what a browser sends, and as SQL."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rag_evaluator.errors import RagEvaluatorError, did_you_mean
from rag_evaluator.report.pages import clean

MOST_ROWS, LAST = 500, 10**12  # rows of one page; an offset beyond it is no offset
SEARCH = 500  # characters
GROUP = "group:"  # before the name of a column that is no metric
NEAR = 1e-9  # what a score may be beyond a bound, as bounds are written in decimals
YES_OR_NO = {"1": True, "true": True, "0": False, "false": False, "": False}


class QueryError(RagEvaluatorError):
    """A query that makes no sense (400); the message says what was expected."""


@dataclass(frozen=True)
class RowQuery:
    """Which rows, in which order.

    Attributes:
        sort: `row`, the order of the file; `question`; `group:` with a column by which figures are grouped; a metric.
            Missing scores come last, equal ones in the order of the file.
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
        column = columns.get(self.sort, "question COLLATE NOCASE")
        return f"{column} IS NULL, {column}{down}, rows.row"


def read_query(given: Sequence[tuple[str, str]], columns: Collection[str]) -> RowQuery:
    """The query in an address. Raises `QueryError`.

    Args:
        given: names and values, in order.
        columns: what can be asked for.
    """
    values = dict(given)
    if len(values) < len(given):
        raise QueryError("Expected each part of the query once.")
    for name in values:
        if name not in RowQuery.__dataclass_fields__:
            raise QueryError(f"There is no '{name[:40]}'.{did_you_mean(name[:40], RowQuery.__dataclass_fields__)}")
    values = {name: value for name, value in values.items() if value != ""}
    query = RowQuery(
        sort=_one_of(values, "sort", ["row", "question", *columns]) or "row",
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
        raise QueryError("A range needs the metric that it is of.")
    return query


def _one_of(values: Mapping[str, str], name: str, known: Sequence[str]) -> str | None:
    value = values.get(name)
    if value is not None and value not in known:
        raise QueryError(f"{name} is '{value[:80]}', which is not there.{did_you_mean(value[:80], known)}")
    return value


def _flag(values: Mapping[str, str], name: str) -> bool:
    value = values.get(name, "0")
    if value not in YES_OR_NO:
        raise QueryError(f"{name}: expected 1 or 0.")
    return YES_OR_NO[value]


def _search(text: str) -> str:
    if len(text) > SEARCH:
        raise QueryError(f"search: expected at most {SEARCH} characters.")
    return text


def _number(values: Mapping[str, str], name: str) -> float | None:
    if name not in values:
        return None
    try:
        number = float(values[name])
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise QueryError(f"{name}: expected a number.")
    return number


def _whole(values: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = values.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 20 and low <= int(text) <= high):
        raise QueryError(f"{name}: expected a whole number from {low} to {high}.")
    return int(text)
