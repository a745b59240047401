"""`ReviewStore`: `reviews.jsonl` of a results folder: what is confirmed is on disk, and nobody's change is lost."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from threading import RLock
from typing import Any, Literal

import filelock

from rag_evaluator.dataset import is_blank, plain
from rag_evaluator.errors import RagEvaluatorError, ResultsError
from rag_evaluator.files import Appender, JsonDict, json_line, sync, writing

from .state import file_stamp

# Any in this module: JSON.

Kind = Literal["flag", "correct", "label", "close"]
FLAGS = ("too_easy", "ambiguous", "not_answerable", "duplicate")
CORRECTED = ("user_input", "reference", "reference_contexts")
"""Columns that belong to the dataset; what the system retrieved and answered is not for a reviewer to change."""
OPTIONAL = ("statement", "draw", "note")

Key = tuple[str, int | None, str | None, str, str | None, str | None, str | None]
FIELDS: Mapping[str, Sequence[str]] = {"flag": FLAGS, "correct": CORRECTED, "close": ("",)}
VALUES: Mapping[str, Callable[[Any], bool]] = {
    "flag": lambda value: type(value) is bool,
    "correct": lambda value: isinstance(value, str),
    "label": lambda value: type(value) in (int, float) and abs(value) < 1e9,
    "close": lambda value: False,
}
"""Kind -> whether something, other than nothing, is a value of it."""
NAME = "reviews.jsonl"
LOCK = ".reviews.lock"
SECONDS = 20.0  # that another process may hold the lock
POLL = 0.005  # seconds between two tries: who waits gets it though others take it again and again


class ReviewError(RagEvaluatorError):
    """A record that cannot be kept: a field is missing, or holds what it cannot hold."""


@dataclass(frozen=True, kw_only=True)
class ReviewRecord:
    """One flag, correction or label of a person, or the end of a draw.

    Attributes:
        run: path of the run as the person saw it.
        row: from 0; None for `close`.
        sample: digest of the row that the person saw; None for `close`.
        at: when it was received, UTC, ISO 8601.
        by: who.
        field: name of the flag, column that is corrected, metric that is labelled; empty for `close`.
        before, after: what the person saw, and wants. A flag is True or False, `reference_contexts` a list of texts, a
            label a number; a label that is None is taken back.
        statement: that is labelled; None: the whole score.
        draw: name of the draw that a label or a `close` belongs to; None: the row was not drawn.
        note: why, in the person's words; None without one.
    """

    id: str
    run: str
    row: int | None = None
    sample: str | None = None
    at: str
    by: str
    kind: Kind
    field: str = ""
    before: Any = None
    after: Any = None
    statement: str | None = None
    draw: str | None = None
    note: str | None = None

    @property
    def key(self) -> Key:
        """What a later record replaces: the same field of the same row; a label is that of one person."""
        person = self.by if self.kind in ("label", "close") else None
        return self.kind, self.row, self.sample, self.field, self.statement, self.draw, person

    def to_json(self) -> JsonDict:
        """The record without what it does not have."""
        values = asdict(self)
        return {name: value for name, value in values.items() if name not in OPTIONAL or value is not None}


def checked(record: ReviewRecord) -> ReviewRecord:
    """Return the record, its texts as they can be written. Raises `ReviewError` for what cannot be kept."""
    kind = record.kind
    row = record.row
    after = record.after
    is_close = kind == "close"
    of_list = record.field == "reference_contexts"
    is_value = _are_texts if of_list else VALUES.get(str(kind), lambda value: False)
    needed = kind == "flag" or (kind, record.field) == ("correct", "user_input")
    holds = {
        **{name: _is_text(getattr(record, name)) for name in ("id", "run", "at", "by")},
        "kind": str(kind) in VALUES,
        "row": row is None if is_close else type(row) is int and row >= 0,
        "sample": record.sample is None if is_close else _is_text(record.sample),
        "draw": _is_text(record.draw) or (record.draw is None and not is_close),
        "statement": record.statement is None or isinstance(record.statement, str),
        "note": record.note is None or isinstance(record.note, str),
        "field": record.field in FIELDS[str(kind)] if str(kind) in FIELDS else _is_text(record.field),
        "after": not (needed and is_blank(after)) and (after is None or is_value(after)),
        "before": record.before is None or is_value(record.before),
    }
    for name in holds:
        if not holds[name]:
            raise ReviewError(f"'{name}' of a review cannot be {getattr(record, name)!r:.60}.")
    return replace(record, **{part.name: plain(getattr(record, part.name)) for part in fields(ReviewRecord)})


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


class ConflictError(ReviewError):
    """Somebody changed the same field after the person had seen it.

    Attributes:
        other: the change that the person has not seen.
    """

    def __init__(self, other: ReviewRecord) -> None:
        super().__init__(f"{other.by} changed '{other.field}' of this row meanwhile.")
        self.other = other


class ReviewStore:
    """The reviews of one run; several stores, in several processes, may use the same folder.

    Args:
        folder: results folder.

    Every method raises `ResultsError` for a file that is damaged before its last line, or cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / NAME
        self._thread = RLock()
        self._lock = filelock.FileLock(folder / LOCK, SECONDS, poll_interval=POLL)
        self._stamp: tuple[int, int, int] | None = (0, 0, 0)  # of the file as it was read

    def add(self, record: ReviewRecord) -> ReviewRecord:
        """Keep a record; once this returns it is on disk.

        Raises `ReviewError` for a record that cannot be kept, and `ConflictError` where the field has changed since the
        person saw it, to something that is neither what they saw nor what they want.
        """
        record = checked(record)
        with self.locked():
            self._refresh()
            if record.kind == "label" and self.is_closed(record.draw, record.by):
                raise ReviewError(f"{record.by} has closed the draw {record.draw}: its labels stay as they are.")
            last = self._last.get(record.key)
            if last is not None and last.after not in (record.before, record.after):
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
            return list(self._records)

    def row(self, row: int, sample: str | None) -> list[ReviewRecord]:
        """What people have said of a row whose digest is `sample`; of another in its place nothing."""
        return [record for record in self.records() if (record.row, record.sample) == (row, sample)]

    def labels(self, draw: str | None, by: str, digests: Sequence[str]) -> list[ReviewRecord]:
        """A person's labels of a draw, None: of rows that were not drawn: the last of each item, as first labelled.

        Those that were taken back, and those of rows that are others since, are left out.

        Args:
            digests: of the rows of the run.
        """
        last = {record.key: record for record in self.of_draw(draw) if record.by == by}
        kept = [(record.row, record) for record in last.values() if record.after is not None]
        return [record for row, record in kept if row is not None and [*digests[row : row + 1]] == [record.sample]]

    def of_draw(self, draw: str | None) -> list[ReviewRecord]:
        return [record for record in self.records() if record.kind == "label" and record.draw == draw]

    def is_closed(self, draw: str | None, by: str) -> bool:
        """Whether a person has ended a draw: no label of theirs is added or changed any more."""
        return any((record.kind, record.draw, record.by) == ("close", draw, by) for record in self.records())

    def _append(self, record: ReviewRecord) -> None:
        is_new = not self.path.exists()
        with writing(self.path):
            if self._lacks_end:  # the last record, as editors write it, is no torn one
                with self.path.open("ab") as file:
                    file.write(b"\n")
            appender = Appender(self.path)  # what a kill has torn is dropped here
            try:
                appender.append(json_line(record.to_json()))
                appender.sync()
            finally:
                appender.close()
            if is_new:
                sync(self.folder)
        self._refresh()

    def _refresh(self) -> None:
        """Read the file where it has changed; a last line that is no record is not there yet, or never will be."""
        stamp = file_stamp(self.path)
        if stamp == self._stamp:
            return
        try:
            content = self.path.read_bytes() if self.path.exists() else b""
        except OSError as error:
            raise ResultsError(f"{self.path}: cannot be read: {error}.") from error
        self._stamp = None
        self._lacks_end = False
        self._records: list[ReviewRecord] = []
        lines = content.split(b"\n")
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                self._records.append(_record(line))
            except (ValueError, AttributeError, RecursionError, ReviewError) as error:
                if number == len(lines):
                    break
                raise ResultsError(
                    f"{self.path}, line {number}: damaged ({error}). Correct the line, or remove it."
                ) from error
            self._lacks_end = number == len(lines)
        self._last = {record.key: record for record in self._records}
        self._stamp = stamp


def flags_of(records: Sequence[ReviewRecord]) -> dict[str, ReviewRecord]:
    """Return the flags that are set on a row, by its records in order."""
    last = {record.field: record for record in records if record.kind == "flag"}
    return {flag: record for flag, record in last.items() if record.after}


def corrections_of(records: Sequence[ReviewRecord]) -> dict[str, ReviewRecord]:
    """Return the last correction of each column of a row, by its records in order."""
    return {record.field: record for record in records if record.kind == "correct"}


def _record(line: bytes) -> ReviewRecord:
    values = json.loads(line)
    return checked(ReviewRecord(**{part.name: values.get(part.name) for part in fields(ReviewRecord)}))
