"""Divides a text into segments that are translated one by one, and puts their translations together again."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rag_evaluator.languages import LANGUAGES, Language, sentences

LIMIT = 500  # characters of a segment, about: a translation of that length fits the budget of one string
MARKER = re.compile(r"\s*(?:[*\-•]|[0-9A-Z]{1,2}[.)])\s+")  # of a list: '0. ', 'A. ', '* '
CLAUSE = re.compile(r"(?<=[,;:])\s+")


class Segment(NamedTuple):
    """A piece of a text: `text` is for translation, the text before and after it is kept as it is."""

    before: str
    text: str
    after: str


def divided(text: str, known: Iterable[str] = ()) -> list[Segment]:
    """The segments of a text, in order; joined, they are the text.

    Lines are segments, their list markers kept outside; long ones are divided at sentence ends. A sentence in `known`
    becomes a segment of its own, so that it has the same translation everywhere.
    """
    return [segment for line in text.splitlines(keepends=True) for segment in _of_line(line, known)]


def halves(text: str) -> list[Segment]:
    """A segment in smaller ones: its sentences, else its clauses; only itself if it has neither."""
    parts = sentences(text, LANGUAGES["english"])
    return [_trimmed(part) for part in (parts if len(parts) > 1 else _split(CLAUSE, text))]


def joined(parts: Sequence[Segment], translations: Sequence[str], language: Language) -> str:
    """The translations with the text around them; without spaces between sentences where a script has none."""
    text = ""
    for segment, translation in zip(parts, translations, strict=True):
        text += segment.before + translation + (segment.after if language.spaced or "\n" in segment.after else "")
    return text


def _of_line(line: str, known: Iterable[str]) -> list[Segment]:
    marker = MARKER.match(line)
    before = marker[0] if marker else ""
    pieces = _cut_out([line[len(before) :]], known)
    parts = [_trimmed(part) for piece in pieces for part in ([piece] if len(piece) <= LIMIT else _grouped(piece))]
    if before and parts:
        parts[0] = parts[0]._replace(before=before + parts[0].before)
    return parts or [Segment(line, "", "")]


def _cut_out(pieces: list[str], known: Iterable[str]) -> list[str]:
    """Pieces with each known text in a piece of its own, longest first."""
    for text in sorted(known, key=len, reverse=True):
        apart = re.compile(f"({re.escape(text)}\\s*)")
        pieces = [
            part for piece in pieces for part in ([piece] if piece.strip() == text else apart.split(piece)) if part
        ]
    return pieces


def _grouped(text: str) -> list[str]:
    """Sentences of a text, joined as long as they stay within the limit."""
    groups: list[str] = []
    for sentence in sentences(text, LANGUAGES["english"]):
        if groups and len(groups[-1]) + len(sentence) <= LIMIT:
            groups[-1] += sentence
        else:
            groups.append(sentence)
    return groups


def _split(pattern: re.Pattern[str], text: str) -> list[str]:
    ends = [match.end() for match in pattern.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True) if text[start:end]]


def _trimmed(text: str) -> Segment:
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    return Segment(text[:start], text[start:end], text[end:]) if text.strip() else Segment(text, "", "")
