"""`Samples`: the samples of a dataset, what they hold, and whether that is what is needed."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from rag_evaluator.errors import DatasetError

from .columns import ColumnNames, accepted_names
from .on_disk import OnDisk
from .readers.json_files import InputRecord
from .retrieval_log import rows_of_log
from .sample import REASON, Sample
from .turns import HISTORY, STANDALONE
from .values import READ


class ReadsColumns(Protocol):
    """A metric or a task, as far as it reads rows; see `Metric`."""

    @property
    def columns(self) -> Sequence[str]: ...
    @property
    def optional(self) -> Sequence[str]: ...
    @property
    def may_be_empty(self) -> Sequence[str]: ...
    def needs(self, has: Callable[[str], bool]) -> Sequence[str]: ...


class Samples(OnDisk[Sample]):
    """Samples, and what they hold all together.

    Attributes:
        names: every column of any row, in order of first appearance.
        present: canonical columns that some row has something in.
        empty: those in which some row has an empty list, which may say that nothing was retrieved.
        wrong: canonical columns that some row has in a way that cannot be read, or no row under a name that is mapped
            -> the first reason.
    """

    def __init__(self, samples: Iterable[Sample]) -> None:
        self.names: dict[str, None] = {}
        self.present: set[str] = set()
        self.empty: set[str] = set()
        self.wrong: dict[str, str] = {}
        super().__init__(map(self._noted, samples))

    def _noted(self, sample: Sample) -> Sample:
        self.names |= dict.fromkeys(sample.row)
        self.present.update(column for column in sample.columns if sample.has(column))
        self.empty.update(column for column, value in sample.columns.items() if value == [])
        self.wrong |= {column: reason for column, reason in sample.wrong.items() if column not in self.wrong}
        return sample

    def needed_by(self, readers: Mapping[str, ReadsColumns]) -> dict[str, list[str]]:
        """Metric or task -> the canonical columns in which some row must have something.

        An empty list is something where it says that nothing was retrieved, even if all rows have one; so is a
        reference that `generate` could not write. Users' own metrics may read other columns, too.
        """
        is_tried = "reference" not in self.present and REASON in self.names
        tried = {"reference"} if is_tried and any(sample.row.get(REASON) for sample in self) else set()
        needed = {}
        for name, reader in readers.items():
            allowed = (self.empty - self.present).intersection(reader.may_be_empty) | tried
            columns = reader.needs({*self.present, *allowed}.__contains__)
            needed[name] = [column for column in columns if column in READ and column not in allowed]
        return needed

    def check_readable(self, columns: Collection[str]) -> None:
        """DatasetError, with the first reason, when one of these canonical columns cannot be read in some sample."""
        read = {*columns, *((HISTORY, STANDALONE) if "user_input" in columns else ())}
        for column, reason in self.wrong.items():
            if column in read:
                raise DatasetError(reason)

    def check_columns(self, needed: Mapping[str, Sequence[str]], source_name: str) -> None:
        """DatasetError when a canonical column that a metric needs cannot be read, or is missing in all samples.

        `needed`: metric name -> its columns. Single rows without the column are fine: their score will be NaN.
        """
        self.check_readable({column for columns in needed.values() for column in columns})
        missing: dict[str, list[str]] = {}
        for metric, columns in needed.items():
            for column in columns:
                if column not in self.present:
                    missing.setdefault(column, []).append(metric)
        if missing:
            lines = [self._missing_column(column, metrics) for column, metrics in missing.items()]
            raise DatasetError("\n".join(f"{source_name}: {line}" for line in lines))

    def _missing_column(self, column: str, metrics: Sequence[str]) -> str:
        listed = ", ".join(metrics)
        return (
            f"expected the column '{column}', which {listed} need{'s' if len(metrics) == 1 else ''} (accepted names: "
            f"{', '.join(accepted_names(column))}), received the columns {', '.join(map(repr, self.names))}."
            f"{self._unused(column)} Rename a column, map it with columns: {{<your column>: {column}}}, or leave out "
            f"{listed}."
        )

    def _unused(self, column: str) -> str:
        """Why a column with an accepted name does not count."""
        if column == "retrieved_contexts" and "reference" in self.wrong:
            return f" {self.wrong['reference']}"
        is_named = not self.names.keys().isdisjoint(accepted_names(column))
        if is_named or any(column in sample.columns for sample in self):
            return " It is there, but blank in every row, or read as another column."
        if column == "response" and self[0].response:
            return f" The first row: {self[0].response.why_silent}."
        error = self[0].row.get("error")  # of a system that `collect` has asked
        return f" The first row has an error: '{error}'." if isinstance(error, str) else ""


def samples_of(name: str, records: Iterable[InputRecord], column_names: ColumnNames) -> Samples:
    """The samples of records, in their order: each record is taken once, its columns are renamed and checked.

    Args:
        name: of the source, for messages.

    Raises `DatasetError` for names of columns that do not fit.
    """
    names: dict[str, None] = {}

    def noted(record: InputRecord) -> InputRecord:
        names.update(dict.fromkeys(record.row))
        return record

    stored = OnDisk(map(noted, records))
    absent = column_names.check(names, name)
    rows: Iterable[InputRecord] = stored
    if column_names.is_log(names):
        column_names = column_names.of_log()
        rows = rows_of_log(stored, column_names)
    samples = Samples(column_names.sample(index, record) for index, record in enumerate(rows))
    samples.wrong = absent | samples.wrong
    return samples
