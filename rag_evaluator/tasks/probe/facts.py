"""The numbers and names in a text: what can be replaced so that a true statement becomes a wrong one."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from rag_evaluator.languages import Language, sentences

GROUPS = r"\d+(?:[.,٫٬]\d+|[ \u00a0\u202f]\d{3}(?!\d))*"
NUMBER = re.compile(rf"(?<![\w.,:/+-]){GROUPS}(?!\w|[.,:/-]\d)")
NUMBER_BESIDE_LETTERS = re.compile(rf"(?<![A-Za-z\d_.,:/+-]){GROUPS}(?![A-Za-z\d]|[.,:/-]\d)")
"""Where a script has no spaces, a number stands beside letters that are no part of it."""
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
LATIN_WORD = re.compile(r"[A-Za-zÀ-ɏ]+(?:['’-][A-Za-zÀ-ɏ]+)*")
QUOTED = re.compile(r"[《「『]([^《》「」『』]{2,20})[》」』]")
YEARS = range(1000, 2100)
SHORTEST = 3  # letters of a name
CASED = {"LATIN", "GREEK", "CYRILLIC"}


@dataclass(frozen=True)
class Fact:
    """A number or name in a text.

    Attributes:
        start, end: its place, in characters.
        text: as it is written.
        shape: facts of equal shape can stand for each other: digits and separators of a number, words of a name.
    """

    start: int
    end: int
    text: str
    shape: str


def numbers(text: str, language: Language) -> list[Fact]:
    """The numbers of a text that are no part of a word, a date in digits, a range or a formula."""
    pattern = NUMBER if language.spaced else NUMBER_BESIDE_LETTERS
    return [Fact(*match.span(), match[0], _shape(match[0])) for match in pattern.finditer(text)]


def _shape(number: str) -> str:
    """`year`, or the digits as 0 of their script with the separators."""
    if number.isascii() and number.isdigit() and len(number) == 4 and int(number) in YEARS:
        return "year"
    return "".join(_zero(sign) for sign in number)


def _zero(sign: str) -> str:
    return chr(ord(sign) - unicodedata.digit(sign)) if sign.isdecimal() else sign


class Names:
    """Finds names by what a whole dataset shows: words that are capitalised within sentences and never small.

    Neighbouring capitalised words are one name ("New Holland") if one of them is such a word. Where nouns are
    capitalised, too (German), a name has at least two words. In scripts without capital letters names are what is in
    Latin letters, and titles in `《》`, `「」`, `『』`.

    Args:
        texts: of the dataset.
        language: of the texts.
    """

    def __init__(self, texts: Iterable[str], language: Language) -> None:
        self.language = language
        self._is_cased = not language.scripts or bool(CASED & set(language.scripts))
        self._word = WORD if self._is_cased else LATIN_WORD
        self._small: set[str] = set()
        self._capital: set[str] = set()
        for sentence in (sentence for text in texts for sentence in sentences(text, language)):
            for position, match in enumerate(self._word.finditer(sentence)):
                if not match[0][0].isupper():
                    self._small.add(match[0].lower())
                elif position or not self._is_cased:
                    self._capital.add(match[0])

    def of(self, text: str) -> list[Fact]:
        """The names of a text, in order."""
        titles = [] if self._is_cased else [Fact(*match.span(1), match[1], "title") for match in QUOTED.finditer(text)]
        inside = {place for fact in titles for place in range(fact.start, fact.end)}
        runs = (self._fact(text, run) for run in self._runs(text))
        return sorted([*titles, *(run for run in runs if run and run.start not in inside)], key=lambda fact: fact.start)

    def _runs(self, text: str) -> list[list[re.Match[str]]]:
        """The groups of capitalised words that follow one another."""
        runs: list[list[re.Match[str]]] = []
        end = -1
        for match in self._word.finditer(text):
            if match[0][0].isupper():
                if runs and runs[-1] and text[end : match.start()] == " ":
                    runs[-1].append(match)
                else:
                    runs.append([match])
                end = match.end()
        return runs

    def _fact(self, text: str, run: list[re.Match[str]]) -> Fact | None:
        """The name in a group of words; None if it holds none. Small words at its front begin the sentence."""
        while run and run[0][0].lower() in self._small:
            run = run[1:]
        fewest = 2 if self.language.name == "german" else 1
        if len(run) < fewest or not any(map(self._is_name, run)):
            return None
        start, end = run[0].start(), run[-1].end()
        return Fact(start, end, text[start:end], f"{len(run)} words")

    def _is_name(self, match: re.Match[str]) -> bool:
        word = match[0]
        return len(word) >= SHORTEST and word in self._capital and word.lower() not in self._small
