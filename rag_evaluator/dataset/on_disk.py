"""`Samples`: the samples of a dataset, kept on disk, so that memory does not grow with their number."""

import pickle
import tempfile
from array import array
from collections.abc import Iterable, Sequence
from typing import TypeVar, overload

from rag_evaluator.dataset.columns import ColumnNames
from rag_evaluator.dataset.readers.json_files import InputRecord
from rag_evaluator.dataset.retrieval_log import rows_of_log
from rag_evaluator.dataset.sample import Sample, whole_of
from rag_evaluator.errors import DatasetError

T = TypeVar("T")
IN_MEMORY = 1 << 18  # bytes that are not worth a file


class OnDisk(Sequence[T]):
    """Items in a temporary file without a name, read whenever they are used.

    Raises `DatasetError` if the folder for temporary files (`TMPDIR`) is full.
    """

    def __init__(self, items: Iterable[T]) -> None:
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  # it lives as long as the items
        self._places = array("Q", [0])
        for data in map(pickle.dumps, items):
            try:
                self._file.write(data)
            except OSError as error:
                advice = f"Rows are kept in {tempfile.gettempdir()}; set TMPDIR to a folder with more space."
                raise DatasetError(f"the rows cannot be kept: {error}. {advice}") from error
            self._places.append(self._places[-1] + len(data))

    def __len__(self) -> int:
        return len(self._places) - 1

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        place = range(len(self))[index]
        if not isinstance(place, int):
            return [self[position] for position in place]
        self._file.seek(self._places[place])
        item: T = pickle.loads(self._file.read(self._places[place + 1] - self._places[place]))
        return item


class Samples(OnDisk[Sample]):
    """Samples, and what they hold all together.

    Attributes:
        names: every column of any row, in order of first appearance.
        present: canonical columns that some row has something in.
        wrong: canonical columns that some row has in a way that cannot be read -> the first reason.
    """

    def __init__(self, samples: Iterable[Sample]) -> None:
        self.names: dict[str, None] = {}
        self.present: set[str] = set()
        self.wrong: dict[str, str] = {}
        super().__init__(map(self._noted, samples))

    def _noted(self, sample: Sample) -> Sample:
        self.names |= dict.fromkeys(sample.row)
        self.present.update(column for column in sample.columns if sample.has(column))
        self.wrong |= {column: reason for column, reason in sample.wrong.items() if column not in self.wrong}
        return sample


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
    column_names.check(names, name)
    rows: Iterable[InputRecord] = stored
    if column_names.is_log(names):
        column_names = column_names.of_log()
        rows = rows_of_log(stored, column_names)
    return Samples(column_names.sample(index, record) for index, record in enumerate(rows))


def surveyed(samples: Sequence[Sample]) -> Samples:
    """Samples with what they hold; of those that were chosen from others, all."""
    whole = whole_of(samples)
    return whole if isinstance(whole, Samples) else Samples(whole)
