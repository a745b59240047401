"""Does one worker's part of a stage: opens the journal, makes the cells that are left, merges when all is there."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ConfigError, JudgeLostError, JudgementError, ResultsError
from rag_evaluator.progress import ACTIVITY, Progress, silent
from rag_evaluator.results.manifest import refuse_foreign
from rag_evaluator.run.chunks import Cells
from rag_evaluator.run.finished import is_complete
from rag_evaluator.run.journal import Journal
from rag_evaluator.run.merge import merge_once
from rag_evaluator.run.task import Cell, Record, Stage, Work
from rag_evaluator.run.worker_journal import Start, WorkerJournal
from rag_evaluator.run.workers import Worker, process_name, run_id
from rag_evaluator.signals import Stop, StopSignal

TICK = 0.2  # seconds
LOOKING = "looking for what is made already"
Run = Callable[[Any], Any]  # runs a coroutine to its end
Records = dict[tuple[int, str, int], Record]  # by place of the unit, column and number of the repeat


def run_stage(
    stage: Stage[Any],
    results: Path,
    worker: Worker,
    run: Run,
    progress: Progress = silent,
    stop: Stop | None = None,
    start: Start = "continue",
    run_digest: Callable[[], str | None] = lambda: None,
) -> Journal:
    """Make the cells of a stage that are this worker's, help with the others, and merge when all are there.

    Args:
        results: where the workers of a run meet.
        run: runs a coroutine to its end.
        progress: called with (cells made by anybody, cells to make).
        stop: asked to stop, it raises `StopSignal` once what is in the making is done or its grace time is over.
        start: see `WorkerJournal`.
        run_digest: by which the next start knows in a moment that nothing has changed.
    """
    refuse_foreign(results, stage.files)
    if worker.count > 1 and None in stage.plan.columns.values():
        raise ConfigError(
            f"worker {worker}: the judge or the embeddings have no name, so workers cannot tell whether they have the "
            "same. Give models by folder or hub id."
        )
    stop = stop or Stop()
    with ACTIVITY.phase(LOOKING):
        journal = WorkerJournal(results, stage, process_name(worker), start)
    if is_complete(journal) and stage.is_written(results, journal.plan) and not journal.try_again(run_id()):
        return journal
    journal.forget_finished()
    journal.note_worker(worker=str(worker), run=run_id())

    def end(how: str) -> None:
        journal.note_worker(ended=how)

    stop.at_once = end
    try:
        with ACTIVITY.phase(LOOKING):
            digest = run_digest()  # before the work: what changes while it lasts is no part of it
        _make(stage, journal, worker, run, progress, stop)
        merge_once(journal, stage, run_id(), digest)
    except BaseException as error:
        with suppress(ResultsError):  # the first error says more than that the note could not be written either
            end(f"stopped by {error}" if isinstance(error, StopSignal) else f"failed: {type(error).__name__}")
        raise
    finally:
        stop.at_once = lambda how: None
        journal.close()
    end("finished")
    return journal


def _make(stage: Stage[Any], journal: WorkerJournal, worker: Worker, run: Run, progress: Progress, stop: Stop) -> None:
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
        async with stage.open(journal) as made:
            if made.about:
                journal.note_worker(engine=made.about)
            with stop.patiently():
                await work_all(chained(), made, cells.done, stop, cells.tick)

    run(work())
    if stop.asked and journal.missing():
        raise StopSignal(stop.asked)


def make_all(stage: Stage[Any], run: Run, progress: Progress) -> tuple[Records, Mapping[str, Any]]:
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
    work: Work[Any],
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
                record = await work(cell.unit, cell.column, cell.repeat)
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
