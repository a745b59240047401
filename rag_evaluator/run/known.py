"""Records that are there already, found by their key."""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from rag_evaluator.files.jsonl import read_lines
from rag_evaluator.run.journal import worth_keeping
from rag_evaluator.run.lines import Key, Line, decode
from rag_evaluator.run.plan import Plan


class KnownRecords:
    """The records in files of a stage that are worth keeping.

    Args:
        plan: of any generation of the stage.
        paths: where they are; of a key that is there several times the last record counts.

    Their places are kept in a temporary database on disk, so that memory does not grow with their number. Raises
    `ResultsError` for a file that is damaged before its last line.
    """

    def __init__(self, plan: Plan, paths: Sequence[Path]) -> None:
        self.plan, self.paths = plan, paths
        self._places = sqlite3.connect("", check_same_thread=False)
        self._places.execute("CREATE TABLE place (key TEXT PRIMARY KEY, path INTEGER, start INTEGER) WITHOUT ROWID")
        self._places.executemany("INSERT OR REPLACE INTO place VALUES (?, ?, ?)", self._read())

    def find(self, key: Key) -> Line | None:
        """The record of a key, with the place that its unit had when it was made."""
        if key.signature is None or not self.paths:
            return None
        row = self._places.execute("SELECT path, start FROM place WHERE key = ?", (_text(key),)).fetchone()
        return None if row is None else self._line(*row)

    def has(self, key: Key) -> bool:
        """Whether there is a record of a key."""
        if key.signature is None or not self.paths:
            return False
        return self._places.execute("SELECT 1 FROM place WHERE key = ?", (_text(key),)).fetchone() is not None

    def __iter__(self) -> Iterator[Line]:
        for path, start in self._places.execute("SELECT path, start FROM place"):
            yield self._line(path, start)

    def close(self) -> None:
        """Give the temporary database back."""
        self._places.close()

    def _read(self) -> Iterator[tuple[str, int, int]]:
        """Key, number of the file and place in it of each record that is worth keeping."""
        for number, path in enumerate(self.paths):
            for start, line in read_lines(path, lambda line: decode(line, self.plan.task, self.plan.stage)):
                if line is not None and worth_keeping(line):
                    yield _text(line.key), number, start

    def _line(self, path: int, start: int) -> Line:
        with self.paths[path].open("rb") as file:
            file.seek(start)
            line = decode(file.readline(), self.plan.task, self.plan.stage)
        assert line is not None
        return line


def _text(key: Key) -> str:
    return "\n".join(map(str, key))
