"""What still holds of an older generation of a journal: found by key, wherever its units stand now."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from rag_evaluator.files.jsonl import read_lines
from rag_evaluator.run.journal import ANSWERS, PARTS, SCORES, Journal, worth_keeping
from rag_evaluator.run.lines import Key, decode, encode
from rag_evaluator.run.task import Stage


def carry_over(old: Journal, stage: Stage[Any], folder: Path, process: str) -> None:
    """Write the records of an older generation that the stage can use into the chunks where they belong now.

    Args:
        folder: of the new generation.

    Places of records are kept in a temporary database on disk, so that memory does not grow with their number.
    """
    plan = stage.plan
    paths = [path for name in (PARTS, SCORES) for path in sorted((old.folder / name).glob("*.jsonl"))]
    with closing(sqlite3.connect("")) as places:
        places.execute("CREATE TABLE place (key TEXT PRIMARY KEY, path INTEGER, start INTEGER) WITHOUT ROWID")
        places.executemany("INSERT OR REPLACE INTO place VALUES (?, ?, ?)", _places(old, paths))
        for chunk in range(plan.chunks):
            target = folder / SCORES / f"{chunk:06d}.kept.{process}.jsonl"
            lines = list(_kept(stage, chunk, places, paths))
            if lines:
                with target.open("wb") as file:
                    file.writelines(lines)
                    file.flush()
                    os.fsync(file.fileno())
    for path in (old.folder / ANSWERS).glob("*.jsonl"):
        shutil.copy(path, folder / ANSWERS / path.name)


def _places(old: Journal, paths: list[Path]) -> Iterator[tuple[str, int, int]]:
    """Key, number of the file and place in it of each record that is worth keeping."""
    for number, path in enumerate(paths):
        for start, line in read_lines(path, lambda line: decode(line, old.plan.task, old.plan.stage)):
            if line is not None and worth_keeping(line):
                yield _text(line.key), number, start


def _kept(stage: Stage[Any], chunk: int, places: sqlite3.Connection, paths: list[Path]) -> Iterator[bytes]:
    """The lines of a chunk's cells that are known."""
    plan = stage.plan
    units = plan.units_of(chunk)
    for unit in stage.units[units.start : units.stop]:
        for column, repeat in plan.slots:
            key = Key(stage.digest(unit, column), column, plan.columns[column], repeat)
            row = places.execute("SELECT path, start FROM place WHERE key = ?", (_text(key),)).fetchone()
            if key.signature is not None and row is not None:
                with paths[row[0]].open("rb") as file:
                    file.seek(row[1])
                    line = decode(file.readline(), plan.task, plan.stage)
                assert line is not None
                yield encode(plan.task, plan.stage, unit.index, key, line.record)


def _text(key: Key) -> str:
    return "\n".join(map(str, key))
