"""`Spool`: the samples of a file kept on disk, so that memory does not grow with their number."""

from __future__ import annotations

import json
import tempfile
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import overload

from rag_evaluator.dataset.columns import canonical_columns, check_mapping, is_retrieval_log
from rag_evaluator.dataset.fields import EMPTY, text_or_list
from rag_evaluator.dataset.readers import iterate_records
from rag_evaluator.dataset.record import Record
from rag_evaluator.dataset.sample import Sample
from rag_evaluator.errors import DatasetError

AT_ONCE = 256  # samples read together


class Spool(Sequence[Sample]):
    """Samples of a file, read once, checked, and kept in a temporary file without a name.

    Args:
        path: file or folder, as `load_dataset` takes it; `columns` as there.

    Attributes:
        names: every column of any row, in order of first appearance.
        present: canonical columns that some row has.

    Raises `DatasetError` as `load_dataset` does, or if the folder for temporary files (`TMPDIR`) is full.
    """

    def __init__(self, path: Path, columns: Mapping[str, str]) -> None:
        self.names: dict[str, None] = {}
        self.present: set[str] = set()
        self._path, self._columns = path, dict(columns)
        try:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  # it lives as long as the samples
            is_log = self._columns.get("reference") == "retrieved_contexts"
            if self._write(is_log) != is_log:
                self._write(not is_log)
            self._file.flush()
        except OSError as error:
            folder = tempfile.gettempdir()
            raise DatasetError(
                f"{path.name}: cannot be kept in {folder}: {error}. Set TMPDIR to a roomy one."
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
        self._places, self.names, self.present = array("Q", [0]), {}, set()
        examples: dict[bool, Record] = {}  # one row whose reference is a list, one whose reference is none
        wrong: DatasetError | None = None
        name, records = iterate_records(self._path)
        for index, record in enumerate(records):
            self.names |= dict.fromkeys(record.row)
            reference = text_or_list(record.row.get("reference"), record.is_cells)
            if reference not in EMPTY:
                examples.setdefault(isinstance(reference, list), record)
            try:
                found = canonical_columns(record, self._columns, is_log)
            except DatasetError as error:  # told below, unless the rows have to be read in another way
                wrong, found = wrong or error, {}
            self.present |= found.keys()
            line = _line(Sample(index, record.row, found, record.where))
            self._file.write(line)
            self._places.append(self._places[-1] + len(line))
        every = [*examples.values(), Record("", dict.fromkeys(self.names))]
        check_mapping(self._columns, every, name)
        rows_are_log = is_retrieval_log(every, self._columns)
        if wrong is not None and rows_are_log == is_log:
            raise wrong
        return rows_are_log


def _line(sample: Sample) -> bytes:
    """A sample as JSON; canonical columns that the row has just so are told by their names only."""
    same = [name for name, value in sample.columns.items() if sample.row.get(name) == value]
    others = {name: None if name in same else value for name, value in sample.columns.items()}
    return json.dumps([sample.row, others, sample.where, sample.digest], ensure_ascii=False).encode("utf-8") + b"\n"


def _sample(index: int, line: bytes) -> Sample:
    row, columns, where, digest = json.loads(line)
    found = {name: row[name] if value is None else value for name, value in columns.items()}
    sample = Sample(index, row, found, where)
    sample.__dict__["digest"] = digest  # known already
    return sample
