"""Whether a text is in a language: by the script of its letters, else by the commonest short words."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

from rag_evaluator.config.languages import LANGUAGES, Language
from rag_evaluator.prompts.pack import ENGLISH

WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
ENOUGH_WORDS, MANY_WORDS = 6, 25  # fewer words do not identify English, or another language
SCRIPT_SHARE = 0.5  # of the letters; the rest are names and labels
WORD_SHARE = 0.05  # of the words; languages have 0.15 to 0.4 of their own commonest words
LEAD = 1.25  # how much better another language must fit: relatives share words


LETTERS: Mapping[str, str] = {"persian": "پچژگ", "ukrainian": "іїєґ"}
"""Letters that only one of the languages with a script has; without them it is the other one."""
OWN_LETTERS, KANA = 0.005, 0.05  # share of the letters, of those that are in the script


def identified(texts: Iterable[str]) -> Language | None:
    """The language that most of the texts seem to be in; None where nothing tells.

    Only languages that `LANGUAGES` describes are known: others are taken for a relative, or for none.
    """
    text = "\n".join(texts)
    letters = Counter(letter for letter in text.lower() if letter.isalpha())
    scripts = Counter[str]()
    for letter, count in letters.items():
        scripts[script_of(letter)] += count
    if not scripts:
        return None
    asian = sum(scripts[script] for script in LANGUAGES["japanese"].scripts)
    script, count = scripts.most_common(1)[0]
    if asian > max(count, SCRIPT_SHARE * letters.total()):
        script = "CJK"
    if script == "LATIN":
        return _by_words(text)
    if script == "CJK" or script in LANGUAGES["japanese"].scripts:
        return LANGUAGES["japanese" if (scripts["HIRAGANA"] + scripts["KATAKANA"]) > KANA * asian else "chinese"]
    fitting = [language for language in LANGUAGES.values() if script in language.scripts]
    written_in = [name for name, signs in LETTERS.items() if sum(letters[sign] for sign in signs) > OWN_LETTERS * count]
    return next((language for language in fitting if language.name in written_in), None) or next(
        (language for language in fitting if language.name not in LETTERS), None
    )


def _by_words(text: str) -> Language | None:
    words = Counter(word.lower() for word in WORDS.findall(text))
    counts = {language: sum(words[word] for word in language.words) for language in _latin()}
    best = max(counts, key=lambda language: counts[language])
    second = max(count for language, count in counts.items() if language is not best)
    known = counts[best] >= max(2, WORD_SHARE * words.total()) and counts[best] > second
    return best if known else None


def foreign(text: str, language: Language) -> str | None:
    """Why a text seems not to be in a language; None if it may be.

    A few words may be in any language, some more in any but English, and so may texts in a language that `LANGUAGES`
    does not describe.
    """
    if language.scripts and language.scripts != ("LATIN",):
        return _foreign_script(text, language)
    words = [word.lower() for word in WORDS.findall(text)]
    if len(words) < ENOUGH_WORDS:
        return None
    rivals = _latin() if language.words and len(words) >= MANY_WORDS else [LANGUAGES[ENGLISH]]
    counts = {rival.name: sum(word in rival.words for word in words) for rival in rivals}
    best = max(counts, key=lambda name: counts[name])
    count = sum(word in language.words for word in words)
    clear = counts[best] > LEAD * count and counts[best] > max(1, WORD_SHARE * len(words))
    return f"it reads like {best}" if clear and best != language.name else None


def unlike(text: str, language: Language) -> str | None:
    """`foreign` for a long text, in which the language's own commonest words must be found, too."""
    words = [word.lower() for word in WORDS.findall(text)]
    if language.words and sum(word in language.words for word in words) < WORD_SHARE * len(words):
        return foreign(text, language) or f"it has hardly a common word of {language.name}"
    return foreign(text, language)


def _foreign_script(text: str, language: Language) -> str | None:
    letters = Counter(script_of(letter) for letter in text if letter.isalpha())
    total = sum(letters.values())
    if not total:
        return None
    share = sum(letters[script] for script in language.scripts) / total
    if share < SCRIPT_SHARE and len(WORDS.findall(text)) >= ENOUGH_WORDS:
        return f"{share:.0%} of its letters are {' or '.join(language.scripts)}"
    kana = letters["HIRAGANA"] / total
    if language.name == "chinese" and kana > 0.05:
        return "it reads like japanese"
    if language.name == "japanese" and total > 30 and kana < 0.05:
        return "it reads like chinese"
    return None


def script_of(letter: str) -> str:
    """First word of a letter's Unicode name: `LATIN`, `CJK`, `HANGUL`."""
    return unicodedata.name(letter, "NONE").partition(" ")[0].partition("-")[0]


def _latin() -> list[Language]:
    return [language for language in LANGUAGES.values() if language.words]
