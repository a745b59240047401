"""Whether a judge did its work: are the texts that a metric counts made from the row, and judged once each?

No labels are needed, and no language is known: texts are compared by their letters, marks and digits.
`benchmarks/work_checks.md` says how often honest texts are flagged, and how many copies are found.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from rag_evaluator.judge.protocol import PromptText
from rag_evaluator.results.flags import (
    CONTRADICTORY,
    COPIED,
    FOREIGN,
    INCOMPLETE,
    LEAST_COPIED,
    LEAST_COVERED,
    LEAST_OWN,
    REASONS,
    REPEATED,
    SHORTEST,
    SHORTEST_DENSE,
)

VERSION = 1  # part of the signature of each metric whose texts are checked


class Sizes(NamedTuple):
    """Letters of the n-grams by which a text is compared with the examples, and with the row; of the shortest text."""

    copied: int
    own: int
    shortest: int


SPACED, DENSE = Sizes(6, 4, SHORTEST), Sizes(3, 2, SHORTEST_DENSE)
IN_DENSE = re.compile("[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]")  # kana, Han, Hangul


@dataclass(frozen=True)
class Counted:
    """What of an answer is counted.

    Attributes:
        field: of the answer: a text, a list of texts, or of objects with a `statement`.
        kind: `name`: must stand in the text as it is; `question`: need not use its words.
        divides: the field of the input that these texts divide; empty: they divide none.
    """

    field: str
    kind: Literal["statement", "name", "question"] = "statement"
    divides: str = ""


COUNTED: Mapping[str, Counted] = {
    "StatementGeneratorOutput": Counted("statements", divides="answer"),
    "ClaimDecompositionOutput": Counted("claims", divides="response"),
    "ContextRecallOutput": Counted("classifications", divides="answer"),
    "EntitiesList": Counted("entities", "name"),
    "ExtractedKeyphrases": Counted("keyphrases", "name"),
    "QuestionsGenerated": Counted("questions", "question"),
    "AnswerRelevanceOutput": Counted("question", "question"),
    "ReferenceOutput": Counted("answer"),
}
"""Response model -> the texts that the judge writes and a metric counts, or that become a reference."""
VERDICTS: Mapping[str, str] = {
    "NLIStatementOutput": "verdict",
    "StatementFaithfulnessOutput": "verdict",
    "ContextRecallOutput": "attributed",
}
"""Response model of ragas -> the verdict in each object of its only list."""
CHECKED = frozenset({*COUNTED, *VERDICTS, "ClassificationWithReason", "AnswersGenerated"})


def check_work(answers: Iterable[tuple[str, BaseModel]], row: Any) -> tuple[dict[str, list[str]], str | None]:
    """The flags of all answers behind a score, and why there is none; None where nothing forbids one.

    Args:
        answers: prompt and answer, in the order of asking.
        row: all columns, with lists and objects of texts. Any: the users' own columns.

    A flag has the texts that it is about; `incomplete` the share of the text, `0.18 covered`.
    """
    flags: dict[str, list[str]] = {}
    forbidden: list[str] = []
    row_texts = _Joined(row)
    for prompt, answer in answers:
        if type(answer).__name__ not in CHECKED:
            continue
        seen = dict(_seen(prompt, answer, row_texts))
        for flag, texts in seen.items():
            flags[flag] = list(dict.fromkeys([*flags.get(flag, ()), *texts]))
        is_about_nothing = FOREIGN in seen and len(seen[FOREIGN]) == len(list(_texts(answer)))
        forbidden += [flag for flag in REASONS if flag in seen and (flag != FOREIGN or is_about_nothing)]
    return flags, next((why for flag, why in REASONS.items() if flag in forbidden), None)


class _Joined:
    """Texts as one, normalised when first needed."""

    def __init__(self, value: Any) -> None:
        self._value, self._text = value, ""

    def __contains__(self, part: str) -> bool:
        self._text = self._text or "\0".join(["", *map(normalised, dict.fromkeys(texts_in(self._value))), ""])
        return part in self._text

    def has(self, whole: str) -> bool:
        """Whether one of the texts is this one."""
        return f"\0{whole}\0" in self


def _seen(prompt: str, answer: BaseModel, row: _Joined) -> Iterator[tuple[str, list[str]]]:
    """The flags of one answer that hold for a text or more."""
    counted, texts = COUNTED.get(type(answer).__name__), list(_texts(answer))
    asked = prompt.data if isinstance(prompt, PromptText) else None
    if counted is not None and texts:
        own = _Joined(None if asked is None else asked.model_dump())
        examples, plain = _Joined(_answers_of_others(prompt)), list(map(normalised, texts))
        checks = {
            COPIED: [text for text in texts if _is_copied(text, counted, examples, row)],
            FOREIGN: [text for text in texts if asked is not None and _is_foreign(text, counted, own)],
            REPEATED: [text for place, text in enumerate(texts) if plain[place] in plain[:place]],
            INCOMPLETE: list(_uncovered(texts, counted, asked)),
        }
        yield from ((flag, flagged) for flag, flagged in checks.items() if flagged)
    if contradictory := _contradictory(answer, asked):
        yield CONTRADICTORY, contradictory


def _answers_of_others(prompt: str) -> list[Any]:
    """What the examples of a prompt answer, but one that asks just what is asked. Any: JSON."""
    if not isinstance(prompt, PromptText) or prompt.data is None:
        return []
    asked = list(texts_in(prompt.data.model_dump()))
    return [example["output"] for example in prompt.examples if list(texts_in(example["input"])) != asked]


def _texts(answer: BaseModel) -> Iterator[str]:
    """The texts of an answer that are counted and say something."""
    counted = COUNTED.get(type(answer).__name__)
    value = getattr(answer, counted.field) if counted is not None else ()
    for item in [value] if isinstance(value, str) else value:
        text = item if isinstance(item, str) else item.statement
        if normalised(text):
            yield text


def _is_copied(text: str, counted: Counted, examples: _Joined, row: _Joined) -> bool:
    """A name is copied where it is one of the examples'; what is shorter than an n-gram cannot be known."""
    plain = normalised(text)
    if counted.kind == "name":
        return examples.has(plain) and plain not in row
    parts = grams(plain, sizes(plain).copied)
    shared = [part for part in parts if part in examples]
    if len(plain) < sizes(plain).copied or len(shared) < LEAST_COPIED * len(parts):  # else the row, which is long
        return False
    return sum(part not in row for part in shared) >= LEAST_COPIED * len(parts)


def _is_foreign(text: str, counted: Counted, own: _Joined) -> bool:
    plain = normalised(text)
    if counted.kind == "question" or (counted.kind == "statement" and len(plain) < sizes(plain).shortest):
        return False
    parts = [plain] if counted.kind == "name" else grams(plain, sizes(plain).own)
    return sum(part in own for part in parts) < LEAST_OWN * len(parts)


def _uncovered(texts: Sequence[str], counted: Counted, asked: BaseModel | None) -> Iterator[str]:
    """The share of the divided text that the texts cover, if it is low; claims of low coverage may leave out much."""
    divided = normalised(str(getattr(asked, counted.divides, getattr(asked, "text", "")))) if counted.divides else ""
    if not divided or getattr(asked, "coverage", "") == "low":
        return
    parts, made = grams(divided, sizes(divided).own), _Joined(texts)
    share = sum(part in made for part in parts) / len(parts)
    if share < LEAST_COVERED:
        yield f"{share:.2f} covered"


def _contradictory(answer: BaseModel, asked: BaseModel | None) -> list[str]:
    """Texts that are judged more than once and get different verdicts."""
    texts: dict[str, str] = {}
    for pairs in _verdicts(answer, asked):
        given: dict[str, set[Any]] = {}
        for text, verdict in pairs:
            given.setdefault(normalised(text), set()).add(verdict)
            if len(given[normalised(text)]) > 1:
                texts.setdefault(normalised(text), text)
    return list(texts.values())


def _verdicts(answer: BaseModel, asked: BaseModel | None) -> Iterator[Iterable[tuple[str, Any]]]:
    """The texts of each list that was judged, with what the judge says of them. Any: a number or a text."""
    kind = type(answer).__name__
    if kind in VERDICTS:
        for _, items in answer:
            yield [(item.statement, getattr(item, VERDICTS[kind])) for item in items]
    elif kind == "AnswersGenerated":
        yield zip(getattr(asked, "questions", ()), getattr(answer, "answers", ()), strict=False)
    elif kind == "ClassificationWithReason":
        lists = {name: [item.statement for item in items] for name, items in answer}
        yield [(text, name) for name in ("TP", "FP") for text in lists[name]]
        left = Counter(getattr(asked, "ground_truth", ())) - Counter(lists["FN"])
        yield [*((text, "FN") for text in lists["FN"]), *((text, "in both") for text in left)]


ASKED: Mapping[str, Mapping[str, Sequence[str]]] = {
    "NLIStatementOutput": {"statements": ["statements"]},
    "StatementFaithfulnessOutput": {"statements": ["statements"]},
    "ContextRecallOutput": {"sentences": ["classifications"]},
    "ClassificationWithReason": {"answer": ["TP", "FP"], "ground_truth": ["FN"]},
}
"""Response model of ragas -> the field of the input that is judged text by text -> the lists of what was judged."""
EDGES = re.compile("^[\"'“„«‘]*(?:(?:\\(?\\d+[.)]|[-*•]) )?[\"'“„«‘]*|[\"'”“»’.。]*$")
"""What a list or a quotation adds to a text."""


def as_asked(prompt: str, answer: BaseModel) -> tuple[BaseModel, list[str]]:
    """The answer with the statements that were asked, in their order; and the texts that prevent it.

    These were judged and not asked, or asked and not judged. A judge is not shown the sentences of a reference, and may
    divide it otherwise, but leave out nothing. Any ground truth may be left out.
    """
    data, lists, wrong = getattr(prompt, "data", None), dict[str, list[Any]](), list[str]()  # Any: objects of ragas
    for source, names in ASKED.get(type(answer).__name__, {}).items():
        items = [(name, item) for name in names for item in getattr(answer, name)]
        judged, asked = [item.statement for _, item in items], getattr(data, source, None)
        if asked is None or asked == judged:
            continue
        places = _places(judged, asked)
        for name in names:
            numbers = [number for number in sorted(places, key=places.__getitem__) if items[number][0] == name]
            lists[name] = [items[n][1].model_copy(update={"statement": asked[places[n]]}) for n in numbers]
        others = [text for number, text in enumerate(judged) if number not in places]
        left = [text for place, text in enumerate(asked) if place not in places.values() and source != "ground_truth"]
        if source == "sentences" and others + left:
            about = COUNTED["ContextRecallOutput"]
            others = [text for text in judged if _is_foreign(text, about, _Joined(asked))]
            left = [text for text in asked if _is_foreign(text, about, _Joined(judged))]
            lists = {}
        wrong += others + left
    return answer if wrong else answer.model_copy(update=lists), wrong


def _places(judged: Sequence[str], asked: Sequence[str]) -> dict[int, int]:
    """The number of a text that was judged -> the place of the statement that it is, the most alike first."""
    pairs = [
        (-_alike(text, asked[place]), number, place)
        for number, text in enumerate(judged)
        for place in range(len(asked))
    ]
    places: dict[int, int] = {}
    for unlike, number, place in sorted(pairs):
        if -unlike >= LEAST_OWN and number not in places and place not in places.values():
            places[number] = place
    return places


def _alike(text: str, other: str) -> float:
    """The share of n-grams that two texts have in common, and 2 for equal texts."""
    if len({EDGES.sub("", " ".join(unicodedata.normalize("NFKC", t).casefold().split())) for t in (text, other)}) == 1:
        return 2
    first, second = (set(grams(plain, sizes(plain).own)) for plain in map(normalised, (text, other)))
    return 2 * len(first & second) / (len(first) + len(second))


def texts_in(value: Any) -> Iterator[str]:
    """All texts in a value as JSON has it, the keys of objects left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for part in value.values() for text in texts_in(part))
    elif isinstance(value, list | tuple):
        yield from (text for part in value for text in texts_in(part))


REMEMBERED = 256  # texts: more than a row has; those of many rows with long contexts would fill the memory


@lru_cache(maxsize=REMEMBERED)
def normalised(text: str) -> str:
    """Letters, marks and digits of a text only, after NFKC and casefold."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(sign for sign in folded if sign.isalnum() or unicodedata.category(sign)[0] == "M")


def sizes(plain: str) -> Sizes:
    """The sizes of n-grams for a normalised text."""
    return DENSE if 2 * len(IN_DENSE.findall(plain)) >= len(plain) else SPACED


def grams(plain: str, size: int) -> list[str]:
    """All runs of so many letters of a normalised text; of a shorter one the whole."""
    return [plain[start : start + size] for start in range(max(1, len(plain) - size + 1))]
