"""One worker's cells: which chunks it takes, the records of each, and what is in the making."""

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

from rag_evaluator.errors import ResultsError
from rag_evaluator.files.jsonl import SYNC_SECONDS
from rag_evaluator.progress import ACTIVITY, Progress
from rag_evaluator.run.journal import workers_of
from rag_evaluator.run.lines import Key, Line, encode
from rag_evaluator.run.plan import Plan
from rag_evaluator.run.task import Cell, Record, Stage
from rag_evaluator.run.worker_journal import WorkerJournal
from rag_evaluator.run.workers import Worker, now

LOOK_SECONDS = 1.0  # how often a worker looks whether a chunk in its hands was finished by another


class Chunk:
    """A chunk in the making: its records, by cell, of which those that are known need not be made."""

    def __init__(self, number: int, stage: Stage[Any], plan: Plan, known: Callable[[Key], Line | None]) -> None:
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
            if (line := known(key)) is not None:
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

    def __init__(self, journal: WorkerJournal, stage: Stage[Any], worker: Worker, progress: Progress) -> None:
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
        chunk = Chunk(number, self.stage, self.plan, lambda key: unfinished.get(key) or self._spare(number, key))
        self._open[number] = chunk
        published = sum(self.plan.cells_of(other) for other in self.journal.published())
        self._done = published + sum(len(chunk.lines) - chunk.gaps for chunk in self._open.values())
        self.progress(self._done, self.plan.cells)
        return chunk

    def _spare(self, number: int, key: Key) -> Line | None:
        """A record that was made while the run left its row out."""
        line = self.journal.spare.find(key)
        if line is not None:
            self._check(number, line)
        return line

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
