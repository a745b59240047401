"""`OnDiskSamples`: the samples of a file kept on disk, so that memory does not grow with their number."""

from __future__ import annotations

import json
import pickle
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, overload

from rag_evaluator.dataset.columns import RETRIEVED, ColumnNames, as_key, column_names, descending
from rag_evaluator.dataset.json_values import EMPTY, Differing, is_blank
from rag_evaluator.dataset.readers import iterate_records
from rag_evaluator.dataset.readers.json_files import InputRecord
from rag_evaluator.dataset.sample import Sample
from rag_evaluator.dataset.values import as_number, is_number, is_written_by_python, json_or_text
from rag_evaluator.errors import DatasetError
from rag_evaluator.files.atomic import short_digest
from rag_evaluator.files.progress import ACTIVITY

# Any in this module: the users' values, plain JSON.

ID, CHUNK = "id", "reference"
RELEVANCE = "relevance"
"""Grades of contexts, which `sort` reads."""


def rows_of_log(records: Sequence[InputRecord] | StoredRecords, names: ColumnNames) -> Iterator[InputRecord]:
    """The rows of a log by the first line of each question; without a column of scores, the records.

    Lines belong to one question if they have the same `id`, or no `id` and the same text. A record that holds lists
    is a row already. All records are read twice, and those of one question are in memory together.
    """
    lines: dict[str | int, list[int]] = {}
    is_scored = False
    for place, record in enumerate(records):
        is_scored = is_scored or names.name_of("document_score") in record.row
        lines.setdefault(_key(record, names) or place, []).append(place)
    if not is_scored:
        yield from records
        return
    for key, places in lines.items():
        if isinstance(key, int):
            record = records[key]
            yield _joined([record], names) if _is_line(record, names) else record
        else:
            yield _joined([records[place] for place in places], names)


def _is_line(record: InputRecord, names: ColumnNames) -> bool:
    """Whether it holds one chunk at most, and no list, in cells neither a broken one."""
    values = [record.row.get(name) for name in (CHUNK, names.name_of("document_score"))]
    texts = [value for value in values if isinstance(value, str) and record.is_cells]
    is_list = any(isinstance(json_or_text(value, record.is_cells), list) for value in values)
    return not is_list and not any(text.lstrip().startswith("[") or is_written_by_python(text) for text in texts)


def _key(record: InputRecord, names: ColumnNames) -> str | None:
    """What the lines of one question share; None for a row that is no line, or has neither id nor question."""
    if not _is_line(record, names):
        return None
    columns = names.names_of("user_input", record)
    question = as_key(record.row[columns[0]]) if columns else None
    identity = None if ID in names.mapping else as_key(record.row.get(ID))
    if identity is None and question is None:
        return None
    return short_digest(f"question {question}" if identity is None else f"{ID} {identity}")


def _joined(lines: Sequence[InputRecord], names: ColumnNames) -> InputRecord:
    """The lines of one question as a row: lists by descending score, all else once."""
    first, score = lines[0], names.name_of("document_score")
    chunks = [line for line in lines if any(line.row.get(name) not in EMPTY for name in (CHUNK, score))]
    scores = [_score(line, score) for line in chunks]
    if all(map(is_number, scores)):
        chunks = [chunks[place] for place in descending(scores)]
    by_chunk = {CHUNK, RELEVANCE, *(names.name_of(name) for name in RETRIEVED[1:])}
    row = {
        name: [_of_chunk(line, name, score) for line in chunks] if name in by_chunk else _once(name, lines, chunks)
        for name in column_names(line.row for line in lines)
    }
    where = first.where if len(lines) == 1 else f"{first.where} and {len(lines) - 1} more"
    return InputRecord(where, row, first.is_cells)


def _of_chunk(line: InputRecord, name: str, score: str) -> Any:
    value = line.row.get(name)
    if name == CHUNK:
        return "" if value is None else value
    return _score(line, name) if name in (score, RELEVANCE) else value


def _score(line: InputRecord, name: str) -> Any:
    value = line.row.get(name)
    return None if is_blank(value) else as_number(value, line.is_cells)


def _once(name: str, lines: Sequence[InputRecord], chunks: Sequence[InputRecord]) -> Any:
    """The value that all lines have which have one; else all values in the order of the chunks."""
    nonblank = [line for line in lines if not is_blank(line.row.get(name))] or lines[:1]
    first = nonblank[0].row.get(name)
    other = next((line for line in nonblank if as_key(line.row.get(name)) != as_key(first)), None)
    if other is None:
        return first
    values = Differing(line.row.get(name) for line in chunks)
    values.reason = (
        f"expected the same value in all lines of a question, received {first!r:.60} ({nonblank[0].where}) and "
        f"{other.row[name]!r:.60} ({other.where}). Correct one of them, or give each question its own '{ID}'."
    )
    return values


class StoredRecords:
    """Records in a temporary file without a name; their marks are kept, which JSON would lose."""

    def __init__(self, records: Iterable[InputRecord]) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed by whoever made it
        self._places = array("Q")
        for record in records:
            self._places.append(self._file.tell())
            pickle.dump(record, self._file)

    def __iter__(self) -> Iterator[InputRecord]:
        return map(self.__getitem__, range(len(self._places)))

    def __getitem__(self, index: int) -> InputRecord:
        self._file.seek(self._places[index])
        record: InputRecord = pickle.load(self._file)
        return record

    def close(self) -> None:
        self._file.close()


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
            with closing(StoredRecords(records)) as lines:
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
