"""The table of rows, of report and app: its columns, and what it shows of each row of a run, or of several."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

import numpy as np

from rag_evaluator.dataset import ALIASES, TURN, accepted_names, as_key, value_of
from rag_evaluator.files import Json, JsonDict, folder_names
from rag_evaluator.results import NO_VALUE, WORST_QUARTER, Run, own_name, samples_of, worst_first

from .charts import in_order
from .pages import beginning, clean

# characters of a group's name, of each text to search in
GROUP = 80
SEARCHED = 2000
MOST_VALUES = 200  # to choose from
WORK = "judge's work"  # the column of flags, where any row has one
RESPONSE = "response"
TEXTS = (RESPONSE, "reference")  # beside the question, where one run is shown
FEW = 4  # metrics, whose scores of two runs leave room for their responses
FIRST = 50  # rows that are looked at to find out which of them there are
SEARCH_IN = ("id", "user_input", "response", "reference")
PARTS = {"worst": "Worst rows", "means": "Means", "rows": "All rows", "spread": "Charts", "what": "What was run"}
COMPARED_PARTS = {"content": "Figures", "worst-1": "Worst rows", "rows": "All rows", "what-0": "What was run"}
Row = Json  # a line of `scores.jsonl`; Any: JSON
Scores = Mapping[str, float | None]


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Attributes:
        key: by which it is sorted and filtered: the metric; `group:` and the column's name; metric and run.
        short: in the table, where there is no room for the title.
        better: which end of the scores is the better one.
        ends: the range of the scores; None where nobody knows it.
        values: of a group column, those that rows can be filtered by.
        quarter: the score that a quarter of the run's is worse than: those are marked. None: nobody knows it.
        shown: the key of the scores that a column of differences shows, with an arrow where they differ.
    """

    key: str
    title: str
    kind: Literal["group", "score", "difference"]
    short: str | None = None
    better: str = "higher"
    ends: tuple[float, float] | None = None
    shown: str | None = None
    quarter: float | None = None
    values: Sequence[str] = ()


@dataclass(frozen=True)
class TableRow:
    """A row as the table shows it.

    Attributes:
        numbers: of the row in each run, None where a run has none.
        label: its own name, see `own_name`; without one it is called by its number, from 1. Of a row of another
            run only also the name of the run.
        texts: column -> the beginning of its text.
        groups: column -> value.
        scores: metric, metric and run, or both and the first run -> a score or difference; None where there is none.
        searched: what is searched in.
    """

    numbers: Sequence[int | None]
    label: str | None
    question: str
    texts: Mapping[str, str]
    groups: Mapping[str, str]
    scores: Scores
    searched: str


def names_of(runs: Sequence[Run]) -> list[str]:
    """Return the names of runs; what tells their folders apart where several have the same name."""
    names = [run.title for run in runs]
    folders = folder_names([str(run.folder) for run in runs])
    return names if len(set(names)) == len(names) else [folders[str(run.folder)] for run in runs]


def difference_key(metric: str, run: int) -> str:
    """Return the key of the differences of a run, by its place, from the first run."""
    return f"{metric} {run}-0"


def own_key(name: str, run: int) -> str:
    """Return the key of a metric's scores, or of the responses, of a run, by its place; the first run's is the name."""
    return f"{name} {run}"


def table_values(runs: Sequence[Run]) -> JsonDict:
    """What `run.html` shows around the rows, and the parts of the page that it links to. Any: see there."""
    parts = PARTS if len(runs) == 1 else COMPARED_PARTS
    lines_of = names_of(runs)[0] if len(runs) > 1 else ""
    return {"columns": columns_of(runs), "texts": texts_of(runs), "parts": parts.items(), "lines_of": lines_of}


def columns_of(runs: Sequence[Run]) -> list[Column]:
    """Return the columns of the table: groups, scores of the first run, and those of the others by the difference."""
    first, *remaining = runs
    base, *others = names_of(runs)
    columns = [Column(f"group:{name}", name, "group", values=_values_of(first, name)) for name in first.group_by]
    if first.flags:
        names = sorted({name for of_row in first.flags.values() for name in of_row})
        columns.append(Column(f"group:{WORK}", WORK, "group", values=names))
    for metric in first.metrics:
        about = first.manifest.get("metrics", {}).get(metric, {})
        better = about.get("better") or "higher"
        ends = about.get("range")
        quarter = first.summary.get(metric, {}).get(WORST_QUARTER)
        of_base = f"{metric}: {base}" if remaining else None
        columns.append(Column(metric, of_base or metric, "score", of_base, better, ends, quarter=quarter))
        for place, (other, name) in enumerate(zip(remaining, others, strict=True), start=1):
            if metric in other.metrics:
                title = f"{metric}: {name} − {base}"
                shown = own_key(metric, place)
                key = difference_key(metric, place)
                quarter = other.summary.get(metric, {}).get(WORST_QUARTER)
                columns.append(Column(key, title, "difference", name, better, ends, shown, quarter))
    return columns


def _values_of(run: Run, column: str) -> list[str]:
    """Return the groups of a column by name, from the summary; where it has none, from the rows."""
    known = next((row["groups"][column] for row in run.summary.values() if column in row.get("groups", {})), None)
    reader = _Reader(run)
    groups = known if known is not None else {reader.key(row, column) or NO_VALUE for row in run.rows()}
    return in_order(map(group_name, groups))[:MOST_VALUES]


def group_name(value: str) -> str:
    """Return a group as the table calls it."""
    return clean(value[:GROUP])


def texts_of(runs: Sequence[Run]) -> dict[str, str]:
    """Return the texts beside the question, key -> heading: those that one of the first rows has.

    Of two runs the responses of both, where the scores of few metrics leave room for them; of more runs none.
    """
    reader = _Reader(runs[0])
    first = list(islice(runs[0].rows(), FIRST))
    texts = [column for column in TEXTS if any(reader.text(row, column) for row in first)]
    if len(runs) == 1:
        return {column: column.capitalize() for column in texts}
    if len(runs) > 2 or len(runs[0].metrics) > FEW or RESPONSE not in texts:
        return {}
    keys = (RESPONSE, own_key(RESPONSE, 1))
    return {key: f"Response, {name}" for key, name in zip(keys, names_of(runs), strict=True)}


def worst_places(run: Run) -> list[int]:
    """Return the place of each row among all of them, the worst first, by the combined rank (`RANK_RULE`)."""
    places: list[int] = np.argsort(worst_first(run.tally)).tolist()
    return places


def rows_of(runs: Sequence[Run], on: str | None) -> Iterator[TableRow]:
    """Yield the rows of the first run in order, then those that only others have.

    Args:
        on: the column by which rows of several runs belong together; None for one run.
    """
    first = _Reader(runs[0])
    names = names_of(runs)
    others = [] if on is None else [_Partners(run, on) for run in runs[1:]]
    for number, row in enumerate(runs[0].rows()):
        scores = first.scores(row)
        numbers = list[int | None]([number])
        responses = dict[str, str]()
        for place, other in enumerate(others, start=1):
            partner, theirs = other.take(first.key(row, other.on))
            numbers.append(partner)
            for metric in filter(other.reader.metrics.__contains__, first.metrics):
                own = scores[metric]
                their = theirs.get(metric)
                scores[own_key(metric, place)] = their
                scores[difference_key(metric, place)] = None if own is None or their is None else their - own
            if partner is not None:
                responses[own_key(RESPONSE, place)] = other.responses[partner]
        shown = first.table_row(row, numbers, scores)
        yield replace(shown, texts={**shown.texts, **responses})
    for place, other in enumerate(others, start=1):
        for number, row in enumerate(runs[place].rows()):
            if number in other.left:
                scores = {own_key(metric, place): score for metric, score in other.left[number].items()}
                numbers = [number if run == place else None for run in range(len(runs))]
                alone = other.reader.table_row(row, numbers, scores)
                names_shown = [*first.groups, *([WORK] if first.flags else [])]
                groups = {name: alone.groups.get(name, "") for name in names_shown}
                label = f"{names[place]}: {alone.label or number + 1}"
                texts = {own_key(RESPONSE, place): alone.texts[RESPONSE]}
                yield replace(alone, groups=groups, label=label, texts=texts)


class _Reader:
    """Reads what the table shows from lines of the `scores.jsonl` of a run."""

    def __init__(self, run: Run) -> None:
        self.config = run.config
        self.metrics = run.metrics
        self.groups = run.group_by
        self.flags = run.flags
        self.mapping = run.config.get("columns") or {}

    def value(self, row: Row, column: str) -> Any:
        """What a row has in one of its own columns, or in one of ragas' by any accepted name."""
        mapped = [name for name, canonical in self.mapping.items() if canonical == column]
        names = [*mapped, column, *(accepted_names(column) if column in ALIASES else ())]
        return next((row[name] for name in names if row.get(name) is not None), None)

    def key(self, row: Row, column: str) -> str | None:
        """What a row is grouped or matched by, as text: a turn's number, a question with the turns before it."""
        if TURN not in self.groups:
            return as_key(self.value(row, column))
        mapping = {name: canonical for name, canonical in self.mapping.items() if name in row}
        return as_key(value_of(samples_of([row], {**self.config, "columns": mapping})[0], column))

    def text(self, row: Row, column: str) -> str:
        value = self.value(row, column)
        if value is None:
            return ""
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def scores(self, row: Row) -> dict[str, float | None]:
        return {metric: row.get(metric) for metric in self.metrics}

    def table_row(self, row: Row, numbers: Sequence[int | None], scores: Scores) -> TableRow:
        groups = {name: group_name(self.key(row, name) or NO_VALUE) for name in self.groups}
        searched = [clean(self.text(row, name)[:SEARCHED]) for name in SEARCH_IN]
        searched += [name for name in groups.values() if name != NO_VALUE]
        if self.flags:
            number = next(number for number in numbers if number is not None)
            groups[WORK] = ", ".join(self.flags.get(number, ()))
        return TableRow(
            numbers,
            own_name(row) or None,
            beginning(self.text(row, "user_input")),
            {column: beginning(self.text(row, column)) for column in TEXTS},
            groups,
            scores,
            "\n".join(filter(None, searched)),
        )


class _Partners:
    """The rows of another run by what they are matched on; several with the same key are taken in order.

    Attributes:
        left: number -> scores, of the rows that nothing was matched with yet.
        responses: number -> the beginning of its response.
    """

    def __init__(self, run: Run, on: str) -> None:
        self.reader = _Reader(run)
        self.on = on
        self.left: dict[int, Scores] = {}
        self.responses: dict[int, str] = {}
        self.by_key: dict[str | None, list[int]] = {}
        for number, row in enumerate(run.rows()):
            self.left[number] = self.reader.scores(row)
            self.responses[number] = beginning(self.reader.text(row, RESPONSE))
            self.by_key.setdefault(self.reader.key(row, on), []).append(number)

    def take(self, key: str | None) -> tuple[int | None, Scores]:
        """Return the next row with a key, and its scores; none for a row without a key."""
        numbers = self.by_key.get(key) if key is not None else None
        if not numbers:
            return None, {}
        number = numbers.pop(0)
        return number, self.left.pop(number)
