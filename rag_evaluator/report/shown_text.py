"""A text of the data as a page shows it: its beginning, the rest folded, and no more than a page can bear."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

FOLDED = 3_000  # characters before the fold
MOST = 200_000  # characters in a page
NAME = 120  # characters of a name
BACK = 200  # characters in which a blank is looked for, so that no word is cut
Mark = Literal["", "ins", "del"]


@dataclass(frozen=True)
class TextPart:
    """A part of a text; `mark`: only this text has it (`ins`), or only it lacks it in the other (`del`)."""

    text: str
    mark: Mark = ""


@dataclass(frozen=True)
class ShownText:
    """What is shown of a text.

    Attributes:
        start: what a reader sees at once.
        rest: what is folded; empty for a short text.
        length: characters of the whole text.
        source: the file that holds the whole text.
    """

    start: tuple[TextPart, ...]
    rest: tuple[TextPart, ...]
    length: int
    source: str

    @property
    def folded(self) -> int:
        """Characters behind the fold."""
        return sum(len(piece.text) for piece in self.rest)

    @property
    def left_out(self) -> int:
        """Characters that are not in the page."""
        return self.length - self.folded - sum(len(piece.text) for piece in self.start)


def short(name: object) -> str:
    """A name on one line, cut where it is no name any more."""
    text = str(name)
    return text if len(text) <= NAME else f"{text[: NAME - 1]}…"


def shown(text: str, source: str) -> ShownText:
    """A text without marks."""
    return shown_pieces([TextPart(text)], source)


def shown_pieces(pieces: Iterable[TextPart], source: str) -> ShownText:
    """A text in pieces, which together are the whole text."""
    pieces = tuple(pieces)
    length = sum(len(piece.text) for piece in pieces)
    if length <= FOLDED:
        return ShownText(pieces, (), length, source)
    start, rest = _split(pieces, FOLDED)
    rest, _ = _split(rest, MOST - sum(len(piece.text) for piece in start))
    return ShownText(start, rest, length, source)


def _split(pieces: Iterable[TextPart], at: int) -> tuple[tuple[TextPart, ...], tuple[TextPart, ...]]:
    """The pieces before about so many characters, never more, and those after."""
    before, after = [], []
    for piece in pieces:
        if len(piece.text) <= at:
            before.append(piece)
            at -= len(piece.text)
            continue
        cut, at = _cut(piece.text, at), 0
        before.append(TextPart(piece.text[:cut], piece.mark))
        after.append(TextPart(piece.text[cut:], piece.mark))
    return tuple(_filled(before)), tuple(_filled(after))


def _cut(text: str, at: int) -> int:
    """The place after the last blank before `at`, if it is near."""
    blank = max(text.rfind(sign, max(at - BACK, 0), at) for sign in " \n")
    return blank + 1 if blank >= 0 else at


def _filled(pieces: Iterable[TextPart]) -> Iterator[TextPart]:
    return (piece for piece in pieces if piece.text)
