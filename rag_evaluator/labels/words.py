"""What a cell of a label table may say: a number, or a word that accepts or rejects."""

import math
import unicodedata
from collections.abc import Mapping
from typing import Any, NamedTuple

from rag_evaluator.dataset import is_blank


class Words(NamedTuple):
    """Words of one language; the first of each is the one that label sheets offer."""

    accept: tuple[str, ...]
    reject: tuple[str, ...]


WORDS: Mapping[str, Words] = {
    "english": Words(
        ("yes", "true", "pass", "correct", "right", "good", "y"),
        ("no", "false", "fail", "incorrect", "wrong", "bad", "n"),
    ),
    "arabic": Words(("نعم", "صحيح", "صواب"), ("لا", "خطأ", "خاطئ")),
    "chinese": Words(("是", "对", "正确", "通过"), ("否", "错", "错误", "不通过")),
    "french": Words(("oui", "vrai", "correct", "juste"), ("non", "faux", "incorrect")),
    "german": Words(("ja", "wahr", "richtig", "bestanden"), ("nein", "falsch", "nicht bestanden")),
    "hindi": Words(("हाँ", "हां", "सही"), ("नहीं", "ग़लत", "गलत")),
    "italian": Words(("sì", "si", "vero", "corretto", "giusto"), ("no", "falso", "errato", "sbagliato")),
    "japanese": Words(("はい", "正しい", "合格"), ("いいえ", "正しくない", "誤り", "不合格")),
    "korean": Words(("예", "네", "맞음", "참"), ("아니요", "아니오", "틀림", "거짓")),
    "portuguese": Words(("sim", "verdadeiro", "correto", "certo"), ("não", "nao", "falso", "incorreto", "errado")),
    "spanish": Words(("sí", "si", "verdadero", "correcto"), ("no", "falso", "incorrecto")),
}


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip().rstrip(".!").casefold()


NUMBERS = {
    _folded(word): number
    for words in WORDS.values()
    for number, group in ((1.0, words.accept), (0.0, words.reject))
    for word in group
}
EXPECTED = (
    "Expected a number (0 or 1, or a grade) or a word such as yes, no, pass, fail, correct, incorrect; or nothing."
)


def is_word(cell: Any) -> bool:
    """Whether a cell holds one of the words. Any: JSON."""
    return isinstance(cell, str) and _folded(cell) in NUMBERS


def label_of(cell: Any) -> float:
    """The number of a cell: 1 for a word that accepts, 0 for one that rejects, NaN for a blank. Any: JSON.

    Raises `ValueError` for anything else.
    """
    if is_blank(cell):
        return math.nan
    if isinstance(cell, str):
        word = _folded(cell)
        number = NUMBERS[word] if word in NUMBERS else float(word)
    elif isinstance(cell, int | float):
        number = float(cell)
    else:
        raise ValueError("neither a number nor a word")
    if not math.isfinite(number):
        raise ValueError("no number")
    return number
