"""What can be run: a stage has units and columns, and each cell of them, repeated or not, becomes a record."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from rag_evaluator.files.records import Records
from rag_evaluator.run.plan import Plan


class Unit(Protocol):
    """What a stage works on: a row, a question, a pair."""

    @property
    def index(self) -> int:
        """Its place in the stage, from 0."""


U = TypeVar("U", bound=Unit)
U_co = TypeVar("U_co", bound=Unit, covariant=True)
U_contra = TypeVar("U_contra", bound=Unit, contravariant=True)


@dataclass(frozen=True)
class Record:
    """What became of a cell.

    Attributes:
        value: JSON: a score, an order, a reference; None where it is missing.
        reason: why it is missing.
        retry: it is missing for a passing reason, so that the next start tries again.
        details: JSON that belongs to the value.
    """

    value: Any  # JSON
    reason: str | None = None
    retry: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def missing(self) -> bool:
        return self.value is None


class Cell(NamedTuple):
    """A unit, a column and the number of the repetition."""

    unit: Any  # the stage's own kind of unit
    column: str
    repeat: int = 0


class Context(Protocol):
    """What a run gives to the work of a stage."""

    def answers(self) -> Records:
        """Answers that were kept by this and earlier starts, by signature of the judge and digest of the prompt."""


class Work(Protocol[U_contra]):
    """What makes records, open in one process and shared by all of its cells.

    Attributes:
        in_flight: cells in the making at any time: enough that the judge's batches stay full.
        about: what status shows of it: the engine, the path in use and why.
    """

    in_flight: int
    about: Mapping[str, Any]

    async def __call__(self, unit: U_contra, column: str, repeat: int) -> Record:
        """The record of a cell. An error stops the run, but for `JudgementError`, which makes a missing record."""


class Table(Protocol[U_co]):
    """The finished cells of a stage.

    Attributes:
        plan, about: of the stage, as whoever began it had them.
        marks: what any of its records is marked with.
        engines: `Work.about` of each process that worked.
    """

    @property
    def engines(self) -> Sequence[Mapping[str, Any]]: ...

    @property
    def plan(self) -> Plan: ...

    @property
    def about(self) -> Mapping[str, Any]: ...

    @property
    def marks(self) -> frozenset[str]: ...

    def __iter__(self) -> Iterator[tuple[U_co, Mapping[str, Sequence[Record]]]]:
        """Each unit in order, with the records of its columns, one for each repetition.

        Raises `ResultsError` for the first chunk that is damaged or foreign.
        """


class Stage(Protocol[U]):
    """Units x columns of records.

    Attributes:
        plan: what all workers of the stage must agree on.
        about: what the result folder's manifest says; the same bytes in each worker.
        files: names of the result files.
    """

    plan: Plan
    about: Mapping[str, Any]

    @property
    def files(self) -> Iterable[str]: ...

    @property
    def units(self) -> Sequence[U]: ...

    def digest(self, unit: U, column: str) -> str:
        """16 hexadecimal digits of what the column reads of the unit, not of its place."""

    def marks(self, unit: U, record: Record) -> Iterable[str]:
        """Names of what the writer must know of any record before it writes the first one."""

    def check(self, column: str, value: Any) -> None:
        """Raises `ValueError` for a value that the column cannot have. Any: JSON."""

    def open(self, context: Context | None) -> AbstractAsyncContextManager[Work[U]]:
        """Load what the work needs; called only where a cell is left to be made.

        Args:
            context: None where nothing is kept.
        """

    def is_written(self, folder: Path, plan: Plan) -> bool:
        """Whether what `write` has written for a plan can be read."""

    def write(self, table: "Table[U]", folder: Path) -> None:
        """Write the result files, all or none; loads no model."""
