"""The words of a text in any script, and its runs of letters: what two texts are compared by."""

import re
import unicodedata
from functools import lru_cache

_DENSE = "\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"  # kana, Han, Hangul
IN_DENSE = re.compile(f"[{_DENSE}]")
PART_OF_WORD = re.compile(rf"\d+|[{_DENSE}]+|[^\s\d{_DENSE}]+")
BEGINS_ANYWHERE = re.compile(f"[{_DENSE}\u0590-\u06ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
"""Scripts that write no spaces, or a conjunction, a preposition and an article as one word with the name."""
_VOWEL_SIGNS = (
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4"
    "\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u0898-\u089f\u08ca-\u08e1\u08e3-\u08ff"
)
OPTIONAL = re.compile(f"[{_VOWEL_SIGNS}\u0640]")
"""Marks that Arabic, Hebrew and Syriac may leave out, and the line that makes a word longer."""
SILENT = re.compile(f"[{_VOWEL_SIGNS}\u0640\u0300-\u036f\u00ad\u200b-\u200f\u093c]")
"""And accents, the dot of foreign letters in Hindi, and what is not seen."""
ONE_ALPHABET = str.maketrans(
    "абвгдезијклмнопрстћуфхцчшжђљњџıłøđ٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९",
    "abvgdezijklmnoprstcufhccszdǉǌǳilod012345678901234567890123456789",
)
"""Serbian is written in two alphabets, and a number in the digits of its script or in others."""
REMEMBERED = 256  # texts: more than a row has; those of many rows with long contexts would fill the memory


@lru_cache(maxsize=REMEMBERED)
def words(text: str) -> str:
    """Letters, marks and digits of a text, in words, in small letters but for a first capital.

    Accents, optional vowel signs and what is not seen are left out; Cyrillic letters are Latin ones.
    """
    bare = unicodedata.normalize("NFC", SILENT.sub("", unicodedata.normalize("NFKD", text)))
    spaced = "".join(sign if sign.isalnum() or unicodedata.category(sign)[0] == "M" else " " for sign in bare)
    parts = PART_OF_WORD.findall(spaced)
    small = [unicodedata.normalize("NFKC", part.casefold().translate(ONE_ALPHABET)) for part in parts]
    return " ".join(new.capitalize() if old[0].isupper() else new for old, new in zip(parts, small, strict=True))


@lru_cache(maxsize=REMEMBERED)
def normalised(text: str) -> str:
    """The words of a text as one, in small letters."""
    return words(text).casefold().replace(" ", "")


def as_whole(text: str) -> str:
    """What equal texts have in common: all signs, but for case, spaces, optional vowel signs and a last full stop."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    signs = OPTIONAL.sub("", folded).replace("i\u0307", "i")  # of the Turkish capital
    return re.sub(r" ?[.。।۔]$", "", " ".join(signs.split()))


def grams(plain: str, size: int) -> list[str]:
    """All runs of so many letters of a normalised text; of a shorter one the whole."""
    return [plain[start : start + size] for start in range(max(1, len(plain) - size + 1))]
