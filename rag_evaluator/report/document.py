"""`report.html`: one file with the figures of a run, or of several, the table of rows, and every row."""

import base64
import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from markupsafe import Markup

from rag_evaluator.config import next_words
from rag_evaluator.files import ACTIVITY, Json, JsonDict, file_digest, write_whole
from rag_evaluator.resources import NAME, __version__
from rag_evaluator.results import Comparison, Run

from .compared import comparison_html
from .facts import means_html, what_html
from .figures import answer_html, figures_html, worst_html
from .pages import environment, inline, json_in_page
from .row import pair_html, row_html
from .row_scores import frames_of
from .table import TableRow, names_of, rows_of, table_values, texts_of, worst_places

MARK = b'<meta name="generator" content="rag_evaluator">'  # of all pages
CHUNK = 500  # rows that a process makes at a time
ROWS = 10_000  # in the table; figures are those of all rows
DETAIL_BYTES = 64 * 1024 * 1024  # of compressed rows in one file: what a browser opens without waiting
VIEW = next_words("many rows")  # a command that shows what is too much for one file
ALL_ROWS = f" All rows: {NAME} {' '.join(map(str, VIEW))}" if VIEW else ""
LONG_ROWS = f"The rows are long: what the judge said is here for the first of them only.{ALL_ROWS}"
PART_ROWS = 16  # rows packed together: one part is unpacked for a row that is opened
Block = tuple[str, str, Markup]  # data in a page, `<script type="..." id="...">`, which no browser runs
Numbers = Sequence[int | None]  # of a row in each run


@ACTIVITY.phase("writing the report")
def write_document(
    folders: Sequence[Path],
    out: Path,
    comparison: Comparison | None = None,
    title: str | None = None,
    group_by: Sequence[str] | None = None,
) -> None:
    """Write the report of a finished run, or of several, to one file; the same bytes for the same results.

    Args:
        folders: results folders, the baseline first.
        comparison: of several runs, None for one; it tells which rows belong together.
        group_by: columns by which rows are shown; None: those of each run.

    Raises `ResultsError` for results that cannot be read, and if the file cannot be written.
    """
    runs = [Run(folder) for folder in folders]
    if group_by is not None:
        for run in runs:
            run.group_by = list(group_by)

    def write(to: Path) -> None:
        with to.open("w", encoding="utf-8", newline="\n") as file:
            pieces = environment().get_template("run.html").generate(**_page(runs, comparison, title))
            file.writelines(pieces)  # a page need not fit into memory

    write_whole(out, write)


def _page(runs: Sequence[Run], comparison: Comparison | None, title: str | None = None) -> JsonDict:
    """The values of the page. Any: see `run.html`."""
    first, *others = names_of(runs)
    rows = int(runs[0].manifest.get("rows") or 0)
    left_out = f"The figures are those of all {rows:,} rows. The table holds the first {ROWS:,}.{ALL_ROWS}"
    if comparison is None:
        before = [answer_html(runs[0]), means_html(runs[0])]
        after = [figures_html(runs[0]), what_html(runs[0])]
    else:
        before = [comparison_html(comparison), worst_html(runs, comparison.on)]
        after = [
            what_html(run, name, f"what-{place}")
            for place, (run, name) in enumerate(zip(runs, names_of(runs), strict=True))
        ]
    return {
        "title": title or " and ".join(filter(None, (first, ", ".join(others)))),
        "version": __version__,
        "inline": inline(),
        "before": Markup("\n").join(map(Markup, before)),
        "after": Markup("\n").join(map(Markup, after)),
        **table_values(runs),
        "table_notes": [left_out] if rows > ROWS else [],
        "made_from": ", ".join(file_digest(run.folder / "scores.jsonl")[:12] for run in runs),
        "blocks": _blocks(runs, None if comparison is None else comparison.on),
    }


def _blocks(runs: Sequence[Run], on: str | None) -> Iterator[Block]:
    """What the table needs, so that it is there while the rest is read; then the rows in parts."""
    rows = list(islice(rows_of(runs, on), ROWS))
    fragments = iter(_fragments([run.folder for run in runs], [row.numbers for row in rows]))
    yield packed("frames", {key: text for run in runs for key, text in frames_of(run).items()})
    yield packed("index", _index(rows, worst_places(runs[0]), texts_of(runs)))
    yield packed("search", [row.searched for row in rows])
    about = {
        "rows": len(rows),
        "part": PART_ROWS,
        "metrics": runs[0].metrics,
        "labels": {place: row.label for place, row in enumerate(rows) if row.label is not None},
        "note": LONG_ROWS,
    }
    yield "about", "application/json", json_in_page(about)
    size = 0
    detailed = 0
    while size <= DETAIL_BYTES and (part := list(islice(fragments, PART_ROWS))):  # the table has the other rows, too
        block = packed(f"part-{detailed // PART_ROWS}", part)
        yield block
        size += len(block[2])
        detailed += len(part)


def _fragments(folders: Sequence[Path], rows: Sequence[Numbers]) -> Iterable[str]:
    """The HTML of each row, in order; where there are many, processes on all cores make it."""
    if len(rows) < 2 * CHUNK:
        return _made(folders, rows)
    from joblib import Parallel, delayed

    chunks = (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))
    return chain.from_iterable(
        Parallel(n_jobs=-1, return_as="generator")(delayed(_made)(folders, chunk) for chunk in chunks)
    )


def _made(folders: Sequence[Path], rows: Sequence[Numbers]) -> list[str]:
    """The HTML of some rows; the runs are opened anew, as a process may have seen others in these folders."""
    runs = list(map(Run, folders))
    return [pair_html(runs, row) if len(runs) > 1 else row_html(runs[0], int(row[0] or 0)) for row in rows]


def _index(rows: Sequence[TableRow], places: Sequence[int], texts: Iterable[str]) -> Json:
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


def packed(name: str, value: Any) -> Block:
    """A value as JSON, compressed; the same bytes for the same value. Any: JSON."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    text = base64.b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode("ascii")
    return name, "application/octet-stream", Markup(text)
