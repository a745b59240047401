"""Writes the result files from a stream of scored rows: memory does not grow with their number."""

import csv
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.formulas import harmless
from rag_evaluator.errors import ResultsError
from rag_evaluator.files.atomic import scratch
from rag_evaluator.files.jsonl import json_line
from rag_evaluator.files.published import sync_file, sync_folder
from rag_evaluator.results.rows import Table, as_text, scored_row
from rag_evaluator.results.summary import Summary
from rag_evaluator.results.xlsx import sheet

FILES = ("scores.jsonl", "details.jsonl", "scores.csv", "scores.xlsx", "summary.json", "prompts.json", "manifest.json")
PROGRAM = "rag_evaluator"
PROMPT_TEXTS = "prompt_texts"  # part of the manifest that is written to a file of its own


def refuse_foreign(folder: Path, files: Sequence[str] = FILES) -> None:
    """Raises `ResultsError` if a folder holds files under the names of results that this program has not written."""
    there = [name for name in files if (folder / name).exists()]
    if there and not _is_ours(folder):
        raise ResultsError(
            f"{folder} holds {there[0]}, which this program did not write, and would replace it. Choose another name "
            "or output_dir, or move the file away."
        )


def _is_ours(folder: Path) -> bool:
    """Whether results were written here: then there is a manifest, or a journal, in which there is one too."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError):
        manifest = None
    known = isinstance(manifest, dict) and ("program" in manifest or "signatures" in manifest)
    journals = [folder / "journal" / "manifest.json", *(folder / "journal").glob("*.*/manifest.json")]
    return known or any(path.is_file() for path in journals)


def write_table(table: Table, folder: Path) -> dict[str, dict[str, Any]]:
    """Write all files into a folder, or leave all as they were; returns the summary.

    Raises `ResultsError` if they cannot be written, or would replace files of somebody else.
    """
    refuse_foreign(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with scratch(folder) as written:
            summary = _write(table, written)
            for file in reversed(FILES):  # the manifest, by which they are known as ours, comes first
                sync_file(written / file)
                (written / file).replace(folder / file)
            sync_folder(folder)
    except OSError as error:
        raise ResultsError(f"{folder}: cannot be written: {error}. Free space or choose another output_dir.") from error
    return summary


def _write(table: Table, folder: Path) -> dict[str, dict[str, Any]]:
    columns, summary = list(table.columns()), Summary(table.metrics)
    with ExitStack() as stack:
        scores = stack.enter_context(_synced(folder / "scores.jsonl"))
        details = stack.enter_context(_synced(folder / "details.jsonl"))
        text = stack.enter_context((folder / "scores.csv").open("w", encoding="utf-8", newline=""))
        lines = csv.writer(text, lineterminator="\r\n")  # RFC 4180; a lone \r is quoted only so
        lines.writerow(map(_harmless, columns))
        spreadsheet = stack.enter_context(sheet(folder / "scores.xlsx", columns))
        for scored in table:
            row = scored_row(scored.sample, scored.scores)
            scores.write(json_line(row))
            for line in scored.details():
                details.write(line)
            cells = [as_text(row.get(column)) for column in columns]
            lines.writerow(map(_harmless, cells))
            spreadsheet.add(cells)
            summary.add(scored.sample, scored.scores)
    numbers = summary.to_json()
    _write_json(folder / "summary.json", numbers)
    manifest = dict(table.manifest)
    _write_json(folder / "prompts.json", manifest.pop(PROMPT_TEXTS, {}))
    _write_json(folder / "manifest.json", {"program": PROGRAM, **manifest})
    return numbers


@contextmanager
def _synced(path: Path) -> Iterator[Any]:
    with path.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _harmless(value: Any) -> Any:
    return harmless(value) if isinstance(value, str) else value
