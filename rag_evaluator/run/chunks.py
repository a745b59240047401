"""Does one worker's part of a stage: opens the journal, makes the cells that are left, merges when all is there."""

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ConfigError, JudgeLostError, JudgementError, ResultsError
from rag_evaluator.files import ACTIVITY, SYNC_SECONDS, Progress, Stop, StopSignal, silent, writing
from rag_evaluator.judge import ORDER, run
from rag_evaluator.results import refuse_foreign

from .journal import Key
from .merging import merge_once
from .plan import Cell, Place, Record
from .stage import MadeInMemory, Stage, Table, Work
from .status import is_complete
from .worker_journal import Start, WorkerJournal
from .workers import Worker, now, process_name, run_id

LOOK_SECONDS = 1.0  # how often a worker looks whether a chunk in its hands was finished by another
TICK = 0.2  # seconds
LOOKING = "looking for what is made already"


@dataclass
class Chunk:
    """A chunk in the making.

    Attributes:
        cells: its cells by their places, each with the key of its record.
        lines: those of the records that are made or were known, by place.
        marks: see `Stage.marks`.
        made: records made by this process; `again`: those of which another try may make a score.
        looked: when it was last looked up whether another worker has finished it.
    """

    number: int
    cells: Mapping[Place, tuple[Cell, Key]]
    lines: dict[Place, bytes] = field(default_factory=dict)
    marks: set[str] = field(default_factory=set)
    made: int = 0
    again: int = 0
    began: float = field(default_factory=now)
    looked: float = field(default_factory=time.monotonic)

    @property
    def is_whole(self) -> bool:
        return len(self.lines) == len(self.cells)


class Cells:
    """The cells that one worker makes, chunk after chunk, and what becomes of their records.

    Args:
        journal: where chunks are published.
        stage: whose cells they are.
        worker: its own chunks come first, then it helps with the others in random order.
        progress: called with (cells done by anybody, cells of the stage).
    """

    def __init__(self, journal: WorkerJournal, stage: Stage, worker: Worker, progress: Progress) -> None:
        self.journal = journal
        self.stage = stage
        self.worker = worker
        self.progress = progress
        self.plan = journal.plan
        self._open: dict[int, Chunk] = {}
        self._done = 0
        self._tokens = ACTIVITY.tokens

    def __iter__(self) -> Iterator[Cell]:
        """The cells to make; a chunk is opened when the cells of the one before have been taken."""
        for number in self._order():
            chunk = self._begin(number)
            left = [cell for place, (cell, _) in chunk.cells.items() if place not in chunk.lines]
            if not left:
                self._finish(chunk)
            for cell in left:
                if not self._is_closed(chunk):
                    yield cell

    def done(self, cell: Cell, record: Record) -> None:
        """Journal a record; publish its chunk if it was the last one missing."""
        chunk = self._open.get(cell.unit.index // self.plan.chunk_size)
        if chunk is None:  # another worker has finished it
            return
        line = self._take(chunk, cell, record)
        chunk.made += 1
        chunk.again += record.missing and record.retry
        if not record.missing:  # a missing record is tried again by whoever continues
            self.journal.record(chunk.number, line)
        ACTIVITY.missing += record.missing
        self._done += 1
        self.progress(self._done, self.plan.cells)
        if chunk.is_whole:
            self._finish(chunk)

    def tick(self) -> None:
        """On disk within a second, also while nothing new comes."""
        self.journal.sync(SYNC_SECONDS)

    def _order(self) -> Iterator[int]:
        """Own chunks in order, then the others at random, each unless it is published by then.

        Beside another process of the same number, all at random: in the same order both would make everything.
        """
        twins = [note for note in self.journal.workers() if note.worker == str(self.worker)]
        helps_only = self.worker.number >= self.worker.count or len(twins) > 1
        assigned = [] if helps_only else list(range(self.worker.number, self.plan.chunks, self.worker.count))
        remaining = sorted(set(range(self.plan.chunks)) - set(assigned))
        random.Random().shuffle(remaining)
        for number in (*assigned, *remaining):
            if not self.journal.part_path(number).exists():
                yield number

    def _begin(self, number: int) -> Chunk:
        known = self.journal.unfinished(number)
        chunk = Chunk(number, {cell.place: (cell, key) for cell, key in self.stage.cells(self.plan, number)})
        for cell, key in chunk.cells.values():
            if key in known:
                self._take(chunk, cell, known[key])
        self._open[number] = chunk
        published = sum(self.plan.cells_of(other) for other in self.journal.published())
        self._done = published + sum(len(chunk.lines) for chunk in self._open.values())
        self.progress(self._done, self.plan.cells)
        return chunk

    def _take(self, chunk: Chunk, cell: Cell, record: Record) -> bytes:
        """The line of a record, which the chunk gets."""
        key = chunk.cells[cell.place][1]
        line = chunk.lines[cell.place] = self.journal.encode(cell.unit.index, key, record)
        chunk.marks.update(self.stage.marks(cell.unit, record))
        return line

    def _finish(self, chunk: Chunk) -> None:
        note = {
            "again": chunk.again,
            "marks": sorted(chunk.marks),
            "worker": str(self.worker),
            "process": self.journal.process,
            "made": chunk.made,
            "began": chunk.began,
            "ended": now(),
            "tokens": max(0, ACTIVITY.tokens - self._tokens),  # since the chunk that was finished before
        }
        self._tokens = ACTIVITY.tokens
        self.journal.publish(chunk.number, [chunk.lines[place] for place in chunk.cells], note)
        self._drop(chunk)

    def _is_closed(self, chunk: Chunk) -> bool:
        """Whether another worker has finished the chunk meanwhile; looked up once a second."""
        if time.monotonic() - chunk.looked > LOOK_SECONDS:
            chunk.looked = time.monotonic()
            if self.journal.part_path(chunk.number).exists():
                self._drop(chunk)
        return chunk.number not in self._open

    def _drop(self, chunk: Chunk) -> None:
        self._open.pop(chunk.number, None)
        self.journal.clear(chunk.number)


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
    with writing(journal.folder):
        (journal.folder / "merged.json").unlink(missing_ok=True)
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

    async def work() -> None:
        async with stage.open(journal.answers) as made:
            if made.about:
                journal.note_worker(engine=made.about)
            with stop.patiently():
                await work_all(chain([first], left), made, cells.done, stop, cells.tick)

    run(work())
    if stop.asked and journal.missing():
        raise StopSignal(stop.asked)


def make_all(stage: Stage, progress: Progress) -> MadeInMemory:
    """Make all cells of a stage in memory, without a journal."""
    records: dict[Place, Record] = {}

    def done(cell: Cell, record: Record) -> None:
        records[cell.place] = record
        ACTIVITY.missing += record.missing
        progress(len(records), stage.plan.cells)

    async def work() -> Mapping[str, Any]:
        cells = (Cell(unit, *slot) for unit in stage.units for slot in stage.plan.slots)
        async with stage.open(None) as made:
            await work_all(cells, made, done, Stop())
            return made.about

    progress(0, stage.plan.cells)
    return MadeInMemory(stage.plan, stage.about, stage.units, [run(work())], records)


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

    first = asyncio.Event()
    number = count()

    async def take() -> None:
        while not stop.asked and (cell := next(cells, None)) is not None:
            ORDER.set(next(number))
            try:
                record = await work.make(*cell)
            except JudgementError as error:
                record = Record(None, str(error), retry=True)
            done(cell, record)
            first.set()
        first.set()

    async def take_later() -> None:
        await first.wait()
        await take()

    at_first = work.in_flight if work.at_first is None else work.at_first
    takes = [take if place < at_first else take_later for place in range(work.in_flight)]
    tasks = [asyncio.create_task(begin()) for begin in takes]
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
