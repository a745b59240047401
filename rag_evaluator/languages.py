"""The languages known by name: how users may write them, and how prompt packs are named."""

import unicodedata
from dataclasses import dataclass

from rag_evaluator.errors import ConfigError


@dataclass(frozen=True)
class Language:
    """A language: its English name (used in pack names), codes and native name.

    Attributes:
        name: lower-case English name, as ragas writes it (`spanish`).
        codes: ISO 639-1 and 639-2/3 codes.
        native: the language's own name, lower case.
    """

    name: str
    codes: tuple[str, ...]
    native: str


LANGUAGES = {
    language.name: language
    for language in (
        Language("arabic", ("ar", "ara"), "العربية"),
        Language("bengali", ("bn", "ben"), "বাংলা"),
        Language("catalan", ("ca", "cat"), "català"),
        Language("chinese", ("zh", "zho", "chi", "cmn"), "中文"),
        Language("czech", ("cs", "ces", "cze"), "čeština"),
        Language("danish", ("da", "dan"), "dansk"),
        Language("dutch", ("nl", "nld", "dut"), "nederlands"),
        Language("english", ("en", "eng"), "english"),
        Language("finnish", ("fi", "fin"), "suomi"),
        Language("french", ("fr", "fra", "fre"), "français"),
        Language("german", ("de", "deu", "ger"), "deutsch"),
        Language("greek", ("el", "ell", "gre"), "ελληνικά"),
        Language("hebrew", ("he", "heb"), "עברית"),
        Language("hindi", ("hi", "hin"), "हिन्दी"),
        Language("hungarian", ("hu", "hun"), "magyar"),
        Language("indonesian", ("id", "ind"), "bahasa indonesia"),
        Language("italian", ("it", "ita"), "italiano"),
        Language("japanese", ("ja", "jpn"), "日本語"),
        Language("korean", ("ko", "kor"), "한국어"),
        Language("norwegian", ("no", "nor", "nb", "nob"), "norsk"),
        Language("persian", ("fa", "fas", "per"), "فارسی"),
        Language("polish", ("pl", "pol"), "polski"),
        Language("portuguese", ("pt", "por"), "português"),
        Language("romanian", ("ro", "ron", "rum"), "română"),
        Language("russian", ("ru", "rus"), "русский"),
        Language("spanish", ("es", "spa"), "español"),
        Language("swedish", ("sv", "swe"), "svenska"),
        Language("thai", ("th", "tha"), "ไทย"),
        Language("turkish", ("tr", "tur"), "türkçe"),
        Language("ukrainian", ("uk", "ukr"), "українська"),
        Language("vietnamese", ("vi", "vie"), "tiếng việt"),
    )
}
_BY_ALIAS = {
    alias: language for language in LANGUAGES.values() for alias in (language.name, language.native, *language.codes)
}


def find_language(name: str) -> Language:
    """The language meant by a name, a code (`es`, `spa`) or a native name (`español`).

    An unknown name is taken as it is, so that packs of any language can be used. Raises `ConfigError` for one that
    could lead out of the prompts folder.
    """
    key = unicodedata.normalize("NFC", name.strip().lower())
    if not key or any(unicodedata.category(letter)[0] not in "LMN" for letter in key if letter not in " _-"):
        raise ConfigError(
            f"language is {name!r}: expected a name of letters, digits, blanks, '_' and '-', such as 'spanish' or 'es'."
        )
    return _BY_ALIAS.get(key) or Language(key.replace(" ", "_"), (), key)
