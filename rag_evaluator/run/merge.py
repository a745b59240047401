"""Has the result files written from finished chunks, by whoever of the workers comes last."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from rag_evaluator.errors import MissingChunksError, ResultsError
from rag_evaluator.files.atomic import writing
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.run.journal import TMP, WORKERS, Journal, Part, decode
from rag_evaluator.run.status import Finished, describe_files, is_complete, note_finished
from rag_evaluator.run.task import Record, Stage
from rag_evaluator.run.workers import WorkerNote, now

LONGEST_SECONDS = 600.0  # a worker of another machine that writes results for so long is taken for dead
SHOWN = 20  # missing chunks named in a message


class ChunkTable:
    """All chunks of a journal as a table, read one after the other.

    Attributes:
        again: chunks in which another try may make a missing record, known once all are read.

    Raises `MissingChunksError` if chunks are missing; while it is read `ResultsError` for the first one that is
    damaged, foreign, or does not hold exactly its units.
    """

    def __init__(self, journal: Journal, stage: Stage[Any]) -> None:
        missing = journal.missing()
        if missing:
            raise MissingChunksError(_missing(journal, missing))
        self.journal, self.stage = journal, stage
        self.plan, self.about = journal.plan, journal.about
        self.again: list[int] = []

    @property
    def marks(self) -> frozenset[str]:
        footers = (self.journal.read_footer(chunk) for chunk in range(self.journal.plan.chunks))
        return frozenset(mark for footer in footers for mark in footer.get("marks", ()))

    @property
    def engines(self) -> list[Mapping[str, Any]]:
        notes = (WorkerNote.read(path) for path in sorted((self.journal.folder / WORKERS).glob("*.json")))
        return [note.engine for note in notes if note is not None]

    def __iter__(self) -> Iterator[tuple[Any, Mapping[str, Sequence[Record]]]]:
        self.again = []
        for chunk in range(self.journal.plan.chunks):
            ACTIVITY.step(chunk, self.journal.plan.chunks)
            part = self.journal.read_part(chunk)
            if part.footer.get("again"):
                self.again.append(chunk)
            yield from self._units(chunk, part)

    def _units(self, chunk: int, part: Part) -> Iterator[tuple[Any, Mapping[str, Sequence[Record]]]]:
        plan = self.journal.plan
        if len(part.lines) != plan.cells_of(chunk):
            raise self._wrong(chunk, f"{len(part.lines)} records, expected {plan.cells_of(chunk)}")
        units, lines = plan.units_of(chunk), iter(part.lines)
        for unit in self.stage.units[units.start : units.stop]:
            records: dict[str, list[Record]] = {column: [] for column in plan.columns}
            for column, repeat in plan.slots:
                records[column].append(self._record(chunk, next(lines), unit, column, repeat))
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


def merge(journal: Journal, stage: Stage[Any], run: str | None) -> None:
    """Write the result files. Raises `MissingChunksError`, or `ResultsError` for a chunk that is damaged or foreign.

    Args:
        run: what the workers of this start share, as a later one tries again to make missing records.
    """
    table = ChunkTable(journal, stage)
    with ACTIVITY.phase(f"writing results to {journal.results}"):
        stage.write(table, journal.results)
    files = describe_files(journal.results, stage.files)
    note_finished(journal, Finished(journal.digest, table.again, run, now(), files))


def merge_once(journal: Journal, stage: Stage[Any], run: str | None) -> None:
    """`merge`, unless another worker is at it: then wait for it. Merging twice does no harm: both write the same."""
    from filelock import SoftFileLock, Timeout  # works on file systems of clusters, too

    lock = SoftFileLock(journal.folder / TMP / "merging")
    while not is_complete(journal):
        with (
            writing(journal.folder),
            ACTIVITY.phase("looking whether results are written"),
            suppress(Timeout),
        ):
            lock.acquire(LONGEST_SECONDS)  # a lock of a process of this machine that has ended is broken
        try:
            if not is_complete(journal):
                merge(journal, stage, run)
        finally:
            lock.release()


def _missing(journal: Journal, missing: Sequence[int]) -> str:
    names = ", ".join(journal.part_path(chunk).name for chunk in missing[:SHOWN])
    more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    plan = journal.plan
    units = f"{sum(len(plan.units_of(chunk)) for chunk in missing)} {plan.unit_noun}"
    return (
        f"{journal.results}: {len(missing)} of {plan.chunks} chunks are missing ({units}): {names}{more}. "
        "The command that began the run makes them."
    )
