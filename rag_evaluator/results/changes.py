"""Rows that changed between two runs: `ChangedScore`, and in words what the judge says otherwise: `VerdictChange`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rag_evaluator.dataset.columns import as_key
from rag_evaluator.results.judgement import GRADES, JudgedVerdict, Judgement, Tone, judgements_of
from rag_evaluator.results.overview import counted
from rag_evaluator.results.questions import input_values

Json = Mapping[str, Any]  # Any in this module: JSON
Direction = Literal["worse", "better", "differs", "missing"]
DIRECTIONS: tuple[Direction, ...] = ("worse", "better", "differs", "missing")
TEXT = 80  # characters of a claim in a sentence
RESPONSE = 1_000  # characters of a response in JSON
VERDICTS = 3  # changed verdicts that are shown of a row
MOST_DIGITS = 6  # of a score: `TIE` is 1e-6


TONES: Mapping[Tone, int] = {"bad": 0, "middle": 1, "good": 2}
PARTS = {"context": "context", "reference context": "reference_context"}  # kind -> the part of an input that it is
OF_ROWS = ("question", "response", "rating")  # kinds that are about the whole row, whatever text is beside them
NUMBER = re.compile(r"\A\d+: ")  # before each sentence of the contexts, in the order of the contexts
HELD_AGAINST = "claim, by text"  # a kind: the claim is held against one text after the other
Key = tuple[str, ...]  # what a verdict is about: kind, text, by what it was judged


@dataclass(frozen=True)
class VerdictChange:
    """A verdict that differs between two runs.

    Attributes:
        kind: what it is about, such as `claim`, see `Verdicts`.
        about: the text of the claim, or the place of the context, from 1; empty where the answer names none.
        first, second: the verdict of each side in words; None where a side has none about this.
        reason: why, as the judge said it of the second side, else of the first; empty where it gave no reason.
    """

    kind: str
    about: str
    first: str | None
    second: str | None
    reason: str

    def says(self) -> str:
        """Return the change in words: `claim “Annam”: not supported instead of supported`."""
        about = self.about if self.kind in PARTS else f"“{_cut(self.about)}”"
        what = self.kind if self.kind in OF_ROWS or not self.about else f"{self.kind} {about}"
        if self.first is None or self.second is None:
            side, word = ("second", self.second) if self.first is None else ("first", self.first)
            return f"{what}, in the {side} run only: {word}"
        return f"{what}: {self.second} instead of {self.first}"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "says": self.says()}


def from_to(a: float | None, b: float | None, digits: int = 3) -> tuple[str, str]:
    """Two scores that differ, with so many digits that it is seen; `-` where there is none."""
    first, second = ("-" if score is None else f"{score:z.{digits}f}" for score in (a, b))
    return from_to(a, b, digits + 1) if first == second and digits < MOST_DIGITS else (first, second)


@dataclass(frozen=True)
class ScorePair:
    """A score in both runs; None where one is missing."""

    metric: str
    a: float | None
    b: float | None


@dataclass(frozen=True)
class ChangedScore:
    """A row whose scores differ between the runs, with the score that changed most.

    Attributes:
        key: what the row was matched on.
        a, b: the scores; None where one is missing, `direction` is `missing` then.
        also: the other scores of the row that differ, those that changed most first.
        verdicts: the verdicts of the judge that changed for this score; empty where it is not known what they mean.
        reasons_a, reasons_b: why a score is missing, or what the judge said; empty where nobody said anything.
        response_a, response_b: the whole responses, of which `to_json` has the first `RESPONSE` characters; None where
            there is none, or several rows have this key.
        row_a, row_b: place of the row in each run, from 0, of several the first; None where a run does not have it.
            Not in `to_json`, which is the same for any order of rows.
    """

    run: str
    metric: str
    key: str
    question: str | None
    direction: Direction
    a: float | None
    b: float | None
    also: tuple[ScorePair, ...]
    verdicts: tuple[VerdictChange, ...]
    reasons_a: tuple[str, ...]
    reasons_b: tuple[str, ...]
    response_a: str | None
    response_b: str | None
    row_a: int | None = field(compare=False)
    row_b: int | None = field(compare=False)

    def says(self) -> list[tuple[str, str]]:
        """What changed, in a few sentences, each with the judge's reason; empty where nobody knows."""
        if self.direction == "missing":
            side, reasons = ("first", self.reasons_a) if self.a is None else ("second", self.reasons_b)
            return [(": ".join([f"no score in the {side} run", *reasons[:1]]), "")]
        more = len(self.verdicts) - VERDICTS
        lines = [(change.says(), change.reason) for change in self.verdicts[:VERDICTS]]
        return [*lines, (f"{counted(more, 'more verdict')} changed", "")] if more > 0 else lines

    def to_json(self) -> dict[str, Any]:
        """All but what depends on the order of rows."""
        objects = {name: part for name, part in asdict(self).items() if name not in ("row_a", "row_b")}
        responses = {
            name: None if objects[name] is None else _cut(objects[name], RESPONSE)
            for name in ("response_a", "response_b")
        }
        return {**objects, **responses, "verdicts": [change.to_json() for change in self.verdicts]}


@dataclass(frozen=True)
class ChangedRows:
    """How many rows of a run have a lower, or a higher score of a metric than the row of the baseline.

    Rows that share a key are taken in their order, as in the table of rows of a report.
    """

    run: str
    metric: str
    fell: int
    rose: int


@dataclass(frozen=True)
class _Said:
    """A verdict of one side; the fields are those of `VerdictChange`."""

    kind: str
    about: str
    word: str
    tone: Tone
    reason: str


Records = Sequence[tuple[Json, Json]]  # of the details of a run, each with the columns of its row


def verdict_changes(first: Records, second: Records, direction: Direction) -> tuple[VerdictChange, ...]:
    """Return the verdicts that changed: first those that both sides have, then those that go the way of the score.

    Verdicts about the same on which a side does not agree with itself, such as repeats, are left out.

    Args:
        first, second: what is known of a score on each side.
        direction: how the score changed.
    """
    sides = [_by_key(records) for records in (first, second)]
    changes: dict[VerdictChange, tuple[bool, bool]] = {}
    for key in dict.fromkeys([*sides[1], *sides[0]]):
        before, after = (side.get(key, []) for side in sides)
        words = [{said.word for said in side} for side in (before, after)]
        if words[0] == words[1] or max(map(len, words)) > 1:
            continue
        shown = (after or before)[0]
        old, new = (side[0].word if side else None for side in (before, after))
        explains = _tone(after) < _tone(before) if direction == "worse" else _tone(after) > _tone(before)
        changes.setdefault(
            VerdictChange(shown.kind, shown.about, old, new, shown.reason), (None in (old, new), not explains)
        )
    return tuple(sorted(changes, key=changes.__getitem__))


def _tone(side: Sequence[_Said]) -> int:
    """Return how good a verdict is; where a side has none, it is neither good nor bad."""
    return TONES.get(side[0].tone, 1) if side else 1


def _by_key(records: Records) -> dict[Key, list[_Said]]:
    """Return what the judge said for a score, as far as it is known what that means, by what it is about."""
    by_key: dict[Key, list[_Said]] = {}
    for record, columns in records:
        judgements = judgements_of(record)
        answers = [judgement.response for judgement in judgements]
        for judgement in judgements:
            if judgement.shares:
                continue
            values = input_values(judgement.parts, columns, answers)
            for verdict in judgement.verdicts():
                for item in [verdict] if verdict.items is None else verdict.of_items(values):
                    for key, said in _said(item, judgement, values):
                        by_key.setdefault(key, []).append(said)
    return by_key


def _said(verdict: JudgedVerdict, judgement: Judgement, values: Json) -> Iterator[tuple[Key, _Said]]:
    """Yield a verdict under its key, which is equal on both sides where they speak about the same."""
    _, text, reason = verdict.lines
    kind, meaning = verdict.kind, verdict.meaning
    if kind and meaning is not None:
        subject = "claim" if kind.startswith("claim") else kind
        key: Key = (subject, judgement.prompt)
        about, word = "", meaning.word
        if kind in PARTS:
            context = values.get(PARTS[kind])
            about = _number(judgement.parts.get(PARTS[kind])) or f"“{_cut(' '.join(str(context).split()))}”"
            key = (subject, as_key(context) or about)
        elif text:
            about = NUMBER.sub("", text) if kind == "sentence of the contexts" else text
            key = (subject, as_key(about) or "")
        if kind == HELD_AGAINST:
            named = judgement.parts.get("context")
            number = _number(named)
            against = f"context {number}" if number else "the reference" if isinstance(named, Mapping) else ""
            key = (*key, as_key(values.get("context")) or against)
            kind, word = "claim", f"{word} by {against}" if against else word
        yield key, _Said(kind, about, word, meaning.tone, reason)
    elif kind != "" and verdict.key in GRADES and isinstance(verdict.value, int | float):
        yield ("rating", judgement.prompt), _Said("rating", "", _grade(verdict, values), "plain", reason)


def _number(reference: Any) -> str:
    """The place of a context that a question names, from 1; empty where it is not known."""
    item = reference.get("item") if isinstance(reference, Mapping) else None
    return "" if item is None else str(item + 1)


def _grade(verdict: JudgedVerdict, values: Json) -> str:
    """A grade in the words of its scale, else as a number."""
    scale = values.get("scale")
    described = scale.get(str(verdict.value)) if isinstance(scale, Mapping) else None
    return _cut(" ".join(str(described).split())) if described else f"{verdict.key} {verdict.value:g}"


def _cut(text: str, most: int = TEXT) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
