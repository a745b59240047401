"""A stage, the work that makes its cells, and the table of all cells once they are there."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from rag_evaluator.errors import MissingChunksError, ResultsError
from rag_evaluator.files import Json, Records

from .journal import Journal, Key
from .plan import Cell, Place, Plan, Record

Answers = Callable[[], Records]
"""Opens the answers that this and earlier starts kept, by signature of the judge and digest of the prompt."""


@dataclass(frozen=True)
class Work:
    """What makes records, open in one process and shared by all of its cells.

    Attributes:
        make: the record of a unit, a column and the number of the repeat. An error stops the run, but for
            `JudgementError`, which makes a missing record.
        in_flight: cells in the making at any time: enough that the judge's batches stay full.
        at_first: cells in the making until the first one is made; None: `in_flight`.
        about: what status shows of it: the engine, the path in use and why.
    """

    make: Callable[[Any, str, int], Awaitable[Record]]
    in_flight: int
    about: Json = field(default_factory=dict)
    at_first: int | None = None


class Stage:
    """Units x columns of records; base of all stages. Any: each has units of its own kind, with their `index`.

    Attributes:
        plan: what all workers of the stage must agree on.
        about: what the result folder's manifest says; the same bytes in each worker.
        units: rows, questions, pairs; each knows its place in the stage as `index`, from 0.
        files: names of the result files that it may write.
    """

    plan: Plan
    about: Json
    units: Sequence[Any]
    files: Sequence[str] = ()

    def digest(self, unit: Any, column: str) -> str:
        """16 hexadecimal digits of what the column reads of the unit, not of its place."""
        return str(unit.digest)

    def cells(self, plan: Plan, chunk: int) -> Iterator[tuple[Cell, Key]]:
        """The cells of a chunk in order, each with the key of its record; `plan` is the one in force."""
        units = plan.units_of(chunk)
        for unit in self.units[units.start : units.stop]:
            for column, repeat in plan.slots:
                yield Cell(unit, column, repeat), Key(self.digest(unit, column), column, plan.columns[column], repeat)

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

    def write(self, table: "Table", folder: Path) -> Sequence[str]:
        """Write the result files, all or none, and return their names; loads no model."""
        raise NotImplementedError


class Table:
    """The finished cells of a stage, chunk after chunk.

    Attributes:
        plan, about: of the stage, as whoever began it had them.

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
        self.journal = journal
        self.stage = stage
        self.plan = journal.plan
        self.about = journal.about

    @property
    def engines(self) -> Sequence[Json]:
        """How the work of each process was done, see `Work.about`."""
        return [note.engine for note in self.journal.notes().values()]

    @property
    def marks(self) -> frozenset[str]:
        """What any of its records is marked with."""
        footers = map(self.journal.read_footer, range(self.plan.chunks))
        return frozenset(mark for footer in footers for mark in footer.get("marks", ()))

    def __iter__(self) -> Iterator[tuple[Any, Mapping[str, Sequence[Record]]]]:
        """Each unit in order, with the records of its columns, one for each repetition."""
        for chunk in range(self.plan.chunks):
            lines = self.journal.read_part(chunk)
            expected = self.plan.cells_of(chunk)
            if len(lines) != expected:
                raise self._wrong(chunk, f"{len(lines)} records, expected {expected}")
            cells = zip(self.stage.cells(self.plan, chunk), lines, strict=True)
            for _, of_unit in groupby(cells, lambda cell: cell[0][0].unit.index):
                records: dict[str, list[Record]] = {column: [] for column in self.plan.columns}
                for (cell, key), line in of_unit:
                    records[cell.column].append(self._record(chunk, line, cell, key))
                yield cell.unit, records

    def _record(self, chunk: int, text: bytes, cell: Cell, key: Key) -> Record:
        """The record of a cell. Raises `ResultsError` unless the line is that of the cell, with a value it can have."""
        try:
            line = self.journal.decode(text)
            if line is None or (line.index, line.key) != (cell.unit.index, key):
                received = "a footer" if line is None else f"unit {line.index}, {line.key.column}"
                raise ValueError(f"{received} in place of unit {cell.unit.index}, {cell.column}")
            if not line.record.missing:
                self.stage.check(cell.column, line.record.value)
        except (ValueError, KeyError, TypeError) as error:
            raise self._wrong(chunk, str(error)) from None
        return line.record

    def _wrong(self, chunk: int, what: str) -> ResultsError:
        path = self.journal.part_path(chunk)
        noun = self.plan.unit_noun
        return ResultsError(
            f"{path}: does not hold its {noun}: {what}. Remove it, and the same command makes it again."
        )


@dataclass(frozen=True)
class MadeInMemory:
    """The finished cells of a stage without a journal, as `Table` gives those of one: `records` by their places."""

    plan: Plan
    about: Json
    units: Sequence[Any]
    engines: Sequence[Json]
    records: Mapping[Place, Record]

    def __iter__(self) -> Iterator[tuple[Any, Mapping[str, Sequence[Record]]]]:
        repeats = [(column, self.plan.repeats_of(column)) for column in self.plan.columns]
        for unit in self.units:
            yield unit, {column: [self.records[unit.index, column, n] for n in numbers] for column, numbers in repeats}
