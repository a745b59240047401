"""`ReviewRecord`: one thing that a person said of a row: a line of `reviews.jsonl`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

from rag_evaluator.dataset.json_values import is_blank, plain
from rag_evaluator.errors import RagEvaluatorError

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
