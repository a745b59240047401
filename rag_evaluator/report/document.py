"""`report.html`: one file with the figures of a run, or of several, the table of rows, and every row."""

import base64
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from markupsafe import Markup

from rag_evaluator.dataset.columns import ALIASES, ColumnNames, as_key
from rag_evaluator.dataset.readers.json_files import InputRecord
from rag_evaluator.files.atomic import file_digest, write_whole
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.report.compared import comparison_html, difference_key
from rag_evaluator.report.facts import means_html, what_html
from rag_evaluator.report.figures import answer_html, figures_html, runs_html
from rag_evaluator.report.pages import beginning, clean, inline, json_in_page, stream
from rag_evaluator.report.row import pair_html, row_html
from rag_evaluator.report.row_scores import frames_of
from rag_evaluator.results.comparison import Comparison
from rag_evaluator.results.run import Run
from rag_evaluator.results.summary import NO_VALUE, reporting_of
from rag_evaluator.results.tally import as_score, whole_tally
from rag_evaluator.results.worst import ranked_scores, worst_first
from rag_evaluator.statistics.formulas import Scale

GROUP, SEARCHED = 80, 2000  # characters of a group's name, of each text to search in
TEXTS = ("response", "reference")  # beside the question, where one run is shown
FIRST = 50  # rows that are looked at to find out which of them there are
SEARCH_IN = ("id", "user_input", "response", "reference")
Row = Mapping[str, Any]  # a line of `scores.jsonl`; Any: JSON
Kind = Literal["group", "score", "difference"]


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Attributes:
        short: in the table, where there is no room for the title.
        key: by which it is sorted and filtered: the metric; `group:` and the column's name; metric and run.
        better: which end of the scores is the better one.
        ends: the range of the scores; None where nobody knows it.
    """

    key: str
    title: str
    kind: Kind
    short: str | None = None
    better: str = "higher"
    ends: tuple[float, float] | None = None


@dataclass(frozen=True)
class TableRow:
    """A row as the table shows it.

    Attributes:
        label: in place of its number: it is a row of another run only.
        groups: column -> value.
        scores: metric, or metric and run -> a score or difference; None where there is none.
        texts: column -> the beginning of its text.
        text: what is searched in.
    """

    question: str
    groups: Mapping[str, str]
    scores: Mapping[str, float | None]
    texts: Mapping[str, str]
    text: str
    label: str | None = None


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

    def shown(self, row: Row, column: str) -> str:
        """The beginning of a text."""
        return beginning(_text(self.value(row, column)))

    def scores(self, row: Row) -> dict[str, float | None]:
        return {
            metric: None if isinstance(row.get(metric), bool) else as_score(row.get(metric)) for metric in self.metrics
        }

    def table_row(self, row: Row) -> TableRow:
        groups = {name: clean((as_key(self.value(row, name)) or NO_VALUE)[:GROUP]) for name in self.groups}
        texts = (clean(_text(self.value(row, name))[:SEARCHED]) for name in SEARCH_IN)
        beginnings = {column: self.shown(row, column) for column in TEXTS}
        return TableRow(
            self.shown(row, "user_input"), groups, self.scores(row), beginnings, "\n".join(filter(None, texts))
        )


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
        about = first.manifest.get("metrics", {}).get(metric, {})
        better, ends = about.get("better") or "higher", about.get("range")
        columns.append(Column(metric, metric, "score", None, better, ends))
        for place, (other, name) in enumerate(zip(remaining, names, strict=True), start=1):
            if metric in other.metrics:
                title = f"{metric}: {name} − {base}"
                short = f"Δ {name}"
                columns.append(Column(difference_key(metric, place), title, "difference", short, better))
    return columns


def texts_of(runs: Sequence[Run]) -> list[str]:
    """The texts beside the question in the table: those that one of the first rows has.

    None of several runs: there is no room beside their scores.
    """
    if len(runs) > 1:
        return []
    reader, first = RowReader(runs[0]), list(islice(runs[0].rows(), FIRST))
    return [column for column in TEXTS if any(reader.shown(row, column) for row in first)]


def worst_places(run: Run) -> list[int]:
    """The place of each row among all of them, the worst first, by the combined rank (`RANK_RULE`)."""
    rows, known = whole_tally(run), reporting_of(run.manifest).scales
    scales = {metric: known.get(metric) or Scale() for metric in rows.scores}
    order = worst_first(ranked_scores(run.manifest, rows), scales)
    places = [0] * len(order)
    for place, row in enumerate(order):
        places[row] = place
    return places


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
        both = replace(shown, scores={**shown.scores, **differences})
        yield RowsOfRuns((number, *(partner for partner, _ in matches)), both)
    for place, other in enumerate(partners, start=1):
        for partner, line in other.left():
            label = f"{names_of(runs)[place]}: {partner}"
            alone = other.reader.table_row(line)
            numbers = (*([None] * place), partner, *([None] * (len(partners) - place)))
            groups = {name: alone.groups.get(name, "") for name in readers[0].groups}
            yield RowsOfRuns(numbers, replace(alone, groups=groups, scores={}, label=label))


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


def _minus(value: float | None, other: float | None) -> float | None:
    return None if value is None or other is None else value - other


PARTS = {"worst": "Worst rows", "means": "Means", "rows": "All rows", "spread": "Charts", "what": "What was run"}
COMPARED_PARTS = {"content": "Figures", "rows": "All rows"}
MARK = b'<meta name="generator" content="rag_evaluator">'  # of all pages
ROWS = 10_000  # in the table; figures are those of all rows
DETAIL_BYTES = 64 * 1024 * 1024  # of compressed rows in one file: what a browser opens without waiting
COMMAND = "rag-evaluator view"  # shows what is too much for one file
LONG_ROWS = f"The rows are long: what the judge said is here for the first of them only. All rows: {COMMAND}"
KEY = "user_input"  # by which rows of runs belong together where no comparison says it
JSON_TEXT, PACKED = "application/json", "application/octet-stream"
PIECES = re.compile(r"(<[^>]*>|&#34;|\\n|\n)")  # a context ends at these on its own and in a prompt
LONG = 40  # characters; a shorter piece is left to the compression
PART_BYTES = 256 * 1024  # of fragments packed together: one part is unpacked for a row that is opened


@dataclass(frozen=True)
class Block:
    """Data in a page: `<script type="..." id="...">`, which no browser runs."""

    name: str
    kind: str
    text: Markup


@ACTIVITY.phase("writing the report")
def write_report(folders: Sequence[Path], out: Path, comparison: Comparison | None = None) -> None:
    """Write the report of a finished run, or of several, to one file; the same bytes for the same results.

    Args:
        folders: results folders, the baseline first.
        comparison: of several runs; it tells which rows belong together.

    Raises `ResultsError` for results that cannot be read, and if the file cannot be written.
    """
    runs = [Run(folder) for folder in folders]

    def write(to: Path) -> None:
        with to.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(stream("run.html", **_page(runs, comparison)))

    write_whole(out, write)


def _page(runs: Sequence[Run], comparison: Comparison | None) -> dict[str, Any]:
    """The values of the page. Any: see `run.html`."""
    from rag_evaluator.resources import __version__

    if len(runs) == 1:
        before, after = [answer_html(runs[0]), means_html(runs[0])], [figures_html(runs[0]), what_html(runs[0])]
    else:
        before, after = [runs_html(runs)], []
    if comparison is not None:
        before.insert(0, comparison_html(comparison, whole_table=not _notes(runs)))
    on = None if len(runs) == 1 else comparison.on if comparison is not None else KEY
    return {
        "title": _title(runs),
        "version": __version__,
        "inline": inline(),
        "before": Markup("\n").join(map(Markup, before)),
        "after": Markup("\n").join(map(Markup, after)),
        "columns": columns_of(runs),
        "texts": texts_of(runs),
        "parts": page_parts(runs),
        "table_notes": _notes(runs),
        "made_from": ", ".join(file_digest(run.folder / "scores.jsonl")[:12] for run in runs),
        "blocks": _blocks(runs, on),
    }


def page_parts(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """The parts of a page, and what the links to them are called."""
    return list((PARTS if len(runs) == 1 else COMPARED_PARTS).items())


def _title(runs: Sequence[Run]) -> str:
    first, *remaining = names_of(runs)
    return f"{first} and {', '.join(remaining)}" if remaining else first


def _notes(runs: Sequence[Run]) -> list[str]:
    """What the table does not hold."""
    rows = int(runs[0].manifest.get("rows") or 0)
    if rows <= ROWS:
        return []
    return [f"The figures are those of all {rows:,} rows. The table holds the first {ROWS:,}. All rows: {COMMAND}"]


def _blocks(runs: Sequence[Run], on: str | None) -> Iterator[Block]:
    """The rows in parts as they are read, then what the table needs to know before one of them is opened."""
    index, starts = _Index(worst_places(runs[0]), texts_of(runs)), list[int]()
    lines = index.noting(islice(rows_of(runs, on), ROWS))
    size, detailed = 0, 0
    for part in packs_of(_fragment(runs, line.numbers) for line in lines):
        block = packed_block(f"part-{len(starts)}", list(map(folded, part)))
        yield block
        starts.append(detailed)
        size += len(block.text)
        detailed += len(part)
        if size > DETAIL_BYTES:
            break
    for _ in lines:  # the table has the other rows, too
        pass
    yield packed_block("frames", {key: text for run in runs for key, text in frames_of(run).items()})
    yield packed_block("index", index.to_json())
    yield packed_block("search", index.texts)
    yield json_block(
        "about",
        {
            "rows": len(index.rows),
            "detailed": detailed,
            "parts": starts,
            "metrics": runs[0].metrics,
            "labels": index.labels,
            "note": LONG_ROWS if detailed < len(index.rows) else None,
        },
    )


def _fragment(runs: Sequence[Run], numbers: Sequence[int | None]) -> str:
    if len(runs) > 1:
        return pair_html(runs, numbers)
    assert numbers[0] is not None
    return row_html(runs[0], numbers[0])


class _Index:
    """What is kept of the rows while they are read once.

    Args:
        places: of the rows of the first run, the worst first.
        columns: the texts beside the question.
    """

    def __init__(self, places: Sequence[int], columns: Sequence[str]) -> None:
        self.places, self.columns = places, columns
        self.rows: list[TableRow] = []
        self.texts: list[str] = []
        self.labels: dict[int, str] = {}

    def noting(self, lines: Iterator[RowsOfRuns]) -> Iterator[RowsOfRuns]:
        for line in lines:
            if line.row.label is not None:
                self.labels[len(self.rows)] = line.row.label
            self.rows.append(line.row)
            self.texts.append(line.row.text)
            yield line

    def to_json(self) -> Mapping[str, Any]:
        """Column by column."""
        groups = list(self.rows[0].groups) if self.rows else []
        scores = list(self.rows[0].scores) if self.rows else []
        return {
            "question": [row.question for row in self.rows],
            "texts": {name: [row.texts[name] for row in self.rows] for name in self.columns},
            "worst": [*self.places, *range(len(self.places), len(self.rows))][: len(self.rows)],
            "groups": {name: [row.groups.get(name, "") for row in self.rows] for name in groups},
            "scores": {name: [row.scores.get(name) for row in self.rows] for name in scores},
        }


def json_block(name: str, value: Any) -> Block:
    """A value as JSON. Any: JSON."""
    return Block(name, JSON_TEXT, json_in_page(value))


def packed_block(name: str, value: Any) -> Block:
    """A value as JSON, compressed; the same bytes for the same value. Any: JSON."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    return Block(name, PACKED, Markup(base64.b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode("ascii")))


def folded(fragment: str) -> list[str | int]:
    """A fragment with each long text once: a number is the place, in the list, of the text that stands here again.

    A row holds its contexts for the reader and in most of its prompts, further apart than compression looks back.
    """
    pieces = PIECES.split(fragment)
    several = {piece for piece, count in Counter(pieces).items() if count > 1 and len(piece) >= LONG}
    folded_pieces: list[str | int] = []
    places: dict[str, int] = {}
    plain: list[str] = []
    for piece in pieces:
        if piece not in several:
            plain.append(piece)
            continue
        folded_pieces.append("".join(plain))
        plain = []
        folded_pieces.append(places.get(piece, piece))
        places.setdefault(piece, len(folded_pieces) - 1)
    return [*folded_pieces, "".join(plain)]


def packs_of(fragments: Iterable[str]) -> Iterator[Sequence[str]]:
    """Fragments put together in parts of about `PART_BYTES`."""
    part: list[str] = []
    size = 0
    for fragment in fragments:
        part.append(fragment)
        size += len(fragment)
        if size >= PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part
