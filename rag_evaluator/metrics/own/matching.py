"""Whether two contexts hold the same text: equal after normalisation, or with enough character n-grams in common."""

import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache

LETTERS = 5
"""Length of n-grams. Unrelated paragraphs of XQuAD (en, es, de, zh) share at most 0.39 of those of the shorter text,
with three letters up to 0.78; halves of a paragraph, alone or followed by other text, share 0.67 and more with it."""

REMEMBERED = 256  # texts: more than a row has; the n-grams of a long one take some hundred kilobytes


@lru_cache(maxsize=REMEMBERED)
def normalised(text: str) -> str:
    """Without differences of case, width, white space, punctuation and invisible characters."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    signs = [(sign, unicodedata.category(sign)) for sign in folded]
    plain = "".join(" " if kind[0] == "P" else sign for sign, kind in signs if kind != "Cf")
    return " ".join(plain.split() or folded.split())


@lru_cache(maxsize=REMEMBERED)
def _ngrams(text: str) -> frozenset[str]:
    return frozenset(text[start : start + LETTERS] for start in range(len(text) - LETTERS + 1))


def equality(first: str, second: str) -> float:
    """1 if the normalised texts are equal, else 0."""
    return float(normalised(first) == normalised(second))


def overlap(first: str, second: str) -> float:
    """Share of the n-grams of one normalised text that the other has, of the one that has fewer, [0, 1].

    This is the overlap coefficient (Szymkiewicz-Simpson): a piece of a text matches the whole, and the whole the piece.
    Texts shorter than an n-gram have 1 where they are equal, else 0.
    """
    fewer, more = sorted((_ngrams(normalised(text)) for text in (first, second)), key=len)
    return len(fewer & more) / len(fewer) if fewer else equality(first, second)


SIMILARITIES: Mapping[str, Callable[[str, str], float]] = {"exact": equality, "overlap": overlap}
"""`retrieval.match` -> how alike two texts are, [0, 1]; they match from the threshold `retrieval.overlap` on."""
