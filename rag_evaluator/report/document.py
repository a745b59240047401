"""`report.html`: one file with the figures of a run, or of several, the table of rows, and every row."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from markupsafe import Markup

from rag_evaluator.files.atomic import write_whole
from rag_evaluator.files.digest import file_digest
from rag_evaluator.progress import ACTIVITY
from rag_evaluator.report.embedding import Block, folded, inline, json_block, packed_block, parts_of
from rag_evaluator.report.figures import comparison_html, figures_html, runs_html
from rag_evaluator.report.pages import page_text, stream
from rag_evaluator.report.row import frames_of, pair_html, row_html
from rag_evaluator.report.rows_index import RowsOfRuns, TableRow, columns_of, names_of, rows_of
from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.results.comparison import Comparison

MARK = b'<meta name="generator" content="rag_evaluator">'  # of all pages
ROWS = 10_000  # in the table; figures are those of all rows
DETAIL_BYTES = 64 * 1024 * 1024  # of compressed rows in one file: what a browser opens without waiting
COMMAND = "rag-evaluator view"  # shows what is too much for one file
KEY = "user_input"  # by which rows of runs belong together where no comparison says it


@ACTIVITY.phase("writing the report")
def write_report(folders: Sequence[Path], out: Path, comparison: Comparison | None = None) -> None:
    """Write the report of a finished run, or of several, to one file; the same bytes for the same results.

    Args:
        folders: results folders, the baseline first.
        comparison: of several runs; it tells which rows belong together.

    Raises `ResultsError` for results that cannot be read, and if the file cannot be written.
    """
    runs = [RunFiles(folder) for folder in folders]
    write_whole(out, lambda to: _write(runs, comparison, to))


def _write(runs: Sequence[RunFiles], comparison: Comparison | None, to: Path) -> None:
    with to.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(stream("run.html", **_page(runs, comparison)))


def _page(runs: Sequence[RunFiles], comparison: Comparison | None) -> dict[str, Any]:
    """The values of the page. Any: see `run.html`."""
    from rag_evaluator import __version__

    figures = [figures_html(runs[0])] if len(runs) == 1 else [runs_html(runs)]
    if comparison is not None:
        figures.insert(0, comparison_html(comparison))
    on = None if len(runs) == 1 else comparison.on if comparison is not None else KEY
    return {
        "title": _title(runs),
        "version": __version__,
        "inline": inline(),
        "figures": Markup("\n").join(map(Markup, figures)),
        "columns": columns_of(runs),
        "table_notes": _notes(runs),
        "made_from": ", ".join(file_digest(run.folder / "scores.jsonl")[:12] for run in runs),
        "blocks": _blocks(runs, on),
    }


def _title(runs: Sequence[RunFiles]) -> str:
    first, *others = names_of(runs)
    return page_text("page.runs", first=first, others=", ".join(others)) if others else first


def _notes(runs: Sequence[RunFiles]) -> list[str]:
    """What the table does not hold."""
    rows = int(runs[0].manifest.get("rows") or 0)
    if rows <= ROWS:
        return []
    return [page_text("table.first_rows", rows=f"{rows:,}", shown=f"{ROWS:,}", command=COMMAND)]


def _blocks(runs: Sequence[RunFiles], on: str | None) -> Iterator[Block]:
    """The rows in parts as they are read, then what the table needs to know before one of them is opened."""
    index, starts = _Index(), list[int]()
    lines = index.noting(islice(rows_of(runs, on), ROWS))
    size, detailed = 0, 0
    for part in parts_of(_fragment(runs, line.numbers) for line in lines):
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
            "note": page_text("table.long_rows", command=COMMAND) if detailed < len(index.rows) else None,
        },
    )


def _fragment(runs: Sequence[RunFiles], numbers: Sequence[int | None]) -> str:
    if len(runs) > 1:
        return pair_html(runs, numbers)
    assert numbers[0] is not None
    return row_html(runs[0], numbers[0])


class _Index:
    """What is kept of the rows while they are read once."""

    def __init__(self) -> None:
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
            "groups": {name: [row.groups.get(name, "") for row in self.rows] for name in groups},
            "scores": {name: [row.scores.get(name) for row in self.rows] for name in scores},
        }
