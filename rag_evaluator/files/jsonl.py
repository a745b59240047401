"""Append-only JSON lines, on disk within a second: they make a killed job resumable. `Records` finds them by key."""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from rag_evaluator.errors import FRESH, ResultsError

from .atomic import short_digest, writing

Json = Mapping[str, Any]
"""An object of JSON, which is only read. Any: what JSON has."""
JsonDict = dict[str, Any]
"""One that is being made."""

SYNC_SECONDS = 1.0

CHECKSUM = b', "sha256": "'
Item = TypeVar("Item")
Key = tuple[str, ...]


def json_line(record: Json) -> bytes:
    """A record as its line of a JSON Lines file."""
    return (json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def checked_line(record: Json) -> bytes:
    """A record as its line, with a checksum of the line as its last key."""
    body = json_line(record)[:-2]  # without the brace and the end of the line
    return body + CHECKSUM + _checksum(body) + b'"}\n'


def read_checked(line: bytes) -> JsonDict:
    """The record of a line with a checksum. Raises `ValueError` where it is damaged."""
    body, mark, checksum = line.rpartition(CHECKSUM)
    if not mark or checksum != _checksum(body) + b'"}\n':
        raise ValueError("its checksum does not fit")
    record: JsonDict = json.loads(body + b"}")
    return record


def _checksum(body: bytes) -> bytes:
    return short_digest(body).encode("ascii")


class Appender:
    """A file that only grows: what `append` was given is safe from a kill at once, from a power cut after `sync`.

    A last line that a kill has torn is dropped first: in a container a process may have the name of the killed one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("a+b", buffering=0)
        _drop_torn_line(self._file)  # not opened again: whoever publishes its chunk may remove the file at any time
        self._synced = time.monotonic()
        self._dirty = False

    def append(self, line: bytes) -> None:
        """Write a line; on disk within a second. Raises `ResultsError` if it cannot be written (a full disk)."""
        rest = memoryview(line)
        try:
            while rest:  # a disk that is nearly full takes a part
                rest = rest[self._file.write(rest) :]
            self._dirty = True
            self.sync(SYNC_SECONDS)
        except OSError as error:
            if 0 < len(rest) < len(line):  # a whole line after a part of one would be damage, not a torn end
                with suppress(OSError):
                    self._file.truncate(self._file.tell() - len(line) + len(rest))
            raise ResultsError(f"{self.path}: cannot be written: {error}. What was recorded is kept.") from error

    def sync(self, seconds: float = 0.0) -> None:
        """Force what was appended to disk, unless that was done within the last `seconds`."""
        if self._dirty and time.monotonic() - self._synced >= seconds:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()
            self._dirty = False

    def close(self) -> None:
        self._file.close()


def _drop_torn_line(file: FileIO) -> None:
    """Cut a file behind its last end of line."""
    file.seek(0)
    file.truncate(file.readall().rfind(b"\n") + 1)


def read_lines(path: Path, read: Callable[[bytes], Item]) -> Iterator[tuple[int, Item]]:
    """What `read` makes of each line of a file, with the place where the line begins, in bytes.

    A last line torn by a kill is left out. Raises `ResultsError`, with the line, for other damage: lines that `read`
    refuses with `ValueError`, `KeyError` or `TypeError` included.
    """
    place = 0
    torn = None
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if torn is not None:
                raise ResultsError(f"{path}, {torn}. Remove the line, or {FRESH}.") from None
            try:
                if not line.endswith(b"\n"):
                    raise ValueError("no end of line")
                record = read(line)
            except (ValueError, KeyError, TypeError) as error:
                torn = f"line {number}: damaged ({error})"
                continue
            yield place, record
            place += len(line)


class Records:
    """Files of records, each with a checksum; only their places are kept in memory.

    Args:
        path: the file of this process; it is made with the first record, its folder must be there.
        keys: names of the texts that make a record's key.
        other_files: of other processes, read as they are now.
        first: called when the first record of this process is on disk.

    A last line torn by a kill is dropped. Raises `ResultsError` when a file cannot be written or is damaged before its
    last line.
    """

    def __init__(
        self,
        path: Path,
        keys: Sequence[str],
        other_files: Sequence[Path] = (),
        first: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = path
        self.keys = tuple(keys)
        self._first = first
        self._places: dict[Key, tuple[Path, int]] = {}  # where each record begins, bytes
        self._appender: Appender | None = None
        for other in other_files:
            self._read(other)
        self._end = self._read(path) if path.is_file() else 0

    def find(self, key: Key) -> JsonDict | None:
        """The last record under a key, its key included, if there is one."""
        if key not in self._places:
            return None
        path, place = self._places[key]
        with path.open("rb") as file:
            file.seek(place)
            return read_checked(file.readline())

    def append(self, key: Key, values: Json) -> None:
        """Record values under a key; on disk within a second.

        Raises `ResultsError` if they cannot be written (a full disk).
        """
        line = checked_line({**dict(zip(self.keys, key, strict=True)), **values})
        is_first = self._appender is None
        if self._appender is None:
            with writing(self.path):
                self._appender = Appender(self.path)
        self._appender.append(line)
        self._places[key] = (self.path, self._end)
        self._end += len(line)
        if is_first:
            self._appender.sync()
            self._first()

    def close(self) -> None:
        """Put everything on disk."""
        if self._appender is not None:
            self._appender.sync()
            self._appender.close()

    def _read(self, path: Path) -> int:
        """Find the records of a file; returns the length in bytes of the part that is whole."""
        end = 0
        try:
            for place, (key, length) in read_lines(path, self._key_of):
                self._places[key] = (path, place)
                end = place + length
        except OSError as error:
            raise ResultsError(f"{path}: cannot be read: {error}.") from error
        return end

    def _key_of(self, line: bytes) -> tuple[Key, int]:
        """The key of a line, and its length in bytes."""
        record = read_checked(line)
        return tuple(record[name] for name in self.keys), len(line)
