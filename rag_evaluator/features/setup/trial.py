"""Makes some cells of a stage ahead of its run, which finds them by their key and does not make them again."""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from rag_evaluator.files.atomic import replace_json, short_digest
from rag_evaluator.files.progress import Progress, silent
from rag_evaluator.files.signals import Stop, StopSignal
from rag_evaluator.run.journal import Journal, Key, KnownRecords, encode, place_of, read_manifest
from rag_evaluator.run.stages import work_all
from rag_evaluator.run.task import Cell, Plan, Record, Stage
from rag_evaluator.run.worker_journal import MEASURED, SPARE, open_spare, record_files, spare_files
from rag_evaluator.run.workers import ALONE, process_name

Memory = Callable[[], tuple[int | None, int | None]]
"""The most bytes that this process has used: of the machine, of its GPUs; None: not known."""


@dataclass(frozen=True)
class TrialCost:
    """What making cells took in one process, the last time some were made.

    Attributes:
        of: digest of the columns' signatures.
        cells: which were made: digest of what the column reads of the unit, column, repeat.
        load_seconds: until the models were loaded.
        seconds, cpu_seconds: of making, on the clock and of processors.
        memory, gpu_memory: the most bytes that were used; None: not known.
    """

    of: str
    cells: Sequence[Sequence[Any]]
    load_seconds: float
    seconds: float
    cpu_seconds: float
    memory: int | None = None
    gpu_memory: int | None = None

    def keys(self, plan: Plan) -> list[Key]:
        """The keys of the cells. Raises `ValueError`, `KeyError` or `TypeError` where they are damaged."""
        return [Key(unit, column, plan.columns[column], repeat) for unit, column, repeat in self.cells]


def known_records(results: Path, plan: Plan) -> KnownRecords:
    """The records in a results folder that a stage may find by their keys, those of other plans included."""
    place = place_of(results, plan.task, plan.stage)
    files = record_files(Journal(results, place)) if read_manifest(place) is not None else []
    return KnownRecords(plan, [*files, *spare_files(place)])


def key_of(stage: Stage[Any], cell: Cell) -> Key:
    """The key of a cell's record."""
    return Key(stage.digest(cell.unit, cell.column), cell.column, stage.plan.columns[cell.column], cell.repeat)


def cells_of(stage: Stage[Any], places: Sequence[int]) -> Iterator[Cell]:
    """The cells of some units, in order."""
    for place in places:
        unit = stage.units[place]
        for column, repeat in stage.plan.slots:
            yield Cell(unit, column, repeat)


def make_some(
    stage: Stage[Any],
    places: Sequence[int],
    results: Path,
    run: Callable[[Any], Any],
    progress: Progress = silent,
    stop: Stop | None = None,
    memory: Memory = lambda: (None, None),
) -> dict[tuple[int, str, int], Record]:
    """The records of some units, by place, column and repeat; those that are not known are made and kept.

    Args:
        places: of the units.
        results: results folder of the run; no result file of it changes.
        run: runs a coroutine to its end.
        progress: called with (cells done, cells of these units).
        stop: asked to stop, it raises `StopSignal`; what was made is kept.

    The cells are the same when the run makes them: nothing depends on what else is in the making.
    """
    place = place_of(results, stage.plan.task, stage.plan.stage)
    records: dict[tuple[int, str, int], Record] = {}
    left: list[Cell] = []
    with closing(known_records(results, stage.plan)) as known:
        for cell in cells_of(stage, places):
            line = known.find(key_of(stage, cell))
            if line is None:
                left.append(cell)
            else:
                records[cell.unit.index, cell.column, cell.repeat] = line.record
    total = len(records) + len(left)
    progress(len(records), total)
    if left:
        stop = stop or Stop()
        records |= run(_make(stage, left, place, lambda made: progress(total - len(left) + made, total), stop, memory))
        if stop.asked and len(records) < total:
            raise StopSignal(stop.asked)
    return records


async def _make(
    stage: Stage[Any],
    cells: Sequence[Cell],
    place: Path,
    made: Callable[[int], None],
    stop: Stop,
    memory: Memory,
) -> dict[tuple[int, str, int], Record]:
    """Make cells; each record is on disk within a second."""
    records: dict[tuple[int, str, int], Record] = {}
    process = process_name(ALONE)
    with closing(open_spare(place, process)) as file:

        def done(cell: Cell, record: Record) -> None:
            if not record.missing:  # a missing one is tried again, as in a run
                file.append(encode(stage.plan.task, stage.plan.stage, cell.unit.index, key_of(stage, cell), record))
            records[cell.unit.index, cell.column, cell.repeat] = record
            made(len(records))

        clock = time.perf_counter()
        async with stage.open(None) as work:
            loaded, cpu = time.perf_counter(), time.process_time()
            with stop.patiently():
                await work_all(iter(cells), work, done, stop)
            seconds, cpu = time.perf_counter() - loaded, time.process_time() - cpu
            used = memory()
        file.sync()
    which = [[stage.digest(cell.unit, cell.column), cell.column, cell.repeat] for cell in cells]
    measured = TrialCost(signatures_digest(stage.plan), which, loaded - clock, seconds, cpu, *used)
    replace_json(place / SPARE / f"{MEASURED}.{os.getpid()}", asdict(measured), place / SPARE / MEASURED)
    return records


def read_measured(results: Path, plan: Plan) -> TrialCost | None:
    """What the last trial with these signatures took; None if there was none, or its note cannot be read."""
    try:
        path = place_of(results, plan.task, plan.stage) / SPARE / MEASURED
        data: Mapping[str, Any] = json.loads(path.read_bytes())
        measured = TrialCost(**{part.name: data[part.name] for part in fields(TrialCost)})
        measured.keys(plan)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return measured if measured.of == signatures_digest(plan) else None


def signatures_digest(plan: Plan) -> str:
    """16 hexadecimal digits of what the columns depend on."""
    return short_digest(json.dumps(dict(plan.columns), sort_keys=True))
