"""Rows that changed between two runs: `ChangedScore`, and in words what the judge says otherwise: `VerdictChange`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rag_evaluator.dataset.columns import as_key
from rag_evaluator.results.conclusion import listed
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
SIDES = ("first", "second")


@dataclass(frozen=True)
class VerdictKind:
    """What a verdict can be about.

    Attributes:
        changed: the sentence where both sides have it; `{about}` is the text or place, `{word}` the verdict.
        lost: the same where the verdict of the second side is `not` and that of the first.
        alone: where one side has it alone; `{side}` is `first` or `second`.
        subject: kinds with the same subject are compared with each other.
        held_against: the claim is held against one text after the other, which the sentence names.
    """

    changed: str
    lost: str
    alone: str
    subject: str
    held_against: bool = False


def _text(noun: str, where: str, verb: str = "is ", subject: str = "", held_against: bool = False) -> VerdictKind:
    """A text in a `where` of each side."""
    return VerdictKind(
        f"{noun} {verb}{{word}} now",
        f"{noun} {verb}no longer {{word}}",
        f"the judge finds {noun} in the {{side}} {where} only: {{word}}",
        subject or noun,
        held_against,
    )


def _place(noun: str) -> VerdictKind:
    """A context, which has a place."""
    return VerdictKind(
        f"{noun} {{about}} is {{word}} now",
        f"{noun} {{about}} is no longer {{word}}",
        f"{noun} {{about}} of the {{side}} run is not in the other run: {{word}}",
        noun,
    )


KINDS: Mapping[str, VerdictKind] = {
    "claim": _text("the claim “{about}”", "response", subject="claim"),
    "claim of the reference": _text("the claim “{about}” of the reference", "run", subject="claim"),
    "claim, by text": _text("the claim “{about}”", "run", held_against=True),
    "sentence of the reference": _text("the sentence “{about}” of the reference", "run"),
    "sentence of the contexts": _text("the sentence “{about}” of the contexts", "run", verb=""),
    "sentence of the response": VerdictKind(
        "the sentence “{about}” is {word} now",
        "the sentence “{about}” is no longer {word}",
        "the sentence “{about}” is in the {side} response only: {word}",
        "sentence of the response",
    ),
    "question about the text": _text("the question “{about}”", "run"),
    "context": _place("context"),
    "reference context": _place("reference context"),
    "question": VerdictKind(
        "the question is {word} now", "the question is no longer {word}", "in the {side} run only: {word}", "question"
    ),
    "response": VerdictKind("{word} now", "no longer {word}", "in the {side} run only: {word}", "response"),
    "rating": VerdictKind(
        "rated “{word}” instead of “{before}”",
        "rated “not {word}” instead of “{word}”",
        "rated in the {side} run only: “{word}”",
        "rating",
    ),
}
"""Kind of a verdict, as the rows of `MEANINGS` name it -> how a change of it is said."""
TONES: Mapping[Tone, int] = {"bad": 0, "middle": 1, "good": 2}
PARTS = {"context": "context", "reference context": "reference_context"}  # kind -> the part of an input that it is
NUMBER = re.compile(r"\A\d+: ")  # before each sentence of the contexts, in the order of the contexts
Key = tuple[str, ...]  # what a verdict is about: kind, text, by what it was judged


@dataclass(frozen=True)
class VerdictChange:
    """A verdict that differs between two runs.

    Attributes:
        kind: what it is about, a row of `KINDS`.
        about: the text of the claim, or the place of the context, from 1; empty for what the whole row is about.
        first, second: the verdict of each side in words; None where a side has none about this.
        reason: why, as the judge said it of the second side, else of the first; empty where it gave no reason.
    """

    kind: str
    about: str
    first: str | None
    second: str | None
    reason: str

    def says(self) -> str:
        """The change in words: `the claim “Annam” is no longer supported`."""
        kind, about = KINDS[self.kind], _cut(self.about)
        if self.first is None or self.second is None:
            side, word = SIDES[self.first is None], self.second if self.first is None else self.first
            return kind.alone.format(about=about, side=side, word=word)
        if self.second == f"not {self.first}":
            return kind.lost.format(about=about, word=self.first)
        return kind.changed.format(about=about, word=self.second, before=self.first)

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
    """A verdict of one side.

    Attributes:
        key: equal on both sides where they speak about the same.
        about: as `VerdictChange` has it.
        against: what a claim is held against: `the reference` or the number of a context; empty where that is not said.
    """

    key: Key
    kind: str
    about: str
    word: str
    against: str
    tone: Tone
    reason: str


Records = Sequence[tuple[Json, Json]]  # of the details of a run, each with the columns of its row


def verdict_changes(first: Records, second: Records, direction: Direction) -> tuple[VerdictChange, ...]:
    """The verdicts that changed: first those that both sides have, then those that go the way of the score.

    Verdicts about the same on which a side does not agree with itself, such as several judges, are left out.

    Args:
        first, second: what is known of a score on each side.
        direction: how the score changed.
    """
    sides = [_by_key(records) for records in (first, second)]
    groups: dict[Key, list[_Pair]] = {}
    for key in dict.fromkeys([*sides[1], *sides[0]]):
        before, after = (side.get(key, []) for side in sides)
        words = [{said.word for said in side} for side in (before, after)]
        if words[0] != words[1] and max(map(len, words)) == 1:
            pair = _Pair(next(iter(before), None), next(iter(after), None))
            groups.setdefault(pair.alone or key, []).append(pair)
    changes: dict[VerdictChange, tuple[bool, bool]] = {}
    for pairs in groups.values():
        explains = any(pair.explains(direction) for pair in pairs)
        changes.setdefault(_change(pairs), (pairs[0].alone is not None, not explains))
    return tuple(sorted(changes, key=changes.__getitem__))


@dataclass(frozen=True)
class _Pair:
    """What both sides say about the same; None: nothing."""

    before: _Said | None
    after: _Said | None

    @property
    def alone(self) -> Key | None:
        """What one side has alone: a claim is said once, whatever it was held against. None: both have it."""
        if self.before is None:
            return None if self.after is None else (self.after.kind, self.after.about, "second")
        return (self.before.kind, self.before.about, "first") if self.after is None else None

    def explains(self, direction: Direction) -> bool:
        """Whether it goes the way of the score; what a side does not say counts as neither good nor bad."""
        before, after = (1 if said is None else TONES.get(said.tone, 1) for said in (self.before, self.after))
        return after < before if direction == "worse" else after > before


def _change(pairs: Sequence[_Pair]) -> VerdictChange:
    """Of what both sides say about the same, or of all that one side alone says of a claim."""
    before = [pair.before for pair in pairs if pair.before is not None]
    after = [pair.after for pair in pairs if pair.after is not None]
    shown = (after or before)[0]
    return VerdictChange(shown.kind, shown.about, _words(before), _words(after), shown.reason)


def _words(verdicts: Sequence[_Said]) -> str | None:
    """`supported by context 2; not supported by the reference and contexts 1 and 3`; None where there is nothing."""
    against: dict[str, list[str]] = {}
    for said in verdicts:
        against.setdefault(said.word, []).append(said.against)
    return "; ".join(word + _by(texts) for word, texts in against.items()) or None


def _by(against: Sequence[str]) -> str:
    numbers = [text for text in against if text.isdigit()]
    texts = [text for text in against if text and not text.isdigit()]
    if numbers:
        texts.append(f"context{'s' if len(numbers) > 1 else ''} {listed(numbers, most=10)}")
    return f" by {' and '.join(texts)}" if texts else ""


def _by_key(records: Records) -> dict[Key, list[_Said]]:
    by_key: dict[Key, list[_Said]] = {}
    for record, columns in records:
        for said in _said(record, columns):
            by_key.setdefault(said.key, []).append(said)
    return by_key


def _said(record: Json, columns: Json) -> Iterator[_Said]:
    """What the judge said for a score, as far as it is known what that means."""
    judgements = judgements_of(record)
    answers = [judgement.response for judgement in judgements]
    for judgement in judgements:
        if judgement.shares:
            continue
        values = input_values(judgement.parts, columns, answers)
        for verdict in judgement.verdicts():
            for item in [verdict] if verdict.items is None else verdict.of_items(values):
                said = _of_verdict(item, judgement, values)
                if said is not None:
                    yield said


def _of_verdict(verdict: JudgedVerdict, judgement: Judgement, values: Json) -> _Said | None:
    _, text, reason = verdict.lines
    kind, meaning = verdict.kind, verdict.meaning
    if kind == "":
        return None
    if kind is None or meaning is None:
        if verdict.key not in GRADES or not isinstance(verdict.value, int | float):
            return None
        return _Said(("rating", judgement.prompt), "rating", "", _grade(verdict, values), "", "plain", reason)
    key: Key = (judgement.prompt,)
    about, against = "", ""
    if kind in PARTS:
        context = values.get(PARTS[kind])
        about = _number(judgement.parts.get(PARTS[kind])) or f"“{_cut(' '.join(str(context).split()))}”"
        key = (as_key(context) or about,)
    elif text:
        about = NUMBER.sub("", text) if kind == "sentence of the contexts" else text
        key = (as_key(about) or "",)
    if KINDS[kind].held_against:
        named = judgement.parts.get("context")
        number = _number(named)
        against = number or ("the reference" if isinstance(named, Mapping) else "")
        key = (*key, as_key(values.get("context")) or against)
    return _Said((KINDS[kind].subject, *key), kind, about, meaning.word, against, meaning.tone, reason)


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
