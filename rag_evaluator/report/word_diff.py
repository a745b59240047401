"""Which words of two texts differ; in scripts without blanks between words, which letters."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from rapidfuzz.distance import Indel

from rag_evaluator.report.shown_text import Mark, TextPart

WORDS = 20_000  # characters of a text whose words are compared; also words or lines that are: 0.1 s and 50 MB at most
LINES = 200_000  # characters of a text whose lines are compared
UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Burmese, Khmer
    "\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
Unit = Literal["words", "lines", "none"]


@dataclass(frozen=True)
class WordDiff:
    """Two texts in pieces.

    Attributes:
        first: the first text; `ins` where the second has no such words.
        second: the second text; `del` where the first has no such words.
        unit: what was compared; `none`: the texts are too long.
    """

    first: tuple[TextPart, ...]
    second: tuple[TextPart, ...]
    unit: Unit

    @property
    def equal(self) -> bool:
        """Whether nothing differs, as far as it was compared."""
        return not any(piece.mark for piece in (*self.first, *self.second))


def difference(first: str, second: str) -> WordDiff:
    """By words; by lines above `WORDS` characters; not at all above `LINES`, unless the texts are equal."""
    longest = max(len(first), len(second))
    if first == second:
        return WordDiff((TextPart(first),), (TextPart(second),), "words")
    if longest <= WORDS:
        return _compared(tokens(first), tokens(second), "words")
    lines = [text.splitlines(keepends=True) if longest <= LINES else [] for text in (first, second)]
    if longest > LINES or max(map(len, lines)) > WORDS:
        return WordDiff((TextPart(first),), (TextPart(second),), "none")
    return _compared(lines[0], lines[1], "lines")


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


def _compared(first: Sequence[str], second: Sequence[str], unit: Unit) -> WordDiff:
    numbers: dict[str, int] = {}
    coded = [[numbers.setdefault(token, len(numbers)) for token in tokens] for tokens in (first, second)]
    left: list[TextPart] = []
    right: list[TextPart] = []
    for code in Indel.opcodes(*coded):
        same = code.tag == "equal"
        left.append(TextPart("".join(first[code.src_start : code.src_end]), "" if same else "ins"))
        right.append(TextPart("".join(second[code.dest_start : code.dest_end]), "" if same else "del"))
    return WordDiff(tuple(_trimmed(_joined(left))), tuple(_trimmed(_joined(right))), unit)


def _trimmed(pieces: Iterator[TextPart]) -> Iterator[TextPart]:
    """Pieces whose marks do not begin or end with white space, unless nothing else differs."""
    for piece in pieces:
        inside = piece.text.strip()
        if not piece.mark or not inside:
            yield piece
            continue
        before, _, after = piece.text.partition(inside)
        yield from (part for part in (TextPart(before), TextPart(inside, piece.mark), TextPart(after)) if part.text)


def _joined(pieces: Sequence[TextPart]) -> Iterator[TextPart]:
    """Pieces without empty ones; a blank between two marked ones is marked, too: they read as one change."""
    filled = [piece for piece in pieces if piece.text]
    text, mark = "", filled[0].mark if filled else ""
    for place, piece in enumerate(filled):
        now = _mark(filled, place)
        if now != mark:
            yield TextPart(text, mark)
            text, mark = "", now
        text += piece.text
    if text:
        yield TextPart(text, mark)


def _mark(pieces: Sequence[TextPart], place: int) -> Mark:
    piece = pieces[place]
    between = 0 < place < len(pieces) - 1 and piece.text.isspace()
    return pieces[place - 1].mark if between and pieces[place - 1].mark == pieces[place + 1].mark else piece.mark
