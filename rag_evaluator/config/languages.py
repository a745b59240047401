"""The languages known by name: how users may write them, how packs are named, how texts are identified and divided."""

import difflib
import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from rag_evaluator.errors import ConfigError
from rag_evaluator.resources import PACKAGE

SCRIPTS = frozenset("arab beng cyrl deva grek hang hani hans hant hebr jpan kore latn thai".split())  # ISO 15924
UNSPACED = frozenset({"CJK", "HIRAGANA", "KATAKANA", "THAI"})  # no spaces between words
INITIAL = re.compile(r"(?<![^\W_])[^\W\d_]\.\s*$")  # 'J. Smith', '70 d. C.': no sentence ends there


@dataclass(frozen=True)
class Language:
    """A language: its English name (used in pack names), codes and native name.

    Attributes:
        name: lower-case English name, as ragas writes it (`spanish`).
        codes: ISO 639-1 and 639-2/3 codes.
        native: the language's own name, lower case.
        scripts: first words of its letters' Unicode names (`LATIN`, `CJK`); unknown languages have none.
        spaced: whether there are spaces between sentences.
        density: characters of a text, as a share of the characters of its English source; about.
        aliases: other names that are understood, lower case.
    """

    name: str
    codes: tuple[str, ...]
    native: str
    scripts: tuple[str, ...] = ()
    spaced: bool = True
    density: float = 1.0
    aliases: tuple[str, ...] = ()


def _read(line: str) -> Language:
    """Any: JSON."""
    row: dict[str, Any] = json.loads(line)
    parts: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    return Language(**parts)


LANGUAGES = {
    language.name: language
    for language in map(_read, (PACKAGE / "config" / "languages.jsonl").read_text(encoding="utf-8").splitlines())
}
"""The rows of `languages.jsonl`."""


def _folded(name: str) -> str:
    """Without accents, as a keyboard that lacks them writes it: `espanol`."""
    letters = unicodedata.normalize("NFD", name)
    return unicodedata.normalize("NFC", "".join(letter for letter in letters if unicodedata.category(letter) != "Mn"))


_NAMES = {
    alias: language for language in LANGUAGES.values() for alias in (language.name, language.native, *language.aliases)
}
_CODES = {code: language for language in LANGUAGES.values() for code in language.codes}
_BY_ALIAS = {_folded(name): language for name, language in _NAMES.items()} | _NAMES | _CODES


def find_language(name: str) -> Language:
    """The language meant by a name, a native name (`español`), or a code with or without region (`es`, `spa`, `es-MX`).

    An unknown name is taken as it is, so that packs of any language can be used. Raises `ConfigError` for one that
    could lead out of the prompts folder.
    """
    key = _key(name)
    if not key or any(unicodedata.category(letter)[0] not in "LMN" for letter in key if letter not in " _-"):
        raise ConfigError(
            f"language is {name!r}: expected a name of letters, digits, spaces, '_' and '-', such as 'spanish' or 'es'."
        )
    known = _BY_ALIAS.get(key) or _BY_ALIAS.get(key.replace("_", " ")) or _by_tag(key)
    return known or Language(file_name(name), (), key)


def file_name(name: str) -> str:
    """How a name as it was written would be used in the names of packs."""
    return _key(name).replace(" ", "_")


def misspelt(name: str) -> str:
    """A question to the user where an unknown name is near a known language; else empty."""
    if find_language(name).name in LANGUAGES:
        return ""
    near = difflib.get_close_matches(_folded(_key(name)), [*map(_folded, _NAMES)], n=1, cutoff=0.8)
    return f"language '{name}' is not known. Did you mean '{_BY_ALIAS[near[0]].name}'?" if near else ""


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name.strip().lower())


def _by_tag(key: str) -> Language | None:
    """The language of a tag of BCP 47 with script or region: `pt-br`, `es_419`, `zh-hans-cn`."""
    code, *subtags = key.replace("_", "-").split("-")
    is_tag = bool(subtags) and all(re.fullmatch(r"[a-z]{2}|[0-9]{3}", part) or part in SCRIPTS for part in subtags)
    return _CODES.get(code) if is_tag else None


def sentences(text: str, language: Language) -> list[str]:
    """The sentences of a text, each with the spaces that follow it: joined they are the text.

    A language that is not known is divided as English.
    """
    from sentencex import segment

    parts: list[str] = []
    for part in segment(language.codes[0] if language.codes else "en", text):
        if parts and INITIAL.search(parts[-1]):
            parts[-1] += part
        else:
            parts.append(part)
    return parts


def sentences_of(text: str, language: Language) -> list[str]:
    """The sentences of a text, in order, without spaces around them; what has no letter and no digit is none."""
    stripped = map(str.strip, sentences(text, language))
    return [sentence for sentence in stripped if any(map(str.isalnum, sentence))]
