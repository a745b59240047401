"""Whether a judge did its work: are the texts that a metric counts made from the row, and judged once each?

No labels are needed, and no language is known: two texts are equal as a whole (`as_whole`); a text and the row are
compared by their letters and digits (`normalised`), a name by the beginnings of its words (`words`).
`benchmarks/work_checks.md` says how often honest texts are flagged, and how many copies are found.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from pydantic import BaseModel

from rag_evaluator.config import BEGINS_ANYWHERE, IN_DENSE, as_whole, grams, normalised, words
from rag_evaluator.judge import AnswerRow, PromptText, row_of
from rag_evaluator.results import (
    CONTRADICTORY,
    COPIED,
    ENDING,
    FOREIGN,
    FRAGMENT,
    INCOMPLETE,
    LEAST_COPIED,
    LEAST_COVERED,
    LEAST_NEW,
    LEAST_OWN,
    REASONS,
    REPEATED,
    SHORTEST,
    SHORTEST_DENSE,
    STEM,
)

VERSION = 2  # part of the signature of each metric whose texts are checked
ASIDE = frozenset(
    """the der die das den dem des ein eine einen einer les des une los las una uno unos unas gli het een az
    january february march april may june july august september october november december
    januar februar marz mai juni juli oktober dezember janvier fevrier mars avril juin juillet aout septembre octobre
    novembre decembre enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre
    janeiro fevereiro marco maio junho julho setembro outubro novembro dezembro
    يناير فبراير مارس ابريل مايو يونيو يوليو اغسطس سبتمبر اكتوبر نوفمبر ديسمبر
    जनवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर""".split()
)
"""Articles and months: they say nothing of whose a name is."""
LONGEST_END = 24  # signs of a text's end that are looked for in its source
SHORTEST_END = 12
SENTENCE_END = re.compile(r"[.!?…。！？｡؟۔।॥][\W_]*$")
SPACES = re.compile(r"[^\S\n]+")  # a line is not left: it may be an item of a list
GOES_ON = re.compile(r"[^\W_]|[ ,;:'’\-–—]+[^\W_]")  # a sentence
EDGES = re.compile("^[\"'“„«‘]*(?:(?:\\(?\\d+[.)]|[-*•]) )?[\"'“„«‘]*|[\"'”“»’.。]*$")
"""What a list or a quotation adds to a text."""


class Sizes(NamedTuple):
    """Letters of the n-grams by which a text is compared with the examples, and with the row; of the shortest text."""

    copied: int
    own: int
    shortest: int


SPACED = Sizes(6, 4, SHORTEST)
DENSE = Sizes(3, 2, SHORTEST_DENSE)


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
        if not row_of(type(answer)).is_checked:
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
        self._texts = dict.fromkeys(texts_in(value))

    def __contains__(self, part: str) -> bool:
        return part in self._normalised

    def has(self, whole: str) -> bool:
        """Whether one of the texts is this one."""
        return f"\0{whole}\0" in self

    @cached_property
    def _normalised(self) -> str:
        return "\0".join(["", *map(normalised, self._texts), ""])

    @cached_property
    def words(self) -> str:
        """The words, each between spaces."""
        return " ".join(["", *map(words, self._texts), ""])

    @cached_property
    def small(self) -> str:
        """The words in small letters."""
        return self.words.casefold()

    def begins(self, word: str) -> bool:
        """Whether a word begins like this one, as its inflected forms do; with a capital if it has one."""
        stem = round(2 * len(word) / 3)
        if BEGINS_ANYWHERE.search(word):
            return any(part in self for part in grams(word, max(3 - bool(IN_DENSE.search(word)), stem)))
        text = self.small if word.islower() else self.words
        if len(word) < STEM or word.isdecimal():
            return f" {word} " in text
        others = re.findall(f" ({word[: min(STEM, stem)]}\\S*)", text)
        return any(other.startswith(word[: max(1, len(word) - ENDING, len(other) - ENDING)]) for other in others)


def _seen(prompt: str, answer: BaseModel, row: _Joined) -> Iterator[tuple[str, list[str]]]:
    """The flags of one answer that hold for a text or more."""
    counted = row_of(type(answer))
    texts = list(_texts(answer))
    asked: BaseModel | None = getattr(prompt, "data", None)
    if texts:
        own = _Joined(asked and asked.model_dump())
        examples = _Joined(_answers_of_others(prompt))
        whole = list(map(as_whole, texts))
        checks = {
            COPIED: [text for text in texts if _is_copied(text, counted, examples, row)],
            FOREIGN: [text for text in texts if asked is not None and _is_foreign(text, counted, own)],
            REPEATED: [text for place, text in enumerate(texts) if whole[place] in whole[:place]],
            INCOMPLETE: list(_uncovered(texts, counted, asked)),
            FRAGMENT: list(_fragments(texts, _divided(counted, asked))),
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
    counted = row_of(type(answer)).counted
    value = getattr(answer, counted) if counted else ()
    for item in [value] if isinstance(value, str) else value:
        text = item if isinstance(item, str) else item.statement
        if normalised(text):
            yield text


def _is_copied(text: str, counted: AnswerRow, examples: _Joined, row: _Joined) -> bool:
    """A name is copied where it is one of the examples'; what is shorter than an n-gram cannot be known."""
    plain = normalised(text)
    if counted.kind == "name":
        return examples.has(plain) and plain not in row and not all(map(row.begins, words(text).split()))
    parts = grams(plain, sizes(plain).copied)
    shared = [part for part in parts if part in examples]
    if len(plain) < sizes(plain).copied or len(shared) < LEAST_COPIED * len(parts):  # else the row, which is long
        return False
    is_copied = sum(part not in row for part in shared) >= LEAST_COPIED * len(parts)
    return is_copied and _new_letters(text, examples, row) < LEAST_NEW[counted.kind] * len(plain)


def _new_letters(text: str, examples: _Joined, row: _Joined) -> int:
    """How many letters of a text are in words of the row that no example has, as the name in a usual question."""
    if sizes(plain := normalised(text)) == DENSE:
        return sum(DENSE.own for part in grams(plain, DENSE.own) if part in row and part not in examples)
    parts = [word.casefold() for word in words(text).split() if len(word) >= STEM or not word.islower()]
    return sum(len(part) for part in parts if row.begins(part) and not examples.begins(part))


def _is_foreign(text: str, counted: AnswerRow, own: _Joined) -> bool:
    plain = normalised(text)
    if counted.kind == "name":
        return plain not in own and not _is_named(text, own)
    if counted.kind == "question" or len(plain) < sizes(plain).shortest:
        return False
    parts = grams(plain, sizes(plain).own)
    return sum(part in own for part in parts) < LEAST_OWN * len(parts)


def _divided(counted: AnswerRow, asked: BaseModel | None) -> str:
    """The text of the input that the counted texts divide; empty where they divide none."""
    return str(getattr(asked, counted.divides, getattr(asked, "text", ""))) if counted.divides else ""


def _fragments(texts: Sequence[str], divided: str) -> Iterator[str]:
    """The texts that end in the middle of a sentence of the divided text: its next word is not theirs any more."""
    source = SPACES.sub(" ", divided)
    for text in texts:
        end = SPACES.sub(" ", text).strip()[-LONGEST_END:]
        place = -1 if len(end) < SHORTEST_END or SENTENCE_END.search(end) else source.rfind(end)
        if place >= 0 and GOES_ON.match(source, place + len(end)):
            yield text


def _is_named(name: str, own: _Joined) -> bool:
    """Whether a text has a word of a name, of one with capitals such a word, or more than half of all."""
    every = words(name).split()
    long = [word for word in every if len(word) > 2 - bool(IN_DENSE.search(word))]
    counting = [word for word in long if word.casefold() not in ASIDE] or every
    small = [own.begins(word.casefold()) for word in counting]
    capital = [word for word in counting if not word.islower()]
    if not capital or own.words == own.small:
        return any(small)
    return any(map(own.begins, capital)) or 2 * sum(small) > len(small)


def _uncovered(texts: Sequence[str], counted: AnswerRow, asked: BaseModel | None) -> Iterator[str]:
    """The share of the divided text that the texts cover, if it is low; claims of low coverage may leave out much."""
    divided = normalised(_divided(counted, asked))
    if not divided or getattr(asked, "coverage", "") == "low":
        return
    parts = grams(divided, sizes(divided).own)
    made = normalised(" ".join(texts))
    share = sum(part in made for part in parts) / len(parts)
    if share < LEAST_COVERED:
        yield f"{share:.2f} covered"


def _contradictory(answer: BaseModel, asked: BaseModel | None) -> list[str]:
    """Texts that are judged more than once and get different verdicts."""
    texts: dict[str, str] = {}
    for pairs in _verdicts(answer, asked):
        given: dict[str, set[Any]] = {}
        for text, verdict in pairs:
            given.setdefault(as_whole(text), set()).add(verdict)
            if len(given[as_whole(text)]) > 1:
                texts.setdefault(as_whole(text), text)
    return list(texts.values())


def _verdicts(answer: BaseModel, asked: BaseModel | None) -> Iterator[Iterable[tuple[str, Any]]]:
    """The texts of each list that was judged, with what the judge says of them. Any: a number or a text."""
    kind = type(answer).__name__
    if kind == "AnswersGenerated":
        yield zip(getattr(asked, "questions", ()), getattr(answer, "answers", ()), strict=False)
    elif kind == "ClassificationWithReason":
        lists = {name: [item.statement for item in items] for name, items in answer}
        yield [(text, name) for name in ("TP", "FP") for text in lists[name]]
        left = Counter(getattr(asked, "ground_truth", ())) - Counter(lists["FN"])
        yield [*((text, "FN") for text in lists["FN"]), *((text, "in both") for text in left)]
    elif verdict := row_of(type(answer)).verdict:
        for _, items in answer:
            yield [(item.statement, getattr(item, verdict)) for item in items]


def as_asked(prompt: str, answer: BaseModel) -> tuple[BaseModel, list[str]]:
    """The answer with the statements that were asked, in their order; and the texts that prevent it.

    These were judged and not asked, or asked and not judged. A judge is not shown the sentences of a reference, and may
    divide it otherwise, but leave out nothing. Any ground truth may be left out.
    """
    # Any: objects of ragas
    data = getattr(prompt, "data", None)
    lists = dict[str, list[Any]]()
    wrong = list[str]()
    for source, names in row_of(type(answer)).asked.items():
        items = [(name, item) for name in names for item in getattr(answer, name)]
        judged = [item.statement for _, item in items]
        asked = getattr(data, source, None)
        if asked is None or asked == judged:
            continue
        places = _places(judged, asked)
        for name in names:
            numbers = [number for number in sorted(places, key=places.__getitem__) if items[number][0] == name]
            lists[name] = [items[n][1].model_copy(update={"statement": asked[places[n]]}) for n in numbers]
        others = [text for number, text in enumerate(judged) if number not in places]
        left = [text for place, text in enumerate(asked) if place not in places.values() and source != "ground_truth"]
        if source == "sentences" and others + left:
            about = row_of(type(answer))
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
    if EDGES.sub("", as_whole(text)) == EDGES.sub("", as_whole(other)):
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


def sizes(plain: str) -> Sizes:
    """The sizes of n-grams for a normalised text."""
    return DENSE if 2 * len(IN_DENSE.findall(plain)) >= len(plain) else SPACED
