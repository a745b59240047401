"""What still holds of an older generation of a journal: found by key, wherever its units stand now."""

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from rag_evaluator.run.journal import ANSWERS, PARTS, SCORES, TMP, Journal
from rag_evaluator.run.known import KnownRecords
from rag_evaluator.run.lines import Key, encode
from rag_evaluator.run.spare import keep_spare
from rag_evaluator.run.task import Stage


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
