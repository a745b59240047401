"""The table of result files, written together from one stream of rows: memory does not grow with their number."""

import csv
import heapq
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.readers.spreadsheets import harmless
from rag_evaluator.errors import ResultsError
from rag_evaluator.files.atomic import scratch, sync_file, sync_folder
from rag_evaluator.files.jsonl import json_line
from rag_evaluator.results.certificate import keep_labels
from rag_evaluator.results.judgement import explained, few_lines
from rag_evaluator.results.manifest import SCORES, manifest_json, prompts_json, refuse_foreign
from rag_evaluator.results.rows import (
    DETAILS,
    Add,
    Heading,
    Score,
    Scored,
    Table,
    Writer,
    cells_of,
    column_of,
    details_jsonl,
    heading_of,
    judges_of,
    scored_row,
)
from rag_evaluator.results.summary import summary_json
from rag_evaluator.results.xlsx import scores_xlsx
from rag_evaluator.statistics.formulas import TIE

MOST = 20  # rows of each metric
SHOWN = ("id", "user_input", "response", "reference")
Heap = list[tuple[float, int, dict[str, Any]]]  # (difference, -place of the row, line); Any: JSON


@contextmanager
def disagreements_jsonl(path: Path, heading: Heading) -> Iterator[Add]:
    """Most different first, metric by metric; rows without a difference are left out."""
    judges = judges_of(heading.manifest)
    kept: dict[str, Heap] = {
        metric: [] for metric in heading.metrics if all(column_of(metric, judge) in heading.metrics for judge in judges)
    }

    def add(scored: Scored) -> None:
        for metric, rows in kept.items():
            columns = {judge: column_of(metric, judge) for judge in judges}
            difference = _difference(scored.scores[column] for column in columns.values())
            key = (difference, -scored.sample.index)
            if difference > TIE and (len(rows) < MOST or key > rows[0][:2]):
                push = heapq.heappush if len(rows) < MOST else heapq.heapreplace
                push(rows, (*key, _line(scored, metric, difference, columns)))

    yield add
    with path.open("wb") as file:
        for rows in kept.values():
            file.writelines(json_line(line) for _, _, line in sorted(rows, reverse=True))


def _line(scored: Scored, metric: str, difference: float, columns: Mapping[str, str]) -> dict[str, Any]:
    records = [json.loads(line) for line in scored.details()]
    verdicts = {
        judge: explained(record for record in records if record["metric"] == column)
        for judge, column in columns.items()
    }
    scores = {judge: scored.scores[column] for judge, column in columns.items()}
    row = {**scored.sample.row, **scored.sample.columns}
    return {
        "row": scored.sample.index,
        "metric": metric,
        "difference": difference,
        "scores": {judge: None if score.missing else score.value for judge, score in scores.items()},
        "said": {
            judge: few_lines(of_judge, [line for other in verdicts if other != judge for line in verdicts[other]])
            for judge, of_judge in verdicts.items()
        },
        **{column: row[column] for column in SHOWN if column in row},
    }


def _difference(scores: Iterable[Score]) -> float:
    """The highest score of any judge less the lowest; NaN where fewer than two judges gave one."""
    values = [score.value for score in scores if not score.missing]
    return max(values) - min(values) if len(values) > 1 else math.nan


@contextmanager
def scores_jsonl(path: Path, heading: Heading) -> Iterator[Add]:
    with path.open("wb") as file:
        yield lambda scored: file.write(json_line(scored_row(scored)))


@contextmanager
def scores_csv(path: Path, heading: Heading) -> Iterator[Add]:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\r\n")  # RFC 4180; a lone \r is quoted only so
        lines.writerow(map(_harmless, heading.columns))

        def add(scored: Scored) -> None:
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
PANEL_WRITERS: dict[str, Writer] = {**WRITERS, "disagreements.jsonl": disagreements_jsonl}


def writers_of(manifest: Mapping[str, Any]) -> dict[str, Writer]:
    """The files of a run: a panel has one more. Any: JSON."""
    return PANEL_WRITERS if judges_of(manifest) else WRITERS


def write_table(table: Table, folder: Path) -> None:
    """Write all files into a folder, or leave all as they were.

    Raises `ResultsError` if they cannot be written, or would replace files of somebody else.
    """
    writers = writers_of(table.manifest)
    refuse_foreign(folder, writers)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with scratch(folder) as written:
            digests = _write(table, written, writers)
            keep_labels(folder, written, table.manifest.get("signatures", {}), digests)
            for name in writers:
                sync_file(written / name)
                (written / name).replace(folder / name)
            sync_folder(folder)
    except OSError as error:
        raise ResultsError(f"{folder}: cannot be written: {error}. Free space or choose another output_dir.") from error


def _write(table: Table, folder: Path, writers: Mapping[str, Writer]) -> list[str]:
    """Write all files; returns the digests of the rows."""
    heading, digests = heading_of(table), []
    with ExitStack() as stack:
        files = [stack.enter_context(write(folder / name, heading)) for name, write in writers.items()]
        for scored in table:
            for add in files:
                add(scored)
            digests.append(scored.sample.digest)
    return digests
