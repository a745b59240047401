"""The numbers and names in a text: what can be replaced so that a true statement becomes a wrong one."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from rag_evaluator.languages import Language, sentences
from rag_evaluator.tasks.probe.words import CALENDAR, NOUNS, is_bound, is_noun

GROUPS = r"\d+(?:[.,٫٬]\d+|[ \u00a0\u202f]\d{3}(?!\d))*"
NUMBER = re.compile(rf"(?<![\w.,:/+–-]){GROUPS}(?!\w|[.,:/–-]\d)")
NUMBER_BESIDE_LETTERS = re.compile(rf"(?<![A-Za-z\d_.,:/+–-]){GROUPS}(?![A-Za-z\d]|[.,:/–-]\d)")
"""In scripts other than Latin, Greek and Cyrillic a number stands beside letters that are no part of it."""
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
LATIN_WORD = re.compile(r"[A-Za-zÀ-ɏ]+(?:['’-][A-Za-zÀ-ɏ]+)*")
QUOTED = re.compile(r"[《「『]\s*([^《》「」『』]{2,20}?)\s*[」』》]")
ATTACHED_BEFORE = re.compile(r"[A-Za-z0-9/&@_.–-]$|\d\s$")
ATTACHED_AFTER = re.compile(r"[A-Za-z0-9/&@_–-]|\.\w|,? ?\d")
"""A name that touches these is part of something longer: a code, a date, a name with a number."""
YEARS = range(1000, 2100)
MONTH, DAY = 12, 31  # numbers up to these stand for each other: a day stays a day
DECADE = 10
NEAR = 0.8  # a number that is nearer to another than this ratio may be the same, rounded
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
    """The numbers of a text that are no part of a word, a date in digits, a range or a formula, and no bound."""
    pattern = NUMBER if is_cased(language) else NUMBER_BESIDE_LETTERS
    matches = (match for match in pattern.finditer(text) if not is_bound(text, match.start(), match.end()))
    return [Fact(*match.span(), match[0], _shape(match[0])) for match in matches]


def is_cased(language: Language) -> bool:
    """Whether its script has capital letters; of unknown languages this is assumed."""
    return not language.scripts or bool(CASED & set(language.scripts))


def are_near(first: str, second: str) -> bool:
    """Whether two numbers of one shape could be taken for one another: rounded, or years of one decade."""
    low, high = sorted(int("".join(filter(str.isdecimal, text))) for text in (first, second))
    if _is_year(first):
        return high - low < DECADE
    return low == high or (high > MONTH and low > NEAR * high)


def _shape(number: str) -> str:
    """What the number may be, a year or a day, or its digits as 0 with the separators; and the zero of its script."""
    zero = next(_zero(sign) for sign in number)
    if _is_year(number):
        return f"{zero} year"
    if number.isdecimal() and 0 < int(number) <= DAY and len(number) == len(str(int(number))):
        return f"{zero} {'month' if int(number) <= MONTH else 'day'}"
    return "".join(map(_zero, number))


def _is_year(number: str) -> bool:
    return number.isdecimal() and len(number) == len("2000") and int(number) in YEARS


def _zero(sign: str) -> str:
    return chr(ord(sign) - unicodedata.digit(sign)) if sign.isdecimal() else sign


class Names:
    """Finds names by what a whole dataset shows: words that are capitalised within sentences and never small.

    Neighbouring capitalised words are one name ("New Holland") if one of them is such a word; the initials of a person
    belong to it. Where nouns are capitalised, too (German), a name has at least two words, none of which is known as a
    noun. In scripts without capital letters names are what is in Latin letters, and titles in `《》` and `「」`. What
    is in brackets is no name here: often it says the same in another way.

    Args:
        texts: of the dataset.
        language: of the texts.
    """

    def __init__(self, texts: Iterable[str], language: Language) -> None:
        self.language = language
        self._is_cased = is_cased(language)
        self._word = WORD if self._is_cased else LATIN_WORD
        self._fewest = 2 if language.name in NOUNS else 1
        self._small: set[str] = set()
        self._capital: set[str] = set()
        self._pairs: set[tuple[str, str]] = set()
        self._nouns: set[str] = set()
        for text in texts:
            for sentence in sentences(text, language):
                self._learn(sentence)

    def _learn(self, sentence: str) -> None:
        """Note which words are small, which are capitalised within a sentence, and which are nouns."""
        before = ""
        for position, match in enumerate(self._word.finditer(sentence)):
            word = match[0]
            if not word[0].isupper():
                self._small.add(word.lower())
            elif position or not self._is_cased:
                self._capital.add(word)
                self._pairs.add((before, word))
                if is_noun(word, before, self.language):
                    self._nouns.add(word)
            before = word if position else ""

    def of(self, text: str) -> list[Fact]:
        """The names of a text, in order."""
        titles = [] if self._is_cased else [Fact(*match.span(1), match[1], "title") for match in QUOTED.finditer(text)]
        inside = {place for fact in titles for place in range(fact.start, fact.end)}
        runs = (self._fact(text, run) for run in self._runs(text))
        return sorted([*titles, *(run for run in runs if run and run.start not in inside)], key=lambda fact: fact.start)

    def _runs(self, text: str) -> list[list[re.Match[str]]]:
        """The groups of capitalised words that follow one another."""
        runs: list[list[re.Match[str]]] = []
        for match in self._word.finditer(text):
            if not match[0][0].isupper():
                continue
            last = runs[-1][-1] if runs else None
            between = "" if last is None else text[last.end() : match.start()]
            if last is not None and (between == " " or (between == ". " and len(last[0]) == 1)):
                runs[-1].append(match)
            else:
                runs.append([match])
        return runs

    def _fact(self, text: str, run: list[re.Match[str]]) -> Fact | None:
        """The name in a group of words; None if it holds none."""
        while run and not self._can_begin(*run[:2]):
            run = run[1:]
        if len(run) < self._fewest or len(run[-1][0]) == 1 or not any(map(self._is_name, run)):
            return None
        start, end = run[0].start(), run[-1].end() - _possessive(run[-1][0])
        if any(match[0] in self._nouns for match in run) or _is_part(text, start, end):
            return None
        return Fact(start, end, text[start:end], f"{len(run)} words")

    def _can_begin(self, first: re.Match[str], second: re.Match[str] | None = None) -> bool:
        """Whether a name may begin with a word: it is no small one that only begins the sentence."""
        if second is not None and (first[0], second[0]) in self._pairs:
            return True
        return first[0].lower() not in self._small and (len(first[0]) == 1 or first[0] in self._capital)

    def _is_name(self, match: re.Match[str]) -> bool:
        word = match[0]
        return (
            len(word) >= SHORTEST
            and word in self._capital
            and word.lower() not in self._small
            and word not in CALENDAR.get(self.language.name, ())
        )


def _possessive(word: str) -> int:
    """How many signs at the end of a word say whose something is."""
    return 2 if word.endswith(("'s", "’s")) else 0


def _is_part(text: str, start: int, end: int) -> bool:
    """Whether a name is in brackets, or part of something longer."""
    opened = sum(text.count(sign, 0, start) for sign in "(（[") - sum(text.count(sign, 0, start) for sign in ")）]")
    return opened > 0 or bool(ATTACHED_BEFORE.search(text[:start]) or ATTACHED_AFTER.match(text, end))
