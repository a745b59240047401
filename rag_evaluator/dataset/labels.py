"""What a cell says as a label that a person gave: a number, or a word that accepts or rejects."""

import json
import math
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag_evaluator.files import Json

LABEL_EXPECTED = (
    "Expected a number (0 or 1, or a grade), a word such as yes, no, pass, fail, correct, incorrect; or nothing."
)
LABEL_WORDS: Mapping[str, Json] = json.loads(Path(__file__).with_name("label_words.json").read_bytes())
"""Language -> `accept` and `reject`: words with which people answer; label sheets offer the first of each."""


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip().rstrip(".!").casefold()


NUMBERS = {
    _folded(word): number
    for words in LABEL_WORDS.values()
    for number, group in ((1.0, words["accept"]), (0.0, words["reject"]))
    for word in group
}


def is_word(cell: Any) -> bool:
    """Whether a cell holds one of the words. Any: JSON."""
    return isinstance(cell, str) and _folded(cell) in NUMBERS


def label_of(cell: Any) -> float:
    """The number of a cell that is not blank: 1 for a word that accepts, 0 for one that rejects. Any: JSON.

    Raises `ValueError` for anything else.
    """
    if not isinstance(cell, str | int | float):
        raise ValueError("neither a number nor a word")
    number = NUMBERS[_folded(cell)] if isinstance(cell, str) and is_word(cell) else float(cell)
    if not math.isfinite(number):
        raise ValueError("no number")
    return number
