"""Does one worker's part of a stage: opens the journal, makes the cells that are left, merges when all is there."""

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ConfigError, JudgeLostError, JudgementError, ResultsError
from rag_evaluator.files.jsonl import SYNC_SECONDS
from rag_evaluator.files.progress import ACTIVITY, Progress, silent
from rag_evaluator.files.signals import Stop, StopSignal
from rag_evaluator.models.event_loop import run
from rag_evaluator.results.manifest import refuse_foreign
from rag_evaluator.run.journal import Journal, Key, Line, encode, place_of, read_manifest, workers_of
from rag_evaluator.run.merge import merge_once
from rag_evaluator.run.status import is_complete
from rag_evaluator.run.table import Stage, Table, Work
from rag_evaluator.run.task import Cell, Plan, Record, refuse_changes, refuse_fewer_rows
from rag_evaluator.run.worker_journal import Start, WorkerJournal
from rag_evaluator.run.workers import Worker, now, process_name, run_id

LOOK_SECONDS = 1.0  # how often a worker looks whether a chunk in its hands was finished by another


class Chunk:
    """A chunk in the making: its records, by cell, of which those that are known need not be made."""

    def __init__(self, number: int, stage: Stage, plan: Plan, known: Mapping[Key, Line]) -> None:
        self.number, self.stage, self.plan = number, stage, plan
        self.marks: set[str] = set()
        units = plan.units_of(number)
        self.cells = [
            Cell(unit, column, repeat)
            for unit in stage.units[units.start : units.stop]
            for column, repeat in plan.slots
        ]
        self.lines: list[bytes | None] = [None] * len(self.cells)
        self.places = {(cell.unit.index, cell.column, cell.repeat): at for at, cell in enumerate(self.cells)}
        self.keys = [self._key(cell) for cell in self.cells]
        for cell, key in zip(self.cells, self.keys, strict=True):
            if (line := known.get(key)) is not None:
                self._take(cell, line.record)
        self.made, self.again = 0, 0
        self.began, self.looked = now(), time.monotonic()
        self.given_up = False

    @property
    def gaps(self) -> int:
        """Cells without a record."""
        return self.lines.count(None)

    def add(self, cell: Cell, record: Record) -> bytes:
        """Take a record in; returns its line."""
        self.made += 1
        self.again += record.missing and record.retry
        return self._take(cell, record)

    def _take(self, cell: Cell, record: Record) -> bytes:
        place = self.places[cell.unit.index, cell.column, cell.repeat]
        line = encode(self.plan.task, self.plan.stage, cell.unit.index, self.keys[place], record)
        self.marks.update(self.stage.marks(cell.unit, record))
        self.lines[place] = line
        return line

    def _key(self, cell: Cell) -> Key:
        digest = self.stage.digest(cell.unit, cell.column)
        return Key(digest, cell.column, self.plan.columns[cell.column], cell.repeat)


class Cells:
    """The cells that one worker makes, chunk after chunk, and what becomes of their records.

    Args:
        journal: where chunks are published.
        stage: whose cells they are.
        worker: its own chunks come first, then it helps with the others in random order.
        progress: called with (cells done by anybody, cells of the stage).
    """

    def __init__(self, journal: WorkerJournal, stage: Stage, worker: Worker, progress: Progress) -> None:
        self.journal, self.stage, self.worker, self.progress = journal, stage, worker, progress
        self.plan = journal.plan
        self._open: dict[int, Chunk] = {}
        self._done = 0

    def __iter__(self) -> Iterator[Cell]:
        """The cells to make; a chunk is opened when the cells of the one before have been taken."""
        for number in self._order():
            chunk = self._begin(number)
            if not chunk.gaps:
                self._finish(chunk)
            for cell, line in zip(chunk.cells, list(chunk.lines), strict=True):
                if line is None and not self._is_given_up(chunk):
                    yield cell

    def done(self, cell: Cell, record: Record) -> None:
        """Journal a record; publish its chunk if it was the last one missing."""
        chunk = self._open.get(cell.unit.index // self.plan.chunk_size)
        if chunk is None or chunk.given_up:  # another worker has finished it
            return
        line = chunk.add(cell, record)
        if not record.missing:  # a missing record is tried again by whoever continues
            self.journal.record(chunk.number, line)
        ACTIVITY.missing += record.missing
        self._done += 1
        self.progress(self._done, self.plan.cells)
        if not chunk.gaps:
            self._finish(chunk)

    def tick(self) -> None:
        """On disk within a second, also while nothing new comes."""
        self.journal.sync(SYNC_SECONDS)

    def _order(self) -> Iterator[int]:
        """Own chunks in order, then the others at random, each unless it is published by then.

        Beside another process of the same number, all at random: in the same order both would make everything.
        """
        twins = [note for note in workers_of(self.journal) if note.worker == str(self.worker)]
        helps_only = self.worker.number >= self.worker.count or len(twins) > 1
        assigned = [] if helps_only else list(range(self.worker.number, self.plan.chunks, self.worker.count))
        remaining = sorted(set(range(self.plan.chunks)) - set(assigned))
        random.Random().shuffle(remaining)
        for number in (*assigned, *remaining):
            if not self.journal.part_path(number).exists():
                yield number

    def _begin(self, number: int) -> Chunk:
        unfinished = self.journal.unfinished(number)
        for line in unfinished.values():
            self._check(number, line)
        chunk = Chunk(number, self.stage, self.plan, unfinished)
        self._open[number] = chunk
        published = sum(self.plan.cells_of(other) for other in self.journal.published())
        self._done = published + sum(len(chunk.lines) - chunk.gaps for chunk in self._open.values())
        self.progress(self._done, self.plan.cells)
        return chunk

    def _check(self, number: int, line: Line) -> None:
        """Raises `ResultsError` for a value that cannot be."""
        if not line.record.missing and line.key.column in self.plan.columns:
            try:
                self.stage.check(line.key.column, line.record.value)
            except ValueError as error:
                raise ResultsError(
                    f"{self.journal.folder}/scores/{number:06d}.*.jsonl: damaged (unit {line.index}, "
                    f"{line.key.column}: {error}). Remove the file, and the same command makes it again."
                ) from None

    def _finish(self, chunk: Chunk) -> None:
        assert not chunk.gaps
        note = {
            "again": chunk.again,
            "marks": sorted(chunk.marks),
            "worker": str(self.worker),
            "process": self.journal.process,
            "made": chunk.made,
            "began": chunk.began,
            "ended": now(),
        }
        self.journal.publish(chunk.number, [line for line in chunk.lines if line is not None], note)
        self._drop(chunk)

    def _is_given_up(self, chunk: Chunk) -> bool:
        """Whether another worker has finished the chunk meanwhile; looked up once a second."""
        if not chunk.given_up and time.monotonic() - chunk.looked > LOOK_SECONDS:
            chunk.looked = time.monotonic()
            if self.journal.part_path(chunk.number).exists():
                chunk.given_up = True
                self._drop(chunk)
        return chunk.given_up

    def _drop(self, chunk: Chunk) -> None:
        self._open.pop(chunk.number, None)
        self.journal.clear(chunk.number)


TICK = 0.2  # seconds
LOOKING = "looking for what is made already"
Records = dict[tuple[int, str, int], Record]  # by place of the unit, column and number of the repeat


def refuse_used(results: Path, stage: Stage) -> None:
    """Raises `ResultsError` where an evaluation would be refused, as its folder holds another one. Writes nothing."""
    refuse_foreign(results, stage.files)
    begun = read_manifest(place_of(results, stage.plan.task, stage.plan.stage))
    if begun is not None and not Journal(results).is_empty:
        refuse_changes(results, stage.plan.changes(begun.plan, unnamed=False))
        refuse_fewer_rows(results, stage.plan, begun.plan)


def run_stage(
    stage: Stage,
    results: Path,
    worker: Worker,
    progress: Progress = silent,
    stop: Stop | None = None,
    start: Start = "continue",
) -> Table:
    """Make the cells of a stage that are this worker's, help with the others, merge; the cells when all are there.

    Args:
        results: where the workers of a run meet.
        progress: called with (cells made by anybody, cells to make).
        stop: asked to stop, it raises `StopSignal` once what is in the making is done or its grace time is over.
        start: see `WorkerJournal`.
    """
    refuse_foreign(results, stage.files)
    if worker.count > 1 and None in stage.plan.columns.values():
        raise ConfigError(
            f"worker {worker}: a model of the run has no name, so workers cannot tell whether they have the "
            "same. Give models by folder or hub id."
        )
    with ACTIVITY.phase(LOOKING):
        journal = WorkerJournal(results, stage, process_name(worker), start)
    is_there = is_complete(journal) and stage.is_written(results)
    if not is_there or journal.try_again(run_id()):
        _make_and_merge(stage, journal, worker, progress, stop or Stop())
    return Table(journal, stage)


def _make_and_merge(stage: Stage, journal: WorkerJournal, worker: Worker, progress: Progress, stop: Stop) -> None:
    """Do what is left to be done; the note of this process says how it ended."""
    journal.forget_finished()
    journal.note_worker(worker=str(worker), run=run_id())

    def end(how: str) -> None:
        journal.note_worker(ended=how)

    stop.at_once = end
    try:
        _make(stage, journal, worker, progress, stop)
        merge_once(journal, stage, run_id())
    except BaseException as error:
        with suppress(ResultsError):  # the first error says more than that the note could not be written either
            end(f"stopped by {error}" if isinstance(error, StopSignal) else f"failed: {type(error).__name__}")
        raise
    finally:
        stop.at_once = lambda how: None
        journal.close()
    end("finished")


def _make(stage: Stage, journal: WorkerJournal, worker: Worker, progress: Progress, stop: Stop) -> None:
    """Open the work if there is a cell to make at all, and make the cells."""
    cells = Cells(journal, stage, worker, progress)
    left = iter(cells)
    with ACTIVITY.phase(LOOKING):
        first = next(left, None)
    if first is None:
        return

    def chained() -> Iterator[Cell]:
        yield first
        yield from left

    async def work() -> None:
        async with stage.open(journal.answers) as made:
            if made.about:
                journal.note_worker(engine=made.about)
            with stop.patiently():
                await work_all(chained(), made, cells.done, stop, cells.tick)

    run(work())
    if stop.asked and journal.missing():
        raise StopSignal(stop.asked)


def make_all(stage: Stage, progress: Progress) -> tuple[Records, Mapping[str, Any]]:
    """Make all cells of a stage in memory, without a journal; the records, and how the work was done."""
    records: Records = {}

    def done(cell: Cell, record: Record) -> None:
        records[cell.unit.index, cell.column, cell.repeat] = record
        ACTIVITY.missing += record.missing
        progress(len(records), stage.plan.cells)

    async def work() -> Mapping[str, Any]:
        cells = (Cell(unit, *slot) for unit in stage.units for slot in stage.plan.slots)
        async with stage.open(None) as made:
            await work_all(cells, made, done, Stop())
            return made.about

    progress(0, stage.plan.cells)
    return records, run(work())


async def work_all(
    cells: Iterator[Cell],
    work: Work,
    done: Callable[[Cell, Record], None],
    stop: Stop,
    tick: Callable[[], None] = lambda: None,
) -> None:
    """Make cells as they come out of the iterator, until it ends or the run is asked to stop.

    Args:
        done: called with each record the moment it exists.
        stop: once asked, no new cell is taken, and what is in the making gets its grace time.
        tick: called some times a second while models are at work.
    """

    async def take() -> None:
        while not stop.asked and (cell := next(cells, None)) is not None:
            try:
                record = await work.make(*cell)
            except JudgementError as error:
                record = Record(None, str(error), retry=True)
            done(cell, record)

    tasks = [asyncio.create_task(take()) for _ in range(work.in_flight)]
    waiting = set(tasks)
    try:
        while waiting and not stop.overdue:
            ended, waiting = await asyncio.wait(waiting, timeout=TICK, return_when=asyncio.FIRST_EXCEPTION)
            for task in ended:
                task.result()  # raises its error, a full disk for instance
            tick()
    except JudgeLostError:
        if not stop.asked:  # a signal to the whole job ends the judge's server, too
            raise
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)  # reads the errors of all, or asyncio prints them
