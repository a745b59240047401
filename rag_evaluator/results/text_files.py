"""The scored rows as JSON Lines and CSV, and every score with its judgements: `details.jsonl`."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.formulas import harmless
from rag_evaluator.files.jsonl import json_line
from rag_evaluator.results.rows import Add, Heading, Scored, cells_of, scored_row


@contextmanager
def scores_jsonl(path: Path, heading: Heading) -> Iterator[Add]:
    with path.open("wb") as file:
        yield lambda scored: file.write(json_line(scored_row(scored)))


@contextmanager
def details_jsonl(path: Path, heading: Heading) -> Iterator[Add]:
    with path.open("wb") as file:
        yield lambda scored: file.writelines(scored.details())


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
