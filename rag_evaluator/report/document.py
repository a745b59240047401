"""`report.html`: one file with the figures of a run, or of several, the table of rows, and every row."""

import base64
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from markupsafe import Markup

from rag_evaluator.files.atomic import file_digest, write_whole
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.report.compared import comparison_html
from rag_evaluator.report.facts import means_html, what_html
from rag_evaluator.report.figures import answer_html, figures_html, worst_html
from rag_evaluator.report.pages import inline, json_in_page, stream
from rag_evaluator.report.row import pair_html, row_html
from rag_evaluator.report.row_scores import frames_of
from rag_evaluator.report.table import TableRow, columns_of, names_of, rows_of, texts_of, worst_places
from rag_evaluator.results.comparison import Comparison
from rag_evaluator.results.run import Run

PARTS = {"worst": "Worst rows", "means": "Means", "rows": "All rows", "spread": "Charts", "what": "What was run"}
COMPARED_PARTS = {"content": "Figures", "worst-1": "Worst rows", "rows": "All rows", "what-0": "What was run"}
MARK = b'<meta name="generator" content="rag_evaluator">'  # of all pages
CHUNK = 500  # rows that a process makes at a time
ROWS = 10_000  # in the table; figures are those of all rows
DETAIL_BYTES = 64 * 1024 * 1024  # of compressed rows in one file: what a browser opens without waiting
COMMAND = "rag-evaluator view"  # shows what is too much for one file
LONG_ROWS = f"The rows are long: what the judge said is here for the first of them only. All rows: {COMMAND}"
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
def write_report(
    folders: Sequence[Path], out: Path, comparison: Comparison | None = None, title: str | None = None
) -> None:
    """Write the report of a finished run, or of several, to one file; the same bytes for the same results.

    Args:
        folders: results folders, the baseline first.
        comparison: of several runs, None for one; it tells which rows belong together.

    Raises `ResultsError` for results that cannot be read, and if the file cannot be written.
    """
    runs = [Run(folder) for folder in folders]

    def write(to: Path) -> None:
        with to.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(stream("run.html", **_page(runs, comparison, title)))

    write_whole(out, write)


def _page(runs: Sequence[Run], comparison: Comparison | None, title: str | None = None) -> dict[str, Any]:
    """The values of the page. Any: see `run.html`."""
    from rag_evaluator.resources import __version__

    if comparison is None:
        before, after = [answer_html(runs[0]), means_html(runs[0])], [figures_html(runs[0]), what_html(runs[0])]
    else:
        before = [comparison_html(comparison, whole_table=not _notes(runs)), worst_html(runs, comparison.on)]
        after = [
            what_html(run, name, f"what-{place}")
            for place, (run, name) in enumerate(zip(runs, names_of(runs), strict=True))
        ]
    return {
        "title": title or _title(runs),
        "version": __version__,
        "inline": inline(),
        "before": Markup("\n").join(map(Markup, before)),
        "after": Markup("\n").join(map(Markup, after)),
        "columns": columns_of(runs),
        "texts": texts_of(runs),
        "parts": page_parts(runs),
        "table_notes": _notes(runs),
        "made_from": ", ".join(file_digest(run.folder / "scores.jsonl")[:12] for run in runs),
        "blocks": _blocks(runs, None if comparison is None else comparison.on),
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
    rows: list[TableRow] = []
    lines = islice(rows_of(runs, on), ROWS)
    starts, size, detailed = list[int](), 0, 0
    for part in packs_of(_fragments(runs, _noted(lines, rows))):
        block = packed_block(f"part-{len(starts)}", list(map(folded, part)))
        yield block
        starts.append(detailed)
        size += len(block.text)
        detailed += len(part)
        if size > DETAIL_BYTES:
            break
    rows.extend(lines)  # the table has the other rows, too
    yield packed_block("frames", {key: text for run in runs for key, text in frames_of(run).items()})
    yield packed_block("index", _index(rows, worst_places(runs[0]), texts_of(runs)))
    yield packed_block("search", [row.searched for row in rows])
    yield json_block(
        "about",
        {
            "rows": len(rows),
            "detailed": detailed,
            "parts": starts,
            "metrics": runs[0].metrics,
            "labels": {place: row.label for place, row in enumerate(rows) if row.label is not None},
            "note": LONG_ROWS if detailed < len(rows) else None,
        },
    )


def _noted(lines: Iterator[TableRow], rows: list[TableRow]) -> Iterator[TableRow]:
    for row in lines:
        rows.append(row)
        yield row


def _fragments(runs: Sequence[Run], rows: Iterator[TableRow]) -> Iterator[str]:
    """The HTML of each row, in order; where there are many, processes on all cores make it."""
    numbers = (row.numbers for row in rows)
    if int(runs[0].manifest.get("rows") or 0) < 2 * CHUNK:
        yield from _chunk_html(runs, numbers)
        return
    from joblib import Parallel, delayed

    chunks = iter(lambda: list(islice(numbers, CHUNK)), [])
    folders = [run.folder for run in runs]
    yield from chain.from_iterable(
        Parallel(n_jobs=-1, return_as="generator")(delayed(_opened_chunk_html)(folders, chunk) for chunk in chunks)
    )


def _chunk_html(runs: Sequence[Run], numbers: Iterable[tuple[int | None, ...]]) -> Iterator[str]:
    """The HTML of some rows, by their numbers in each run."""
    for of_runs in numbers:
        yield pair_html(runs, of_runs) if len(runs) > 1 else row_html(runs[0], int(of_runs[0] or 0))


def _opened_chunk_html(folders: Sequence[Path], chunk: Sequence[tuple[int | None, ...]]) -> list[str]:
    """The same in a process of its own, which opens the runs anew: it may have seen others in these folders."""
    return list(_chunk_html(list(map(Run, folders)), chunk))


def _index(rows: Sequence[TableRow], places: Sequence[int], texts: Iterable[str]) -> Mapping[str, Any]:
    """What the table shows, column by column.

    Args:
        places: of the rows of the first run, the worst first.
        texts: the keys of the texts beside the question.
    """
    groups, scores = (list(rows[0].groups), list(rows[0].scores)) if rows else ([], [])
    return {
        "question": [row.question for row in rows],
        "texts": {name: [row.texts.get(name, "") for row in rows] for name in texts},
        "worst": [*places, *range(len(places), len(rows))][: len(rows)],
        "groups": {name: [row.groups.get(name, "") for row in rows] for name in groups},
        "scores": {name: [row.scores.get(name) for row in rows] for name in scores},
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
