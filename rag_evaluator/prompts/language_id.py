"""Language identification: which of the known languages a text is in, where that is sure."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

from rag_evaluator.config import LANGUAGES, Language

from .pack import ENGLISH

WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
ENOUGH_WORDS = 6  # fewer words may be the same in two languages
SURE = 0.9  # probability from which on a text is said to be in a language
LONGEST = 1000  # characters that are looked at: the probability of py3langid falls with the length


@cache
def _identifier() -> Any:
    """The model of py3langid, restricted to `LANGUAGES`. Any: it has no types."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([language.codes[0] for language in LANGUAGES.values()])
    return identifier


def identified(texts: Iterable[str]) -> Language | None:
    """The language that most of the texts are in, else that of all together; None where nothing is sure.

    Only languages that `LANGUAGES` describes are known: others are taken for a relative, or for none.
    """
    texts = list(texts)
    votes = Counter(language.name for text in texts if (language := _language_of(text)))
    return LANGUAGES[votes.most_common(1)[0][0]] if votes else _language_of("\n".join(texts))


def _language_of(text: str) -> Language | None:
    code, probability = _identifier().classify(text[:LONGEST])
    if probability < SURE:
        return None
    return next(language for language in LANGUAGES.values() if language.codes[0] == code)


def foreign(text: str, language: Language, is_long: bool = False) -> str | None:
    """Why a text seems not to be in a language; None if it may be.

    A text in a language that `LANGUAGES` does not describe may be in any but English. A long one must be recognised in
    the others.
    """
    reads_like = _language_of(text)
    if is_long and reads_like is None and language.name in LANGUAGES:
        return f"it is not recognised as {language.name}"
    rivals = LANGUAGES if language.name in LANGUAGES else [ENGLISH]
    if reads_like is None or reads_like.name == language.name or reads_like.name not in rivals:
        return None
    return f"it reads like {reads_like.name}"
