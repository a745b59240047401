"""Lines of large result files, found without reading the files: rows by offset, their details by binary search."""

import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

HEAD = 40  # bytes of a line that hold its row
BLOCK = 1 << 16  # bytes read at once
ROW = re.compile(rb'\{"row": (\d+),')


def line_offsets(path: Path) -> "array[int]":
    """The byte at which each line of a file begins."""
    offsets, place = array("q"), 0
    with path.open("rb") as file:
        for line in file:
            offsets.append(place)
            place += len(line)
    return offsets


def lines_of_row(path: Path, row: int) -> Iterator[bytes]:
    """The lines of a row in `details.jsonl`, which is in the order of rows; none if the row has none.

    Raises `ValueError` for a line that does not begin with its row.
    """
    with path.open("rb") as file:
        low, high = 0, path.stat().st_size
        while low < high:  # the first line of the row, or of the next one that is there, begins in [low, high]
            middle = (low + high) // 2
            start = _line_start(file, middle)
            file.seek(start)
            if _row(file.read(HEAD)) < row:
                file.seek(middle)
                file.readline()
                low = file.tell()
            else:
                high = start
        file.seek(low)
        for line in file:
            if _row(line) != row:
                return
            yield line


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
    head = ROW.match(line)
    if head is None:
        raise ValueError(f"expected a line that begins with its row, received {line[:40]!r}")
    return int(head[1])
