"""Records that are found again by their key: appended to a file of this process, and read from those of others."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ResultsError
from rag_evaluator.files.atomic import writing
from rag_evaluator.files.jsonl import Appender, checked_line, json_line, need_text, read_checked, read_lines

Key = tuple[str, ...]
Check = Callable[[Mapping[str, Any]], Any]


class Records:
    """Files of records; only their places are kept in memory.

    Args:
        path: the file of this process; it is made with the first record, its folder must be there.
        keys: names of the texts that make a record's key.
        check: reads a record; raises `ValueError`, `KeyError` or `TypeError` where it is damaged.
        other_files: of other processes, read as they are now.
        checked: whether each line has a checksum.
        first: called when the first record of this process is on disk.

    A last line torn by a kill is dropped. Raises `ResultsError` when a file cannot be written or is damaged before its
    last line.
    """

    def __init__(
        self,
        path: Path,
        keys: Sequence[str],
        check: Check = dict,
        other_files: Sequence[Path] = (),
        checked: bool = False,
        first: Callable[[], None] = lambda: None,
    ) -> None:
        self.path, self.keys, self._check, self._first = path, tuple(keys), check, first
        self._encode = checked_line if checked else json_line
        self._decode: Callable[[bytes], dict[str, Any]] = read_checked if checked else json.loads
        self._places: dict[Key, tuple[Path, int]] = {}  # where each record begins, bytes
        self._appender: Appender | None = None
        for other in other_files:
            self._read(other)
        self._end = self._read(path) if path.is_file() else 0

    def find(self, key: Key) -> dict[str, Any] | None:
        """The last record under a key, its key included, if there is one."""
        if key not in self._places:
            return None
        path, place = self._places[key]
        with path.open("rb") as file:
            file.seek(place)
            record: dict[str, Any] = self._decode(file.readline())
        return record

    def append(self, key: Key, values: Mapping[str, Any]) -> None:
        """Record values under a key; on disk within a second.

        Raises `ResultsError` if they cannot be written (a full disk).
        """
        line = self._encode({**dict(zip(self.keys, key, strict=True)), **values})
        is_first = self._appender is None
        if self._appender is None:
            self._appender = self._open()
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

    def _open(self) -> Appender:
        with writing(self.path):
            return Appender(self.path)

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
        record = self._decode(line)
        self._check(record)
        return tuple(need_text(record[name]) for name in self.keys), len(line)
