"""Marks in generated texts, taken out before anybody reads them: where a fact is told, asked for or looked up.

A mark is a character of Unicode's private area and a code for what it is about, so it goes through JSON unchanged.
From the marks of a row `links` derives which token should look at which.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

TOLD, NAME, ASKED, LOOKED, PHRASE = "\ue000", "\ue001", "\ue002", "\ue003", "\ue004"
_FIRST_CODE, _CODES = 0xF0000, 60_000
_MARK = re.compile(f"([{TOLD}{NAME}{ASKED}{LOOKED}{PHRASE}])([{chr(_FIRST_CODE)}-{chr(_FIRST_CODE + _CODES)}]+)")


@dataclass(frozen=True)
class Mark:
    """kind: TOLD and LOOKED stand before a value, NAME, ASKED and PHRASE behind a subject, a question, words to find.

    place: where it was in the text without marks, in characters. key: relation and subject, "" for NAME and PHRASE.
    source: code of the place of a row that LOOKED looks at.
    """

    kind: str
    place: int
    key: str
    subject: str
    source: str


def code(text: str) -> str:
    """Two characters, so that two texts of a row hardly ever have the same."""
    high, low = divmod(zlib.crc32(text.encode()), _CODES)
    return chr(_FIRST_CODE + high % _CODES) + chr(_FIRST_CODE + low)


def name(subject: str) -> str:
    return f"{subject}{NAME}{code(subject)}"


def told(value: str, relation: str, subject: str) -> str:
    return f"{TOLD}{code(relation + subject)}{code(subject)}{value}"


def asked(question: str, relation: str, subject: str) -> str:
    return f"{question}{ASKED}{code(relation + subject)}{code(subject)}"


def looked(value: str, relation: str, subject: str, source: str) -> str:
    """source: key of the prompt's input that the value was looked up in."""
    return f"{LOOKED}{code(relation + subject)}{code(subject)}{code(source)}{value}"


def phrase(words: str) -> str:
    return f"{words}{PHRASE}{code(words)}"


def without(text: str) -> str:
    return _MARK.sub("", text)


def taken_out(text: str) -> tuple[str, list[Mark]]:
    """The text without marks, and the marks in order."""
    found, taken = [], 0
    for match in _MARK.finditer(text):
        kind, codes = match.groups()
        key, subject, source = ("", codes, "") if kind in (NAME, PHRASE) else (codes[:2], codes[2:4], codes[4:])
        found.append(Mark(kind, match.start() - taken, key, subject, source))
        taken += len(match.group())
    return without(text), found
