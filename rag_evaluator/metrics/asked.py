"""Which verdict of an answer belongs to which statement that was asked: a judge without a grammar may write others."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from rag_evaluator.judge.protocol import PromptText
from rag_evaluator.metrics.work_checks import grams, normalised, sizes

LEAST_ALIKE = 0.15  # share of common n-grams below which a text is not the statement in other words
CLEARLY = 0.5  # share from which it is, wherever it stands
EDGES = re.compile("^[\"'“„«‘]*(?:(?:\\d+[.)]|[-*•]) )?[\"'“„«‘]*|[\"'”“»’.。]*$")
"""What a list or a quotation adds to a text."""


class Asked(NamedTuple):
    """What is judged one by one.

    Attributes:
        lists: of the answer, whose objects have a `statement`.
        source: the field of the input that holds the statements.
        each: whether none may be left out.
    """

    lists: tuple[str, ...]
    source: str
    each: bool = True


ASKED: Mapping[str, Sequence[Asked]] = {
    "NLIStatementOutput": [Asked(("statements",), "statements")],
    "StatementFaithfulnessOutput": [Asked(("statements",), "statements")],
    "ContextRecallOutput": [Asked(("classifications",), "sentences")],
    "ClassificationWithReason": [Asked(("TP", "FP"), "answer"), Asked(("FN",), "ground_truth", each=False)],
}
"""Response model of ragas -> what its verdicts are about."""


def as_asked(prompt: str, answer: BaseModel) -> BaseModel:
    """The answer with its statements as they were asked, in their order; as it is where they are others."""
    lists: dict[str, list[Any]] = {}  # Any: objects of ragas' models
    for asked, statements in _asked(prompt, answer):
        items = [(name, item) for name in asked.lists for item in getattr(answer, name)]
        numbers = _numbers(statements, [item.statement for _, item in items])
        if len(set(numbers) - {None}) < len(items) or (asked.each and None in numbers):
            return answer
        lists |= {name: [] for name in asked.lists}
        for statement, number in zip(statements, numbers, strict=True):
            if number is not None:
                name, item = items[number]
                lists[name].append(item.model_copy(update={"statement": statement}))
    settled = answer.model_copy(update=lists)
    return answer if settled == answer else settled


def not_asked(prompt: str, answer: BaseModel) -> Iterator[str]:
    """Texts that were judged and not asked, or asked and not judged, of an answer of `as_asked`."""
    for asked, statements in _asked(prompt, answer):
        judged = [item.statement for name in asked.lists for item in getattr(answer, name)]
        if asked.source == "sentences":  # which a prompt does not show: what divides their text otherwise will do
            for texts, others in ((judged, statements), (statements, judged)):
                yield from (text for text in texts if _is_foreign(text, " ".join(others)))
        else:
            numbers = _numbers(statements, judged)
            yield from (text for number, text in enumerate(judged) if number not in numbers)
            yield from (text for text, number in zip(statements, numbers, strict=True) if asked.each and number is None)


def _asked(prompt: str, answer: BaseModel) -> Iterator[tuple[Asked, list[str]]]:
    data = prompt.data if isinstance(prompt, PromptText) else None
    for asked in ASKED.get(type(answer).__name__, ()):
        if statements := getattr(data, asked.source, None):
            yield asked, statements


def _numbers(statements: Sequence[str], judged: Sequence[str]) -> list[int | None]:
    """The number of the text that belongs to each statement, None where there is none.

    It is the same text; of the others the one that is clearly the statement in other words, else the next one, if it is
    not foreign to it. One text is enough for a statement that was asked twice.
    """
    wholes, left = list(map(_whole, statements)), dict(enumerate(map(_whole, judged)))
    numbers: list[int | None] = []
    for whole in wholes:
        number = next((number for number, text in left.items() if text == whole), None)
        numbers.append(number)
        left = {other: text for other, text in left.items() if other != number}
    if not left:
        return [numbers[wholes.index(w)] if n is None else n for w, n in zip(wholes, numbers, strict=True)]
    for number in left:
        places = [place for place, taken in enumerate(numbers) if taken is None]
        alike = {place: _alike(judged[number], statements[place]) for place in places}
        place = max(places, key=lambda place: alike[place] if alike[place] >= CLEARLY else 0, default=None)
        if place is not None and alike[place] >= LEAST_ALIKE:
            numbers[place] = number
    return numbers


def _whole(text: str) -> str:
    """What equal texts have in common: all signs but for case, spaces, and what is at their edges."""
    return EDGES.sub("", " ".join(unicodedata.normalize("NFKC", text).casefold().split()))


def _alike(text: str, other: str) -> float:
    """The share of n-grams that two texts have in common, [0, 1]."""
    first, second = (set(grams(plain, sizes(plain).own)) for plain in map(normalised, (text, other)))
    return 2 * len(first & second) / (len(first) + len(second))


def _is_foreign(text: str, whole: str) -> bool:
    """Whether a text has next to no n-gram of another one; of a short text nobody knows."""
    plain = normalised(text)
    parts = grams(plain, sizes(plain).own)
    shared = sum(part in normalised(whole) for part in parts)
    return len(plain) >= sizes(plain).shortest and shared < LEAST_ALIKE * len(parts)
