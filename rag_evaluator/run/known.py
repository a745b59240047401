"""Records of older generations: found by their key, taken over by a new one, or kept beside those in force.

journal/spare/<process>.jsonl       records as in `scores/`; of no chunk, found by their key
"""

import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from rag_evaluator.files.jsonl import Appender, read_lines
from rag_evaluator.run.journal import ANSWERS, PARTS, SCORES, TMP, Journal, Key, Line, decode, encode, worth_keeping
from rag_evaluator.run.task import Plan, Stage

SPARE = "spare"
MEASURED = "measured.json"  # what it took to make them, if that was a trial


def spare_files(place: Path) -> list[Path]:
    """The files of a stage's journal; `place` is its folder."""
    return sorted((place / SPARE).glob("*.jsonl"))


def open_spare(place: Path, process: str) -> Appender:
    """The file of this process, to be written."""
    (place / SPARE).mkdir(parents=True, exist_ok=True)
    return Appender(place / SPARE / f"{process}.jsonl")


def keep_spare(place: Path, process: str, plan: Plan, lines: Iterable[Line]) -> None:
    """Keep what a plan could use of an older generation if it took more rows; on disk when this returns."""
    useful = (line for line in lines if plan.columns.get(line.key.column) == line.key.signature)
    first = next(useful, None)
    if first is None:
        return
    with closing(open_spare(place, process)) as file:
        for line in (first, *useful):
            file.append(encode(plan.task, plan.stage, line.index, line.key, line.record))
        file.sync()


def remove_spare(place: Path) -> None:
    """Forget these records: they are made anew, or every row has its own."""
    with suppress(OSError):  # files of others stay
        for path in spare_files(place):
            path.unlink(missing_ok=True)
        (place / SPARE / MEASURED).unlink(missing_ok=True)
        (place / SPARE).rmdir()


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


def carry_over(old: Journal, stage: Stage[Any], folder: Path, process: str) -> None:
    """Write the records of an older generation that the stage can use into the chunks where they belong now.

    Those of rows that the stage leaves out are kept beside the generations.

    Args:
        folder: of the new generation.
    """
    plan = stage.plan
    with closing(KnownRecords(old.plan, record_files(old))) as known:
        carried: set[Key] = set()
        for chunk in range(plan.chunks):
            target = folder / SCORES / f"{chunk:06d}.kept.{process}.jsonl"
            lines = list(_kept(stage, chunk, known, carried))
            if lines:
                with target.open("wb") as file:
                    file.writelines(lines)
                    file.flush()
                    os.fsync(file.fileno())
        if plan.part:
            keep_spare(old.place, process, plan, (line for line in known if line.key not in carried))
    for path in (old.folder / ANSWERS).glob("*.jsonl"):
        copy = folder / TMP / f"{path.stem}.{process}"
        shutil.copy(path, copy)
        copy.replace(folder / ANSWERS / path.name)  # whole: another worker may read it already


def record_files(journal: Journal) -> list[Path]:
    """The files that hold the records of a generation."""
    return [path for name in (PARTS, SCORES) for path in sorted((journal.folder / name).glob("*.jsonl"))]


def _kept(stage: Stage[Any], chunk: int, known: KnownRecords, carried: set[Key]) -> Iterator[bytes]:
    """The lines of a chunk's cells that are known; their keys are added to `carried`."""
    plan = stage.plan
    units = plan.units_of(chunk)
    for unit in stage.units[units.start : units.stop]:
        for column, repeat in plan.slots:
            key = Key(stage.digest(unit, column), column, plan.columns[column], repeat)
            line = known.find(key)
            if line is not None:
                if plan.part:
                    carried.add(key)
                yield encode(plan.task, plan.stage, unit.index, key, line.record)
