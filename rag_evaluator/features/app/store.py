"""`ReviewStore`: `reviews.jsonl` of a results folder: what is confirmed is on disk, and nobody's change is lost."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
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
MOST = 4_000_000  # characters of a text
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


def checked(record: ReviewRecord) -> ReviewRecord:
    """Return the record, its texts as they can be written. Raises `ReviewError` for what cannot be kept."""
    for name, longest in LONGEST.items():
        value = getattr(record, name)
        is_there = isinstance(value, str) and len(value) <= longest and bool(value.strip() or name not in NEEDED)
        _need(is_there or (value is None and name in OPTIONAL), name, value, "a short text")
    _need(record.kind in KINDS, "kind", record.kind, f"one of {', '.join(KINDS)}")
    if record.kind == "close":
        _need((record.row, record.sample) == (None, None), "row", record.row, "nothing")
        _need(bool(record.draw), "draw", record.draw, "the name of a draw")
    else:
        _need(type(record.row) is int and record.row >= 0, "row", record.row, "a number from 0")
        _need(isinstance(record.sample, str), "sample", record.sample, "the digest of the row")
    known = FIELDS.get(record.kind)
    _need(record.field in known if known else bool(record.field), "field", record.field, f"one of {known or 'metrics'}")
    of_question = (record.kind, record.field) == ("correct", "user_input")
    is_list = (record.kind, record.field) == ("correct", "reference_contexts")
    is_value, expected = VALUES["contexts" if is_list else record.kind]
    for name in ("after", "before"):
        value = getattr(record, name)
        _need(value is None or is_value(value), name, value, expected)
    _need(not of_question or not is_blank(record.after), "after", record.after, "a question")
    _need(record.kind != "flag" or record.after is not None, "after", record.after, expected)
    return replace(record, **{part.name: plain(getattr(record, part.name)) for part in fields(ReviewRecord)})


LONGEST = {"id": 64, "by": 200, "at": 200, "run": MOST, "field": MOST, "statement": MOST, "draw": MOST, "seen": MOST}
NEEDED = ("id", "by", "at", "run")
FIELDS: Mapping[str, tuple[str, ...]] = {"flag": FLAGS, "correct": CORRECTED, "close": ("",)}
VALUES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "flag": (lambda value: type(value) is bool, "true or false"),
    "correct": (lambda value: isinstance(value, str) and len(value) <= MOST, "a text"),
    "contexts": (lambda value: _are_texts(value), "a list of texts"),
    "label": (lambda value: type(value) in (int, float) and abs(value) < 1e9, "a number, or null to take a label back"),
    "close": (lambda value: value is None, "nothing"),
}
"""Kind, or `contexts` -> whether it is a value of it, what is expected; null, for no text or no label, is one, too."""


def _are_texts(value: Any) -> bool:
    texts = value if isinstance(value, list | tuple) else [None]
    return all(isinstance(text, str) for text in texts) and sum(map(len, texts)) <= MOST


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
        self._stamp: tuple[int, int, int] | None = (0, 0, 0)  # of the file as it was read

    def add(self, record: ReviewRecord) -> ReviewRecord:
        """Keep a record; once this returns it is on disk. The record that is kept under this id.

        Raises `ReviewError` for a record that cannot be kept, and `ConflictError` where the field has changed since the
        person saw it, to something that is neither what they saw nor what they want.
        """
        record = checked(record)
        with self.locked():
            self._refresh()
            if record.id in self._ids:
                kept = self._ids[record.id]
                if (kept.key, kept.after) != (record.key, record.after):
                    raise ReviewError(f"the id {record.id} is that of another review.")
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

    def labels(self, draw: str, by: str, digests: Sequence[str]) -> list[ReviewRecord]:
        """A person's labels of a draw, the last of each item, in the order in which items were first labelled.

        Those that were taken back, and those of rows that are others since, are left out.

        Args:
            digests: of the rows of the run.
        """
        last = {record.key: record for record in self.of_draw(draw) if record.by == by}
        return [record for record in last.values() if record.after is not None and _is_there(record, digests)]

    def annotators(self, draw: str) -> list[str]:
        """Everybody who has labelled rows of a draw, in the order of their first labels."""
        return list(dict.fromkeys(record.by for record in self.of_draw(draw)))

    def of_draw(self, draw: str) -> list[ReviewRecord]:
        return [record for record in self.records() if record.kind == "label" and record.draw == draw]

    def is_closed(self, draw: str | None, by: str) -> bool:
        """Whether a person has ended a draw: no label of theirs is added or changed any more."""
        with self._thread:
            self._refresh()
            return draw is not None and ("close", None, None, "", None, draw, by) in self._last

    def line_of(self, identity: str) -> int:
        """The line of `reviews.jsonl` in which a record is, from 1."""
        return self._places[identity]

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
                sync_folder(self.folder)
        self._refresh()

    def _refresh(self) -> None:
        """Read the file where it has changed; a last line that is no record is not there yet, or never will be."""
        try:
            about = self.path.stat()
            stamp = about.st_ino, about.st_size, about.st_mtime_ns
            if stamp == self._stamp:
                return
            content = self.path.read_bytes()
        except FileNotFoundError:
            stamp, content = None, b""
        except OSError as error:
            raise ResultsError(f"{self.path}: cannot be read: {error}.") from error
        self._stamp, self._lacks_end = None, False
        self._ids: dict[str, ReviewRecord] = {}
        self._places: dict[str, int] = {}  # id -> line
        self._last: dict[Key, ReviewRecord] = {}
        lines = content.split(b"\n")
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                record = _record(line, self.path, number)
            except ResultsError:
                if number < len(lines):
                    raise
                break
            self._lacks_end = number == len(lines)
            if record.id not in self._ids:
                self._places[record.id] = number
                self._ids[record.id] = self._last[record.key] = record
        self._stamp = stamp


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
        return checked(ReviewRecord(**json.loads(line)))
    except (ValueError, TypeError, ReviewError) as error:
        raise ResultsError(f"{path}, line {number}: damaged ({error}). Correct the line, or remove it.") from error
