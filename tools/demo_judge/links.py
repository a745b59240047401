"""Which token of a row should look at which: training shows some attention heads where to look.

Finding the one place in a text that tells a fact is the slowest thing to learn from a verdict alone, because attention
gets no gradient before it is nearly right. Where it should look is known here, so that a few heads learn it directly.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from tools.demo_judge.marks import ASKED, LOOKED, NAME, PHRASE, TOLD, Mark, code

# A value's subject; the fact itself; both for a decision without a reason; the next statement of a group; what is
# copied to come next; the same fact among the statements of the other side; from `batches`, for words to find: the same
# two tokens in the context.
SUBJECT, FACT, DECISION, DECISION_SUBJECT, GROUPED, COPIED, PAIRED, MET = range(8)
_SECTION = re.compile(r'^ *"(\w+)": ', re.MULTILINE)
_DECISION = re.compile(r'"(?:rating|choice|verdict)": (\d)')
_SAID = re.compile(r'"reason": "(?:The context |El contexto )(\w)')
_VALUE = re.compile(r'[^,.\n"]*')
_OTHERS = "the statement|the answer|the ground truth|la afirmación|la respuesta|la verdad"
_COMPARED = re.compile(rf'[^,.\n"]*, (?:{_OTHERS}) ([^,.\n"]+)')
_WRITTEN_FREELY = re.compile(r'"reason": "(\w)|": (\d)')  # where nothing is copied
# Texts that an answer repeats to the letter; those of `nli` are not written by the judge.
_REPEATED = re.compile(r'^ *(?:"(?:statement|answer)": )?"(?!\w+": )(.+)",?$', re.MULTILINE)
_REPEATING = ("statements", "attributed", "attributed_words", "classified", "answer")  # tasks
_DECIDED = ("rating", "rates", "filter", "compare", "support")  # tasks whose decision follows no reason
_CLAIMS = {"attributed": ("statement", "statements", "answer")}  # fields with claims, where no fact is looked up
_OTHER_CLAIMS = ("statement", "statements")
_GROUPS, _TRUTH = ("TP", "FP", "FN"), "ground_truth"


@dataclass(frozen=True)
class Link:
    """The token before `query` (of it, if `at`) should look at the token of `key`; at none: at the first of all.

    Both are places in characters of body and answer together.
    """

    kind: int
    query: int
    at: bool
    key: int | None


class _Sections:
    """Where the fields of input and output begin, and what they are called."""

    def __init__(self, text: str) -> None:
        found = list(_SECTION.finditer(text))
        self.starts = [match.start() for match in found]
        self.names = ["", *(match.group(1) for match in found)]

    def of(self, place: int) -> int:
        return bisect_right(self.starts, place)


def links(task: str, body: str, answer: str, marks: Sequence[Mark]) -> list[Link]:
    """All links of a row; `marks` are those of body and answer together, in order."""
    sections, found = _Sections(body + answer), list[Link]()
    if task in _REPEATING:
        found += _repeated(body, answer)
    for index, mark in enumerate(marks):
        if mark.kind == PHRASE:
            found += _phrase(mark, _first(mark, marks), body, answer)
        if mark.kind in (NAME, PHRASE) or (task == "classified" and mark.kind != LOOKED and mark.place >= len(body)):
            continue
        before, after = marks[:index], mark.kind == ASKED
        query = mark.place - 1 if after else mark.place
        subject = next((m.place - 1 for m in reversed(before) if m.kind == NAME and m.subject == mark.subject), None)
        if subject is not None:
            found += [Link(SUBJECT, query, at, subject) for at in ((True,) if after else (False, True))]
        if mark.kind != LOOKED or mark.source:
            claims = _CLAIMS.get(task, _OTHER_CLAIMS)
            fact = _fact(mark, before, sections, claims)
            found.append(Link(FACT, query, after, fact))
            if mark.kind == LOOKED:
                found += _said(body + answer, query, fact)
    found += [
        Link(COPIED, len(body) + match.start(match.lastindex or 0), False, None)
        for match in _WRITTEN_FREELY.finditer(answer)
    ]
    if task == "classified":
        found += _grouped(len(body), body + answer, marks, sections)
    if task in _DECIDED:
        for match in _DECISION.finditer(answer):
            found += _decision(len(body), len(body) + match.start(1), marks, sections)
    return found


def _fact(mark: Mark, before: Sequence[Mark], sections: _Sections, claims: Sequence[str]) -> int | None:
    """Where the same fact is told or asked for earlier, in another field."""
    here = sections.of(mark.place)
    for other in reversed(before):
        there = sections.of(other.place)
        name = sections.names[there]
        if other.key != mark.key or other.kind not in (TOLD, ASKED) or name in claims or there == here:
            continue
        if mark.kind == LOOKED and (code(name) != mark.source or other.kind != TOLD):
            continue
        return other.place if other.kind == TOLD else other.place - 1
    return None


def _repeated(body: str, answer: str) -> list[Link]:
    """Before each token of a text that the input has to the letter: the same token there."""
    found = []
    for match in _REPEATED.finditer(answer):
        place = body.rfind(match[1])
        if place >= 0:
            found += _copied(len(body) + match.start(1), place, len(match[1]))
    return found


def _said(text: str, query: int, key: int | None) -> list[Link]:
    """For what was looked up, and for what it is compared with, which the statement before the reason has."""
    said, compared = _VALUE.match(text, query), _COMPARED.match(text, query)
    found = _copied(query, key, len(said.group()) if said else 0)
    if compared:
        place = text.rfind(compared[1], 0, text.rfind('"reason"', 0, query))
        found += _copied(compared.start(1), place, len(compared[1])) if place >= 0 else []
    return found


def _copied(query: int, key: int | None, length: int) -> list[Link]:
    """One link before each token of a copy, made from one per character; one alone if there is nothing to copy."""
    if key is None:
        return [Link(COPIED, query, False, None)]
    return [Link(COPIED, query + index, False, key + index) for index in range(length)]


def _phrase(mark: Mark, first: Mark, body: str, answer: str) -> list[Link]:
    """In an answer: from the decision on words to find to the last of them, where they stand first."""
    said = _SAID.search(body + answer, max(mark.place, len(body)))
    if said and (mark.place >= len(body) or len(_SAID.findall(answer)) == 1):
        return [Link(DECISION, said.start(1), False, first.place - 1)]
    return []


def phrases(text: str, marks: Sequence[Mark]) -> list[tuple[int, int]]:
    """The first and the last character of each row of words to find, where it stands first."""
    ends = [mark.place for mark in marks if mark.kind == PHRASE and _first(mark, marks) is mark]
    return [(text.rindex('"', 0, end) + 1, end - 1) for end in ends]


def _first(mark: Mark, marks: Sequence[Mark]) -> Mark:
    return next(other for other in marks if (other.kind, other.subject) == (mark.kind, mark.subject))


def _grouped(end: int, text: str, marks: Sequence[Mark], sections: _Sections) -> list[Link]:
    """Which statement of the input comes next: before each token of a group's statement, and before the group's end.

    It is the one of the ground truth wherever that tells the fact, too, for that one has seen the answer's.
    """
    told = [mark for mark in marks if mark.kind == TOLD]
    given = {(sections.names[sections.of(m.place)], m.key): text.index('"', m.place) - 1 for m in told if m.place < end}
    starts = {name: text.index(f'"{name}": [', end) for name in _GROUPS}
    found = [
        Link(PAIRED, place, True, given.get(("answer", key))) for (name, key), place in given.items() if name == _TRUTH
    ]
    for name, stop in zip(_GROUPS, [*list(starts.values())[1:], len(text)], strict=True):
        query = text.index("[", starts[name])
        for mark in told:
            if starts[name] < mark.place < stop:
                key = given[_TRUTH if (_TRUTH, mark.key) in given else "answer", mark.key]
                begin = text.rindex('"statement": "', 0, mark.place) + len('"statement": "')
                found += [Link(GROUPED, place, False, key) for place in (query, *range(begin, mark.place + 1))]
                query = text.index('"', text.index('"reason": "', mark.place) + 11)
        found.append(Link(GROUPED, query, False, None))
    return found


def _decision(end: int, query: int, marks: Sequence[Mark], sections: _Sections) -> list[Link]:
    """Where the contexts tell what is asked for, and where they name its subject."""
    before = [mark for mark in marks if mark.place <= query]
    asked = next(mark for mark in reversed(before) if mark.kind == ASKED)
    fields = [sections.of(mark.place) for mark in before if sections.names[sections.of(mark.place)][:7] == "context"]
    own = {field for field in fields if sections.starts[field - 1] >= end}
    seen = {max(own)} if own else set(fields)
    read = [mark for mark in before if sections.of(mark.place) in seen]
    fact = next((mark.place for mark in read if mark.kind == TOLD and mark.key == asked.key), None)
    subject = next((mark.place - 1 for mark in read if mark.kind == NAME and mark.subject == asked.subject), None)
    return [Link(DECISION, query, False, fact), Link(DECISION_SUBJECT, query, False, subject)]
