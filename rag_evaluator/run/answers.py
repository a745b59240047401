"""Answers that the judge gave to the cells of a stage, kept so that a cell of many questions is never asked twice."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rag_evaluator.files.jsonl import Appender, checked_line, need_text, read_checked, read_lines

AnswerKey = tuple[str, str]  # signature of the judge, digest of the whole prompt


class Answers:
    """The answers of all processes of a stage; this one appends to a file of its own.

    Args:
        folder: of the answers of a journal's generation.
        process: name of this process.
        first: called after the first answer is on disk.

    Only their places are kept in memory. Answers of other processes are those that were there at the beginning.
    Raises `ResultsError` for a file that is damaged before its last line, or when an answer cannot be written.
    """

    def __init__(self, folder: Path, process: str, first: Callable[[], None] = lambda: None) -> None:
        self._path, self._first = folder / f"{process}.jsonl", first
        self._places: dict[AnswerKey, tuple[Path, int]] = {}
        for path in sorted(folder.glob("*.jsonl")):
            for place, answer in read_lines(path, _read):
                self._places[answer["signature"], answer["prompt"]] = (path, place)
        self._appender: Appender | None = None
        self._end = 0

    def find(self, key: AnswerKey) -> dict[str, Any] | None:
        """The answer under a key, if there is one."""
        if key not in self._places:
            return None
        path, place = self._places[key]
        with path.open("rb") as file:
            file.seek(place)
            return _read(file.readline())

    def append(self, key: AnswerKey, answer: Mapping[str, Any]) -> None:
        """Keep an answer; on disk within a second."""
        line = checked_line({"signature": key[0], "prompt": key[1], **answer})
        is_first = self._appender is None
        if self._appender is None:
            self._appender = Appender(self._path)
            self._end = self._path.stat().st_size
        self._appender.append(line)
        self._places[key] = (self._path, self._end)
        self._end += len(line)
        if is_first:
            self._appender.sync()
            self._first()

    def close(self) -> None:
        """Put everything on disk."""
        if self._appender is not None:
            self._appender.sync()
            self._appender.close()


def _read(line: bytes) -> dict[str, Any]:
    answer = read_checked(line)
    need_text(answer["signature"])
    need_text(answer["prompt"])
    return answer
