"""Rows that changed between two runs: `ChangedScore`, and in words what the judge says otherwise: `VerdictChange`."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from rag_evaluator.dataset import as_key
from rag_evaluator.files import JsonDict

from .judgement import JudgedVerdict, explained
from .meanings import GRADES
from .overview import counted, shortened
from .rows import Record

Direction = Literal["worse", "better", "differs", "missing"]
DIRECTIONS: Mapping[Direction, str] = {
    "worse": "became worse",
    "better": "became better",
    "differs": "changed",
    "missing": "scored by one run only",
}
"""Direction -> what such rows did, in the order shown."""
TEXT = 80  # characters of a claim in a sentence
ON_PAGES = ("contexts_a", "contexts_b", "row_a", "name", "lines_differ")  # of a row that changed; not in JSON
VERDICTS = 3  # changed verdicts that are shown of a row
MOST_DIGITS = 6  # of a score: `TIE` is 1e-6
OF_ROWS = ("question", "response", "rating")  # kinds that are about the whole row, whatever text is beside them


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
        about = self.about if self.kind.endswith("context") else f"“{shortened(self.about, TEXT)}”"
        what = self.kind if self.kind in OF_ROWS or not self.about else f"{self.kind} {about}"
        if self.first is None or self.second is None:
            side, word = ("second", self.second) if self.first is None else ("first", self.first)
            return f"{what}, in the {side} run only: {word}"
        return f"{what}: {self.second} instead of {self.first}"


def from_to(a: float | None, b: float | None, digits: int = 3) -> tuple[str, str]:
    """Two scores that differ, with so many digits that it is seen; `no score` where there is none."""
    first, second = ("no score" if score is None else f"{score:z.{digits}f}" for score in (a, b))
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
        reason: why the score of one side is missing; empty where it is not, or nobody knows.
        response_a, response_b: the responses; None where there is none, or several rows have this key.
        contexts_a, contexts_b: what was retrieved; empty where nothing was, or several rows have this key. Not in
            `to_json`, either.
        row_a: place of the row in the first run, from 0, of several the first. Not in `to_json`, which is the same for
            any order of rows.
        name: of this row, see `row_name`; not in `to_json`, either.
        lines_differ: whether the name is the number of its line, and the other run has it in another one; nor this.
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
    reason: str
    response_a: str | None
    response_b: str | None
    contexts_a: tuple[str, ...]
    contexts_b: tuple[str, ...]
    row_a: int = field(compare=False)
    name: str = field(compare=False, default="")
    lines_differ: bool = field(compare=False, default=False)

    def says(self) -> list[tuple[str, str]]:
        """What changed, in a few sentences, each with the judge's reason; empty where nobody knows."""
        if self.direction == "missing":
            side = "first" if self.a is None else "second"
            return [(f"no score in the {side} run{self.reason and ': '}{self.reason}", "")]
        more = len(self.verdicts) - VERDICTS
        lines = [(change.says(), change.reason) for change in self.verdicts[:VERDICTS]]
        return [*lines, (f"{counted(more, 'more verdict')} changed", "")] if more > 0 else lines

    def to_json(self) -> JsonDict:
        """All but contexts, and what depends on the order of rows."""
        objects = {name: part for name, part in asdict(self).items() if name not in ON_PAGES}
        return {**objects, "verdicts": [{**asdict(change), "says": change.says()} for change in self.verdicts]}


def verdict_changes(first: Iterable[Record], second: Iterable[Record], worse: bool) -> tuple[VerdictChange, ...]:
    """Return the verdicts that changed: first those that both sides have, then those that go the way of the score.

    Verdicts about the same on which a side does not agree with itself, such as repeats, are left out.

    Args:
        first, second: the details of a score on each side.
        worse: whether the score became worse.
    """
    before, after = (_by_subject(records) for records in (first, second))
    changes: dict[VerdictChange, tuple[bool, bool]] = {}
    for subject in dict.fromkeys([*after, *before]):
        sides = before.get(subject, []), after.get(subject, [])
        words = [{verdict.word for verdict in side} for side in sides]
        if words[0] == words[1] or max(map(len, words)) > 1:
            continue
        shown = (sides[1] or sides[0])[0]
        kind = shown.kind or "rating"
        about = subject[0] if kind.endswith("context") else shown.lines[1]
        old, new = (side[0].word if side else None for side in sides)
        is_bad = shown.is_bad if sides[1] else not shown.is_bad
        changes[VerdictChange(kind, about, old, new, shown.lines[2])] = None in (old, new), is_bad != worse
    return tuple(sorted(changes, key=changes.__getitem__))


def _by_subject(records: Iterable[Record]) -> dict[tuple[str, str], list[JudgedVerdict]]:
    """Return the verdicts and grades behind a score by what they are about: a text or the place of a context, from 1;
    where the answer names none, the prompt."""
    by_subject: dict[tuple[str, str], list[JudgedVerdict]] = {}
    for verdict in explained(records):
        kind = verdict.kind
        parts = verdict.judgement.parts
        if kind == "" or (kind is None and (verdict.key not in GRADES or verdict.value is None)):
            continue
        about = "" if (kind or "rating") in OF_ROWS else as_key(verdict.lines[1]) or ""
        context = parts.get("context", parts.get("reference_context"))
        if kind and kind.endswith("context") and isinstance(context, Mapping) and "item" in context:
            about = str(context["item"] + 1)
        by_subject.setdefault((about, "" if about else verdict.judgement.prompt), []).append(verdict)
    return by_subject
