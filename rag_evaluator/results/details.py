"""`details.jsonl`: every score with its judgements, a record a line, in the order of rows; written and read here.

A run may have a million rows, so that records which nobody asks for are not parsed, and those of a row are found by
binary search.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from rag_evaluator.dataset.sample import Sample
from rag_evaluator.files.digest import short_digest
from rag_evaluator.files.jsonl import json_line
from rag_evaluator.results.rows import Add, Heading, Score

DETAILS = "details.jsonl"
Record = Mapping[str, Any]  # a line of the file; Any: JSON
Cell = tuple[int, str]  # place of the row, metric
Details = Mapping[Cell, Sequence[Record]]  # several records where a score was made several times
HEAD = re.compile(rb'\{"row": (\d+),(?: "sample": "(\w*)", "metric": ("(?:[^"\\]|\\.)*"))?')  # row, digest, metric
HEAD_BYTES = 40  # of a line, that hold its row
BLOCK = 1 << 16  # bytes read at once


def details_lines(sample: Sample, metric: str, score: Score, signature: str | None) -> Iterator[bytes]:
    """A score as its lines: one, or one for each repeat."""
    key = {"row": sample.index, "sample": sample.digest, "metric": metric}
    if not score.repeated:
        yield json_line({**key, **score.to_json(), "signature": signature})
    for repeat, made in enumerate(score.repeated):
        yield json_line({**key, "repeat": repeat, **made.to_json(), "signature": signature})


@contextmanager
def details_jsonl(path: Path, heading: Heading) -> Iterator[Add]:
    """The writer of the file."""
    with path.open("wb") as file:
        yield lambda scored: file.writelines(scored.details())


def read_records(folder: Path) -> Iterator[dict[str, Any]]:
    """All records of a results folder. Raises `OSError` or `ValueError` if they cannot be read."""
    with (folder / DETAILS).open("rb") as file:
        yield from map(json.loads, file)


def records_of_cells(folder: Path, cells: Collection[Cell]) -> Details:
    """The records of some cells; those that are not there are left out. Raises as `read_records` does."""
    records: dict[Cell, list[Record]] = {}
    for record in _chosen(folder, lambda head: (int(head[1]), json.loads(head[3])) in cells):
        records.setdefault((record["row"], record["metric"]), []).append(record)
    return records


def records_of_metrics(folder: Path, metrics: Collection[str]) -> Iterator[dict[str, Any]]:
    """The records about some metrics, in order. Raises as `read_records` does."""
    return _chosen(folder, lambda head: json.loads(head[3]) in metrics)


def records_of_row(folder: Path, row: int) -> list[dict[str, Any]]:
    """The records about a row: one per metric, or per metric and repeat; none if the row has none.

    Raises `OSError`, or `ValueError` for a line that does not begin with its row.
    """
    path = folder / DETAILS
    with path.open("rb") as file:
        file.seek(_first_line(file, path.stat().st_size, row))
        lines = []
        for line in file:
            if _row(line) != row:
                break
            lines.append(json.loads(line))
    return lines


def row_digests(folder: Path) -> list[str]:
    """The digest of each row that was judged, in order. Raises `OSError`."""
    digests = dict[int, str]()
    with (folder / DETAILS).open("rb") as file:
        for line in file:
            if (head := HEAD.match(line)) and head[2] is not None:
                digests[int(head[1])] = head[2].decode()
    return [digests[row] for row in sorted(digests)]


def data_of(digests: Iterable[str]) -> str:
    """The digest of all rows of a run."""
    return short_digest(digest.encode() + b"\n" for digest in digests)


def _chosen(folder: Path, wants: Callable[[re.Match[bytes]], bool]) -> Iterator[dict[str, Any]]:
    """The records whose head is wanted, and those that have no such head."""
    with (folder / DETAILS).open("rb") as file:
        for line in file:
            head = HEAD.match(line)
            if head is None or head[3] is None or wants(head):
                yield json.loads(line)


def _first_line(file: BinaryIO, size: int, row: int) -> int:
    """Where the first line of a row begins, or of the next row that is there."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        start = _line_start(file, middle)
        file.seek(start)
        if _row(file.read(HEAD_BYTES)) < row:
            file.seek(middle)
            file.readline()
            low = file.tell()
        else:
            high = start
    return low


def _line_start(file: BinaryIO, place: int) -> int:
    """Where the line begins that a byte is in; a line is read once, however long it is."""
    while place:
        first = max(place - BLOCK, 0)
        file.seek(first)
        end = file.read(place - first).rfind(b"\n")
        if end >= 0:
            return first + end + 1
        place = first
    return 0


def _row(line: bytes) -> int:
    head = HEAD.match(line)
    if head is None:
        raise ValueError(f"expected a line that begins with its row, received {line[:40]!r}")
    return int(head[1])
