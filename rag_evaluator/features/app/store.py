"""`ReviewStore`: `reviews.jsonl` of a results folder: what is confirmed is on disk, and nobody's change is lost."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from threading import RLock
from typing import Any, Literal, get_args

import filelock

from rag_evaluator.dataset.json_values import is_blank, plain
from rag_evaluator.errors import RagEvaluatorError, ResultsError
from rag_evaluator.files.atomic import sync_file, sync_folder, writing
from rag_evaluator.files.jsonl import Appender, json_line

# Any in this module: JSON.

Kind = Literal["flag", "correct", "label", "close"]
KINDS: tuple[str, ...] = get_args(Kind)
FLAGS = ("too_easy", "ambiguous", "not_answerable", "duplicate")
CORRECTED = ("user_input", "reference", "reference_contexts")
"""Columns that belong to the dataset; what the system retrieved and answered is not for a reviewer to change."""
LONGEST_ID, LONGEST_NAME, LONGEST_TEXT = 64, 200, 4_000_000
OPTIONAL = ("statement", "draw", "seen")

Key = tuple[str, int | None, str | None, str, str | None, str | None, str | None]


class ReviewError(RagEvaluatorError):
    """A record that cannot be kept: a field is missing, or holds what it cannot hold."""


@dataclass(frozen=True)
class ReviewRecord:
    """One flag, correction or label of a person, or the end of a draw.

    Attributes:
        id: given by whoever sends it, so that a record that is sent twice is kept once.
        run: path of the run as the person saw it.
        row: from 0; None for `close`.
        sample: digest of the row that the person saw; None for `close`.
        at: when it was received, UTC, ISO 8601.
        by: who.
        field: name of the flag, column that is corrected, metric that is labelled; empty for `close`.
        before, after: a flag is True or False, a text of `reference_contexts` a list, a label a number; a label that
            is None is taken back.
        statement: that is labelled; None: the whole score.
        draw: name of the draw that a label or a `close` belongs to; None: the row was not drawn.
        seen: id of the last record of the same field that the person saw.
    """

    id: str
    run: str
    row: int | None
    sample: str | None
    at: str
    by: str
    kind: Kind
    field: str
    before: Any
    after: Any
    statement: str | None = None
    draw: str | None = None
    seen: str | None = None

    @property
    def key(self) -> Key:
        """What a later record replaces: the same field of the same row; a label is that of one person."""
        person = self.by if self.kind in ("label", "close") else None
        return self.kind, self.row, self.sample, self.field, self.statement, self.draw, person

    def to_json(self) -> dict[str, Any]:
        """The record without what it does not have."""
        values = asdict(self)
        return {name: value for name, value in values.items() if name not in OPTIONAL or value is not None}


def read_record(values: Mapping[str, Any]) -> ReviewRecord:
    """The record in a line. Raises `ReviewError`."""
    known = {part.name for part in fields(ReviewRecord)}
    missing = known - set(values) - set(OPTIONAL)
    if missing or set(values) - known:
        wrong = f"no '{min(missing)}'" if missing else f"'{min(set(values) - known)}', which is no field of a review"
        raise ReviewError(f"a review has {wrong}.")
    return checked(ReviewRecord(**values))


def checked(record: ReviewRecord) -> ReviewRecord:
    """The record, its texts as they can be written. Raises `ReviewError` for a field that holds something else."""
    for name, longest in (("id", LONGEST_ID), ("by", LONGEST_NAME), ("run", LONGEST_TEXT), ("at", LONGEST_NAME)):
        value = getattr(record, name)
        _need(isinstance(value, str) and bool(value.strip()) and len(value) <= longest, name, value, "a short text")
    _need(record.kind in KINDS, "kind", record.kind, f"one of {', '.join(KINDS)}")
    for name in ("field", *OPTIONAL):
        value = getattr(record, name)
        _need(value is None or (isinstance(value, str) and len(value) <= LONGEST_TEXT), name, value, "a text")
    if record.kind == "close":
        for name, nothing in _OF_NO_ROW.items():
            _need(getattr(record, name) == nothing, name, getattr(record, name), "nothing")
    else:
        _need(type(record.row) is int and record.row >= 0, "row", record.row, "a number from 0")
        _need(isinstance(record.sample, str), "sample", record.sample, "the digest of the row")
    _CHECKS[record.kind](record)
    return replace(record, **{part.name: plain(getattr(record, part.name)) for part in fields(ReviewRecord)})


def _flag(record: ReviewRecord) -> None:
    _need(record.field in FLAGS, "field", record.field, f"one of {', '.join(FLAGS)}")
    _need(type(record.after) is bool, "after", record.after, "true or false")
    _need(record.before is None or type(record.before) is bool, "before", record.before, "true or false")


def _correct(record: ReviewRecord) -> None:
    _need(record.field in CORRECTED, "field", record.field, f"one of {', '.join(CORRECTED)}")
    for name in ("before", "after"):
        value = getattr(record, name)
        if record.field == "reference_contexts":
            _need(value is None or _is_texts(value), name, value, "a list of texts")
        else:
            _need(value is None or (isinstance(value, str) and len(value) <= LONGEST_TEXT), name, value, "a text")

    blank = record.field == "user_input" and is_blank(record.after)
    _need(not blank, "after", record.after, "a question")


def _label(record: ReviewRecord) -> None:
    _need(bool(record.field), "field", record.field, "the name of a metric")
    for name in ("after", "before"):
        value = getattr(record, name)
        is_number = type(value) in (int, float) and abs(value) < 1e9  # which NaN is not
        _need(value is None or is_number, name, value, "a number, or null to take a label back")


def _close(record: ReviewRecord) -> None:
    _need(bool(record.draw), "draw", record.draw, "the name of a draw")
    for name in ("before", "after"):
        _need(getattr(record, name) is None, name, getattr(record, name), "nothing")


_OF_NO_ROW: Mapping[str, Any] = {"row": None, "sample": None, "field": "", "statement": None}
_CHECKS = {"flag": _flag, "correct": _correct, "label": _label, "close": _close}


def _is_texts(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and all(isinstance(text, str) for text in value)
        and sum(map(len, value)) <= LONGEST_TEXT
    )


def _need(holds: bool, name: str, received: Any, expected: str) -> None:
    if not holds:
        raise ReviewError(f"'{name}' of a review: expected {expected}, received {received!r:.60}.")


NAME, LOCK = "reviews.jsonl", ".reviews.lock"
SECONDS = 20.0  # that another process may hold the lock


class ConflictError(ReviewError):
    """Somebody changed the same field after the person had seen it.

    Attributes:
        other: the change that the person has not seen.
    """

    def __init__(self, other: ReviewRecord) -> None:
        super().__init__(f"{other.by} changed '{other.field}' of row {other.row} meanwhile.")
        self.other = other


@dataclass(frozen=True)
class RowReview:
    """What people have said of a row as it is now.

    Attributes:
        flags: name -> the record that set it; flags that are not set are left out.
        fields: column -> its corrections, oldest first; the last one counts.
        last: `kind.field` -> the last record of each flag and column that somebody has changed.
    """

    flags: Mapping[str, ReviewRecord]
    fields: Mapping[str, Sequence[ReviewRecord]]
    last: Mapping[str, ReviewRecord]


class ReviewStore:
    """The reviews of one run; several stores, in several processes, may use the same folder.

    Args:
        folder: results folder.

    Every method raises `ResultsError` for a file that is damaged before its last line, or cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / NAME
        self._thread, self._lock = RLock(), filelock.FileLock(folder / LOCK, timeout=SECONDS)
        self._forget()

    def add(self, record: ReviewRecord) -> ReviewRecord:
        """Keep a record; once this returns it is on disk. The record that is kept under this id.

        Raises `ReviewError` for a record that cannot be kept, and `ConflictError` where the field has changed since the
        person saw it, to something that is neither what they saw nor what they want.
        """
        record = checked(record)
        with self.locked():
            self._refresh()
            if record.id in self._ids:
                kept = self._same(record)
                sync_file(self.path)  # it may be there since its first try failed to bring it to disk
                return kept
            if record.kind == "label" and self.is_closed(record.draw, record.by):
                raise ReviewError(f"{record.by} has closed the draw {record.draw}: its labels stay as they are.")
            last = self._last.get(record.key)
            if last is not None and last.id != record.seen and last.after not in (record.before, record.after):
                raise ConflictError(last)
            self._append(record)
        return record

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else adds a record meanwhile, in this process or another one."""
        try:
            with self._thread, self._lock:
                yield
        except filelock.Timeout as error:
            raise ResultsError(f"{self.path}: another process has locked it for {SECONDS:g} seconds.") from error
        except OSError as error:
            raise ResultsError(f"{self.path}: cannot be written: {error}. The review is not kept.") from error

    def records(self) -> list[ReviewRecord]:
        """All records, in the order in which they were kept."""
        with self._thread:
            self._refresh()
            return list(self._ids.values())

    def row(self, row: int, sample: str | None) -> RowReview:
        """What people have said of a row whose digest is `sample`; of another row in its place nothing."""
        return review_of([record for record in self.records() if (record.row, record.sample) == (row, sample)])

    def labels(self, draw: str | None, by: str, digests: Sequence[str]) -> list[ReviewRecord]:
        """A person's labels of a draw, the last of each item, in the order in which items were first labelled.

        Those that were taken back, and those of rows that are others since, are left out.

        Args:
            digests: of the rows of the run.
        """
        last = {record.key: record for record in self.of_draw(draw) if record.by == by}
        return [record for record in last.values() if record.after is not None and _is_there(record, digests)]

    def annotators(self, draw: str | None) -> list[str]:
        """Everybody who has labelled rows of a draw, in the order of their first labels."""
        return list(dict.fromkeys(record.by for record in self.of_draw(draw)))

    def of_draw(self, draw: str | None) -> list[ReviewRecord]:
        return [record for record in self.records() if record.kind == "label" and record.draw == draw]

    def is_closed(self, draw: str | None, by: str) -> bool:
        """Whether a person has ended a draw: no label of theirs is added or changed any more."""
        with self._thread:
            self._refresh()
            return draw is not None and ("close", None, None, "", None, draw, by) in self._last

    def line_of(self, identity: str) -> int:
        """The line of `reviews.jsonl` in which a record is, from 1."""
        return self._places[identity]

    def _same(self, record: ReviewRecord) -> ReviewRecord:
        """The record that was kept under the id of one that is sent again."""
        kept = self._ids[record.id]
        if (kept.key, kept.after) != (record.key, record.after):
            raise ReviewError(f"the id {record.id} is that of another review.")
        return kept

    def _append(self, record: ReviewRecord) -> None:
        is_new = not self.path.exists()
        with writing(self.path):
            self._end_last_line()
            file = Appender(self.path)  # what a kill has torn is dropped here
            try:
                file.append(json_line(record.to_json()))
                file.sync()
            finally:
                file.close()
            if is_new:
                sync_folder(self.folder)
        self._refresh()

    def _end_last_line(self) -> None:
        """A last record that lacks its end of line, as editors write it, is no torn one."""
        if self._tail and not self._tail.endswith(b"\n"):
            with self.path.open("ab") as file:
                file.write(b"\n")

    def _forget(self) -> None:
        self._end, self._lines, self._tail = 0, 0, b""
        self._inode: int | None = None
        self._ids: dict[str, ReviewRecord] = {}
        self._places: dict[str, int] = {}  # id -> line
        self._last: dict[Key, ReviewRecord] = {}

    def _refresh(self) -> None:
        """Read what other processes have added; a last line that is no record is not there yet, or never will be."""
        try:
            with self.path.open("rb") as file:
                self._read(file)
        except FileNotFoundError:
            self._forget()
        except OSError as error:
            raise ResultsError(f"{self.path}: cannot be read: {error}.") from error

    def _read(self, file: Any) -> None:
        """Any: an open file of bytes."""
        about = os.fstat(file.fileno())
        if about.st_ino != self._inode or not self._goes_on(file, about.st_size):  # another file, or edited by hand
            self._forget()
            self._inode = about.st_ino
        file.seek(self._end)
        for line in file:
            number = self._lines + (not self._end or self._tail.endswith(b"\n"))
            try:
                record = _record(line, self.path, number) if line.strip() else None
            except ResultsError:
                if line.endswith(b"\n"):
                    raise
                return
            self._end, self._lines, self._tail = self._end + len(line), number, line
            if record is not None:
                self._take(record)

    def _goes_on(self, file: Any, size: int) -> bool:
        """Whether the last line that was read is where it was. Any: an open file of bytes."""
        file.seek(self._end - len(self._tail))
        return size >= self._end and file.read(len(self._tail)) == self._tail

    def _take(self, record: ReviewRecord) -> None:
        if record.id not in self._ids:
            self._places[record.id] = self._lines
            self._ids[record.id] = self._last[record.key] = record


def review_of(records: Sequence[ReviewRecord]) -> RowReview:
    """The state of a row by its records, in order; labels are no part of it."""
    last: dict[str, ReviewRecord] = {}
    fields: dict[str, list[ReviewRecord]] = {}
    for record in records:
        if record.kind in ("flag", "correct"):
            last[f"{record.kind}.{record.field}"] = record
        if record.kind == "correct":
            fields.setdefault(record.field, []).append(record)
    flags = {record.field: record for record in last.values() if record.kind == "flag" and record.after}
    return RowReview(flags, fields, last)


def _is_there(record: ReviewRecord, digests: Sequence[str]) -> bool:
    """Whether the row is still the one that was labelled."""
    return record.row is not None and record.row < len(digests) and digests[record.row] == record.sample


def _record(line: bytes, path: Path, number: int) -> ReviewRecord:
    try:
        values = json.loads(line)
        if not isinstance(values, dict):
            raise ValueError("no object")
        return read_record(values)
    except (ValueError, TypeError, ReviewError) as error:
        raise ResultsError(f"{path}, line {number}: damaged ({error}). Correct the line, or remove it.") from error
