"""A stage, the work that makes its cells, and the table of all cells once they are there."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_evaluator.errors import MissingChunksError, ResultsError
from rag_evaluator.files.jsonl import Records
from rag_evaluator.run.journal import WORKERS, Journal, decode
from rag_evaluator.run.task import Plan, Record
from rag_evaluator.run.workers import WorkerNote

Answers = Callable[[], Records]
"""Opens the answers that this and earlier starts kept, by signature of the judge and digest of the prompt."""


@dataclass(frozen=True)
class Work:
    """What makes records, open in one process and shared by all of its cells.

    Attributes:
        make: the record of a unit, a column and the number of the repeat. An error stops the run, but for
            `JudgementError`, which makes a missing record.
        in_flight: cells in the making at any time: enough that the judge's batches stay full.
        about: what status shows of it: the engine, the path in use and why.
    """

    make: Callable[[Any, str, int], Awaitable[Record]]
    in_flight: int
    about: Mapping[str, Any] = field(default_factory=dict)


class Stage:
    """Units x columns of records; base of all stages. Any: each has units of its own kind, with their `index`.

    Attributes:
        plan: what all workers of the stage must agree on.
        about: what the result folder's manifest says; the same bytes in each worker.
        units: rows, questions, pairs; each knows its place in the stage as `index`, from 0.
        files: names of the result files.
    """

    plan: Plan
    about: Mapping[str, Any]
    units: Sequence[Any]
    files: Sequence[str] = ()

    def digest(self, unit: Any, column: str) -> str:
        """16 hexadecimal digits of what the column reads of the unit, not of its place."""
        return str(unit.digest)

    def marks(self, unit: Any, record: Record) -> Iterable[str]:
        """Names of what the writer must know of any record before it writes the first one."""
        return ()

    def check(self, column: str, value: Any) -> None:
        """Raises `ValueError` for a value that the column cannot have. Any: JSON."""

    def open(self, answers: Answers | None) -> AbstractAsyncContextManager[Work]:
        """Load what the work needs; called only where a cell is left to be made; `answers` is None in memory."""
        raise NotImplementedError

    def is_written(self, folder: Path) -> bool:
        """Whether what `write` has written can be read, and is what this start would write."""
        return True

    def write(self, table: "Table", folder: Path) -> None:
        """Write the result files, all or none; loads no model."""
        raise NotImplementedError


class Table:
    """The finished cells of a stage, chunk after chunk.

    Attributes:
        plan, about: of the stage, as whoever began it had them.
        again: chunks in which another try may make a missing record, known once all are read.

    Raises `MissingChunksError` if chunks are missing; while it is read `ResultsError` for the first one that is
    damaged, foreign, or does not hold exactly its units.
    """

    def __init__(self, journal: Journal, stage: Stage) -> None:
        missing = journal.missing()
        if missing:
            units = f"{sum(len(journal.plan.units_of(chunk)) for chunk in missing)} {journal.plan.unit_noun}"
            raise MissingChunksError(
                f"{journal.results}: {len(missing)} of {journal.plan.chunks} chunks are missing ({units}). The command "
                "that began the run makes them."
            )
        self.journal, self.stage = journal, stage
        self.plan, self.about = journal.plan, journal.about
        self.again: list[int] = []

    @property
    def marks(self) -> frozenset[str]:
        """What any of its records is marked with."""
        footers = (self.journal.read_footer(chunk) for chunk in range(self.journal.plan.chunks))
        return frozenset(mark for footer in footers for mark in footer.get("marks", ()))

    @property
    def engines(self) -> list[Mapping[str, Any]]:
        """`Work.about` of each process that worked."""
        notes = (WorkerNote.read(path) for path in sorted((self.journal.folder / WORKERS).glob("*.json")))
        return [note.engine for note in notes if note is not None]

    def __iter__(self) -> Iterator[tuple[Any, Mapping[str, Sequence[Record]]]]:
        """Each unit in order, with the records of its columns, one for each repetition."""
        self.again = []
        for chunk in range(self.journal.plan.chunks):
            lines, footer = self.journal.read_part(chunk)
            if footer.get("again"):
                self.again.append(chunk)
            yield from self._units(chunk, lines)

    def _units(self, chunk: int, lines: Sequence[bytes]) -> Iterator[tuple[Any, Mapping[str, Sequence[Record]]]]:
        plan = self.journal.plan
        if len(lines) != plan.cells_of(chunk):
            raise self._wrong(chunk, f"{len(lines)} records, expected {plan.cells_of(chunk)}")
        units, left = plan.units_of(chunk), iter(lines)
        for unit in self.stage.units[units.start : units.stop]:
            records: dict[str, list[Record]] = {column: [] for column in plan.columns}
            for column, repeat in plan.slots:
                records[column].append(self._record(chunk, next(left), unit, column, repeat))
            yield unit, records

    def _record(self, chunk: int, text: bytes, unit: Any, column: str, repeat: int) -> Record:
        """The record of a cell. Raises `ResultsError` unless the line is that of the cell, with a value it can have."""
        plan = self.journal.plan
        expected = (unit.index, self.stage.digest(unit, column), column, plan.columns[column], repeat)
        try:
            line = decode(text, plan.task, plan.stage)
            if line is None or (line.index, *line.key) != expected:
                received = "a footer" if line is None else f"unit {line.index}, {line.key.column}"
                raise ValueError(f"{received} in place of unit {unit.index}, {column}")
            if not line.record.missing:
                self.stage.check(column, line.record.value)
        except (ValueError, KeyError, TypeError) as error:
            raise self._wrong(chunk, str(error)) from None
        return line.record

    def _wrong(self, chunk: int, what: str) -> ResultsError:
        path, noun = self.journal.part_path(chunk), self.journal.plan.unit_noun
        return ResultsError(
            f"{path}: does not hold its {noun}: {what}. Remove it, and the same command makes it again."
        )
