"""The table of result files, written together from one stream of rows: memory does not grow with their number."""

import csv
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.readers.spreadsheets import harmless
from rag_evaluator.errors import ResultsError
from rag_evaluator.files.atomic import scratch, sync_file, sync_folder
from rag_evaluator.files.jsonl import json_line
from rag_evaluator.results.certificate import keep_labels
from rag_evaluator.results.manifest import SCORES, manifest_json, prompts_json, refuse_foreign
from rag_evaluator.results.rows import (
    DETAILS,
    Add,
    Heading,
    Row,
    Writer,
    cells_of,
    details_jsonl,
    scored_row,
)
from rag_evaluator.results.summary import summary_json
from rag_evaluator.results.xlsx import scores_xlsx


@contextmanager
def scores_jsonl(path: Path, heading: Heading) -> Iterator[Add]:
    with path.open("wb") as file:
        yield lambda scored: file.write(json_line(scored_row(scored)))


@contextmanager
def scores_csv(path: Path, heading: Heading) -> Iterator[Add]:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\r\n")  # RFC 4180; a lone \r is quoted only so
        lines.writerow(map(_harmless, heading.columns))

        def add(scored: Row) -> None:
            lines.writerow(map(_harmless, cells_of(scored, heading.columns)))

        yield add


def _harmless(value: Any) -> Any:
    return harmless(value) if isinstance(value, str) else value


WRITERS: dict[str, Writer] = {
    "manifest.json": manifest_json,  # first: by it a folder is known as ours; ends last, with digests of the others
    "prompts.json": prompts_json,
    "summary.json": summary_json,
    SCORES: scores_jsonl,
    "scores.csv": scores_csv,
    "scores.xlsx": scores_xlsx,
    DETAILS: details_jsonl,
}


def write_table(heading: Heading, rows: Iterable[Row], folder: Path) -> None:
    """Write all files into a folder, or leave all as they were; `rows`: in the order of the input.

    Raises `ResultsError` if they cannot be written, or would replace files of somebody else.
    """
    refuse_foreign(folder, WRITERS)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with scratch(folder) as written:
            _write(heading, rows, written)
            keep_labels(folder, written)
            for name in WRITERS:
                sync_file(written / name)
                (written / name).replace(folder / name)
            sync_folder(folder)
    except OSError as error:
        raise ResultsError(f"{folder}: cannot be written: {error}. Free space or choose another output_dir.") from error


def _write(heading: Heading, rows: Iterable[Row], folder: Path) -> None:
    with ExitStack() as stack:
        files = [stack.enter_context(write(folder / name, heading)) for name, write in WRITERS.items()]
        for scored in rows:
            for add in files:
                add(scored)
