"""Texts of rows as a page shows them: folded, divided into sentences, with what differs marked."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, pairwise
from typing import Literal, NamedTuple

from rapidfuzz.distance import Indel

from rag_evaluator.results import Tone, shortened

FOLDED = 3_000  # characters before the fold
NAME = 120  # characters of a name
BACK = 200  # characters in which a blank is looked for, so that no word is cut
Mark = Literal["", "ins", "del"]
WORDS = 20_000  # characters of a text whose words are compared: 0.1 s and 50 MB at most
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Burmese, Khmer
    "\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)


@dataclass(frozen=True)
class TextPart:
    """A part of a text; `mark`: only this text has it (`ins`), or only it lacks it in the other (`del`).

    Attributes:
        sentence: to which it belongs; None where its sentences were not judged.
        flag: the probability as percent that it is not supported; empty where nobody says so.
        aside: what it is, where it is shown dimmed: around what a response says, or claiming nothing.
    """

    text: str
    mark: Mark = ""
    sentence: "SentenceView | None" = None
    flag: str = ""
    aside: str = ""


@dataclass(frozen=True)
class ShownText:
    """What a reader sees of a text at once, and what is folded: nothing of a short text."""

    start: tuple[TextPart, ...]
    rest: tuple[TextPart, ...] = ()

    @property
    def folded(self) -> int:
        """Characters behind the fold."""
        return sum(len(piece.text) for piece in self.rest)


class Span(NamedTuple):
    """A part of a sentence that a classifier of tokens flagged.

    Attributes:
        start, end: in characters of the sentence.
        probability: as percent, that the evidence does not support it.
    """

    start: int
    end: int
    text: str
    probability: str


@dataclass(frozen=True)
class SentenceView:
    """A sentence of a text; `plain` is the tone of one that does not count.

    Attributes:
        section: by which links find what is known of it.
        supported: whether it counts as supported.
        text: with the flagged parts.
        probability: that the evidence supports it, as percent; empty where it does not count.
        contexts: places of the contexts in the piece that counted, from 0; empty where the evidence is no context.
        piece: that counted, from 1.
        place: start and end in the text; None where it is not there.
    """

    number: int
    tone: Tone
    word: str
    section: str
    supported: bool
    text: ShownText
    probability: str = ""
    contexts: tuple[int, ...] = ()
    piece: int = 1
    spans: tuple[Span, ...] = ()
    place: tuple[int, int] | None = None


def short(name: object) -> str:
    """A name on one line, cut where it is no name any more."""
    return shortened(str(name), NAME)


def shown(text: str | Sequence[TextPart], folded: int = FOLDED) -> ShownText:
    """A text, or the pieces that together are it, with about so many characters before the fold, never more."""
    pieces = (TextPart(text),) if isinstance(text, str) else tuple(text)
    whole = "".join(piece.text for piece in pieces)
    if len(whole) <= folded:
        return ShownText(pieces)
    blank = max(whole.rfind(sign, folded - BACK, folded) for sign in " \n")
    cut = blank + 1 if blank >= 0 else folded
    parts = list(divided(pieces, [cut]))
    return ShownText(
        tuple(part for place, part in parts if place < cut), tuple(part for place, part in parts if place >= cut)
    )


def divided(pieces: Iterable[TextPart], edges: Iterable[int]) -> Iterator[tuple[int, TextPart]]:
    """Pieces that are cut at places of the text, each with the place where it begins."""
    ordered = sorted(edges)
    place = 0
    for piece in pieces:
        end = place + len(piece.text)
        inside = ordered[bisect_right(ordered, place) : bisect_right(ordered, end - 1)]
        for start, stop in pairwise([place, *inside, end]):
            yield start, replace(piece, text=piece.text[start - place : stop - place])
        place = end


@dataclass(frozen=True)
class WordDiff:
    """Two texts in pieces.

    Attributes:
        first: the first text; `ins` where the second has no such words.
        second: the second text; `del` where the first has no such words.
        too_long: they are not compared, as one is too long.
    """

    first: tuple[TextPart, ...]
    second: tuple[TextPart, ...]
    too_long: bool = False

    @property
    def equal(self) -> bool:
        """Whether nothing differs, as far as it was compared."""
        return not any(piece.mark for piece in (*self.first, *self.second))


def difference(first: str, second: str) -> WordDiff:
    """By words; not at all above `WORDS` characters, unless the texts are equal."""
    if first == second or max(len(first), len(second)) > WORDS:
        return WordDiff((TextPart(first),), (TextPart(second),), first != second)
    numbers: dict[str, int] = {}
    words = tokens(first), tokens(second)
    coded = [[numbers.setdefault(token, len(numbers)) for token in text] for text in words]
    # places of words that one text has and the other has not
    own = set[int]()
    other = set[int]()
    for code in Indel.opcodes(*coded):
        if code.tag != "equal":
            own.update(range(code.src_start, code.src_end))
            other.update(range(code.dest_start, code.dest_end))
    return WordDiff(_marked(words[0], own, "ins"), _marked(words[1], other, "del"))


def tokens(text: str) -> list[str]:
    """Words with their marks, single letters of scripts without blanks, runs of white space, other signs one by one."""
    return _pattern().findall(text)


@cache
def _pattern() -> re.Pattern[str]:
    marks = "".join(chr(code) for code in range(0x300, 0xFE30) if unicodedata.category(chr(code))[0] == "M")
    marks += "\u200c\u200d"
    return re.compile(
        rf"\s+|[{UNSPACED}][{marks}]*|(?:(?![{UNSPACED}])\w)(?:(?![{UNSPACED}])[\w{marks}])*|.", re.DOTALL
    )


def _marked(words: Sequence[str], differing: Collection[int], mark: Mark) -> tuple[TextPart, ...]:
    """A text in pieces. White space is marked between two marked words only, which read as one change then."""

    def is_marked(place: int) -> bool:
        if words[place].isspace():
            return place - 1 in differing and place + 1 in differing
        return place in differing

    pieces = groupby(range(len(words)), key=is_marked)
    return tuple(TextPart("".join(words[at] for at in places), mark if marked else "") for marked, places in pieces)
