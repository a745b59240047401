"""`OnDiskSamples`: the samples of a file kept on disk, so that memory does not grow with their number."""

from __future__ import annotations

import json
import pickle
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, overload

from rag_evaluator.dataset.columns import ColumnNames
from rag_evaluator.dataset.readers.record import InputRecord
from rag_evaluator.dataset.readers.table import iterate_records
from rag_evaluator.dataset.retrieval_log import rows_of_log
from rag_evaluator.dataset.sample import Sample
from rag_evaluator.errors import DatasetError
from rag_evaluator.progress import ACTIVITY


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


AT_ONCE = 256  # samples read together


class OnDiskSamples(Sequence[Sample]):
    """Samples of a file, read once, checked, and kept in a temporary file without a name.

    Args:
        path: file or folder, as `load_dataset` takes it.
        column_names: the user's names of columns.

    Attributes:
        names: every column of any row, in order of first appearance.
        present: canonical columns that some row has something in.
        wrong: canonical columns that some row has in a way that cannot be read -> the first reason.

    Raises `DatasetError` if the file cannot be read at all, or the folder for temporary files (`TMPDIR`) is full.
    """

    def __init__(self, path: Path, column_names: ColumnNames) -> None:
        self.names: dict[str, None] = {}
        self.present: set[str] = set()
        self.wrong: dict[str, str] = {}
        self._path, self._column_names = path, column_names
        try:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  # it lives as long as the samples
            with ACTIVITY.phase(f"reading {path.name}"):
                is_log = column_names.is_log(())
                if self._write(is_log) != is_log:
                    self._write(not is_log)
            self._file.flush()
        except OSError as error:
            folder = tempfile.gettempdir()
            raise DatasetError(
                f"{path.name}: cannot be kept in {folder}: {error}. Set TMPDIR to a folder with more space."
            ) from error

    def __len__(self) -> int:
        return len(self._places) - 1

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sample]: ...
    def __getitem__(self, index: int | slice) -> Sample | Sequence[Sample]:
        positions = range(len(self))[index]
        if isinstance(positions, int):
            return self._read(positions, positions + 1)[0]
        if positions.step != 1:
            return [self[position] for position in positions]
        return self._read(positions.start, positions.stop)

    def __iter__(self) -> Iterator[Sample]:
        for start in range(0, len(self), AT_ONCE):
            yield from self._read(start, min(start + AT_ONCE, len(self)))

    def _read(self, start: int, stop: int) -> list[Sample]:
        if start >= stop:
            return []
        self._file.seek(self._places[start])
        lines = self._file.read(self._places[stop] - self._places[start]).split(b"\n")[:-1]
        return [_sample(start + place, line) for place, line in enumerate(lines)]

    def _write(self, is_log: bool) -> bool:
        """Write all samples, read as a retrieval log or not; returns whether the rows are one."""
        self._file.seek(0)
        self._file.truncate()
        self._places, self.names, self.present, self.wrong = array("Q", [0]), {}, set(), {}
        name, records = iterate_records(self._path)
        if is_log:
            with stored(records) as lines:
                self._write_rows(rows_of_log(lines, self._column_names), is_log)
        else:
            self._write_rows(records, is_log)
        self._column_names.check(self.names, name)
        return self._column_names.is_log(self.names)

    def _write_rows(self, records: Iterable[InputRecord], is_log: bool) -> None:
        for index, record in enumerate(records):
            self.names |= dict.fromkeys(record.row)
            sample = self._column_names.sample(index, record, is_log)
            self.present.update(column for column in sample.columns if sample.has(column))
            for column, reason in sample.wrong.items():
                self.wrong.setdefault(column, reason)
            line = _line(sample)
            self._file.write(line)
            self._places.append(self._places[-1] + len(line))


def _line(sample: Sample) -> bytes:
    """A sample as JSON; of canonical columns that the row has unchanged only the names are kept."""
    same = [name for name, value in sample.columns.items() if _is_same(sample.row.get(name), value)]
    changed = {name: None if name in same else value for name, value in sample.columns.items()}
    return (
        json.dumps([sample.row, changed, sample.where, sample.wrong, sample.digest], ensure_ascii=False).encode("utf-8")
        + b"\n"
    )


def _is_same(first: Any, second: Any) -> bool:
    """Whether both are the same JSON; 1 equals True, and is not the same."""
    return bool(first == second) and repr(first) == repr(second)


def _sample(index: int, line: bytes) -> Sample:
    row, columns, where, wrong, digest = json.loads(line)
    canonical = {name: row[name] if value is None else value for name, value in columns.items()}
    sample = Sample(index, row, canonical, where, wrong)
    sample.__dict__["digest"] = digest  # known already
    return sample
