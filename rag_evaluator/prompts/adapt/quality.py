"""What makes a translation doubtful: some doubts refuse it, all are listed for a reader."""

import re
from typing import NamedTuple

from rag_evaluator.languages import Language
from rag_evaluator.prompts.fields import QUOTED_NAME, lost
from rag_evaluator.prompts.language_id import ENOUGH_WORDS, WORDS, foreign

REPEATED = re.compile(r"(\S.{0,60}?)\1{3,}", re.DOTALL)  # four times in a row
STRANGE, ABSURD = 2.2, 5.0  # times longer or shorter than translations are
FEW_CHARACTERS = 20  # too few to judge the length


class Doubt(NamedTuple):
    """Why a translation is doubtful; `fatal` if the English text is better than it."""

    reason: str
    fatal: bool


def doubts(text: str, translation: str, language: Language, labels: frozenset[str]) -> list[Doubt]:
    """Doubts about the translation of an English text; none if it seems good."""
    if not translation.strip():
        return [Doubt("it is empty", True)]
    noticed = []
    if (repeated := REPEATED.search(translation)) and not REPEATED.search(text):
        noticed.append(Doubt(f"it repeats {repeated[1]!r:.40}", True))
    if gone := lost(text, translation, labels):
        noticed.append(Doubt(f"lost: {', '.join(gone)}", True))
    noticed += _length(text, translation, language)
    if translation == text and len(WORDS.findall(text)) >= ENOUGH_WORDS:
        noticed.append(Doubt("left in English", False))
    elif why := foreign(translation, language):
        noticed.append(Doubt(why, False))
    if renamed := [name for name in QUOTED_NAME.findall(text) if name not in translation]:
        noticed.append(Doubt(f"names in quotes changed: {', '.join(renamed)}", False))
    return noticed


def _length(text: str, translation: str, language: Language) -> list[Doubt]:
    if len(text) < FEW_CHARACTERS:
        return []
    ratio = len(translation) / (len(text) * language.density)
    off = max(ratio, 1 / ratio)
    message = f"{'longer' if ratio > 1 else 'shorter'} than expected, {off:.1f} times"
    return [Doubt(message, off > ABSURD)] if off > STRANGE else []
