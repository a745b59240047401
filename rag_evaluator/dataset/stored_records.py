"""`StoredRecords`: the lines of a retrieval log kept on disk, as those of one question may be far apart."""

import pickle
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import overload

from rag_evaluator.dataset.readers.record import InputRecord


class StoredRecords(Sequence[InputRecord]):
    """Records in a temporary file without a name; their marks are kept, which JSON would lose."""

    def __init__(self, records: Iterable[InputRecord]) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `stored`
        self._places = array("Q")
        for record in records:
            self._places.append(self._file.tell())
            pickle.dump(record, self._file)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> InputRecord: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[InputRecord]: ...
    def __getitem__(self, index: int | slice) -> InputRecord | Sequence[InputRecord]:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        self._file.seek(self._places[index])
        record: InputRecord = pickle.load(self._file)
        return record

    def close(self) -> None:
        self._file.close()


@contextmanager
def stored(records: Iterable[InputRecord]) -> Iterator[StoredRecords]:
    """The records on disk, until the context ends."""
    kept = StoredRecords(records)
    try:
        yield kept
    finally:
        kept.close()
