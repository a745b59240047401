"""The result files, written together from one stream of rows: memory does not grow with their number."""

import csv
from collections.abc import Iterable
from pathlib import Path

from rag_evaluator.config import hooks
from rag_evaluator.dataset import harmless
from rag_evaluator.errors import ResultsError
from rag_evaluator.files import file_digest, json_line, json_text, scratch, sync

from .manifest import PROMPT_TEXTS, SCORES, SEALED, WRITTEN, as_written, refuse_foreign
from .rows import DETAILS, Heading, Row, cells_of, scored_row
from .summary import Summary
from .xlsx import run_workbook

FILES = ("manifest.json", "prompts.json", "summary.json", SCORES, "scores.csv", "scores.xlsx", DETAILS)
"""The manifest comes first: by it a folder is known as ours."""


def write_table(heading: Heading, rows: Iterable[Row], folder: Path) -> None:
    """Write all files into a folder, or leave all as they were; `rows`: in the order of the input.

    Raises `ResultsError` if they cannot be written, or would replace files of somebody else.
    """
    refuse_foreign(folder, FILES)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with scratch(folder) as written:
            _write(heading, rows, written)
            for rewrite in hooks("rewrite"):
                rewrite(folder, written)
            for name in FILES:
                sync(written / name)
            for name in FILES:
                (written / name).replace(folder / name)
            sync(folder)
    except OSError as error:
        raise ResultsError(f"{folder}: cannot be written: {error}. Free space or choose another output_dir.") from error


def _write(heading: Heading, rows: Iterable[Row], folder: Path) -> None:
    summary = Summary(heading.metrics, heading.manifest)
    count = 0
    with (
        (folder / SCORES).open("wb") as scores,
        (folder / "scores.csv").open("w", encoding="utf-8", newline="") as table,
        run_workbook(folder / "scores.xlsx", heading, summary) as add_to_workbook,
        (folder / DETAILS).open("wb") as details,
    ):
        lines = csv.writer(table, lineterminator="\r\n")  # RFC 4180; a lone \r is quoted only so
        lines.writerow(map(harmless, heading.columns))
        for scored in rows:
            count += 1
            cells = cells_of(scored, heading.columns)
            summary.add(scored)
            scores.write(json_line(scored_row(scored)))
            lines.writerow(map(harmless, cells))
            add_to_workbook(scored, cells)
            details.writelines(scored.details())
    digests = {name: file_digest(folder / name) for name in SEALED}
    parts = {
        "summary.json": summary.to_json(),
        "prompts.json": heading.manifest.get(PROMPT_TEXTS, {}),
        "manifest.json": {**as_written(heading.manifest), WRITTEN: {"rows": count, "sha256": digests}},
    }
    for name, part in parts.items():
        (folder / name).write_text(json_text(part), encoding="utf-8")
