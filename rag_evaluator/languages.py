"""The languages known by name: how users may write them, how packs are named, how texts are identified and divided."""

import difflib
import re
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
        scripts: first words of its letters' Unicode names (`LATIN`, `CJK`); unknown languages have none.
        words: its commonest short words, lower case; only where the script is shared by many languages.
        spaced: whether there are spaces between sentences.
        density: characters of a text, as a share of the characters of its English source; about.
        aliases: other names that are understood, lower case.
    """

    name: str
    codes: tuple[str, ...]
    native: str
    scripts: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    spaced: bool = True
    density: float = 1.0
    aliases: tuple[str, ...] = ()


def _latin(name: str, codes: tuple[str, ...], native: str, words: str, aliases: tuple[str, ...] = ()) -> Language:
    return Language(name, codes, native, ("LATIN",), frozenset(words.split()), density=1.1, aliases=aliases)


LANGUAGES = {
    language.name: language
    for language in (
        Language("arabic", ("ar", "ara"), "العربية", ("ARABIC",), density=0.85, aliases=("عربي", "عربية")),
        Language("bengali", ("bn", "ben"), "বাংলা", ("BENGALI",), aliases=("bangla",)),
        _latin("catalan", ("ca", "cat"), "català", "el els les del dels i un una per amb és es va que en la de no al"),
        Language(
            "chinese",
            ("zh", "zho", "chi", "cmn"),
            "中文",
            ("CJK",),
            spaced=False,
            density=0.33,
            aliases=(
                "mandarin",
                "simplified chinese",
                "汉语",
                "漢語",
                "普通话",
                "简体中文",
                "繁體中文",
            ),
        ),
        _latin(
            "czech",
            ("cs", "ces", "cze"),
            "čeština",
            "a je v na se že z do s o byl jako pro by není to od při která který",
        ),
        _latin(
            "danish", ("da", "dan"), "dansk", "og er i på at det den en et af til med for der ikke var som har blev de"
        ),
        _latin(
            "dutch",
            ("nl", "nld", "dut"),
            "nederlands",
            "de het en een van is in dat te op niet met voor zijn die door werd als of aan",
            ("flemish", "vlaams"),
        ),
        _latin(
            "english",
            ("en", "eng"),
            "english",
            "the of and is in to that was it with not are by for if from or as be this",
        ),
        _latin(
            "finnish",
            ("fi", "fin"),
            "suomi",
            "ja on ei se että oli hän joka kun tai mukaan myös sen ole kuin olevan voidaan jos",
        ),
        _latin(
            "french",
            ("fr", "fra", "fre"),
            "français",
            "le les des du et un une par avec est se que en la de ne pas il dans au",
        ),
        _latin(
            "german",
            ("de", "deu", "ger"),
            "deutsch",
            "der die das und ist in den von zu mit ein eine nicht wurde des dem im auf er wenn",
        ),
        Language("greek", ("el", "ell", "gre"), "ελληνικά", ("GREEK",), density=1.1, aliases=("modern greek",)),
        Language("hebrew", ("he", "heb", "iw"), "עברית", ("HEBREW",), density=0.8),
        Language("hindi", ("hi", "hin"), "हिन्दी", ("DEVANAGARI",)),
        _latin(
            "hungarian",
            ("hu", "hun"),
            "magyar",
            "a az és hogy nem is egy volt van meg ha vagy mint szerint amely ez azt",
        ),
        _latin(
            "indonesian",
            ("id", "ind"),
            "bahasa indonesia",
            "yang dan di dari adalah pada untuk dengan tidak ini dalam itu oleh jika atau sebagai ke",
            ("bahasa",),
        ),
        _latin(
            "italian", ("it", "ita"), "italiano", "il lo gli del della e un una per con è si che in la di non le nel da"
        ),
        Language("japanese", ("ja", "jpn"), "日本語", ("HIRAGANA", "KATAKANA", "CJK"), spaced=False, density=0.45),
        Language("korean", ("ko", "kor"), "한국어", ("HANGUL",), density=0.5),
        _latin(
            "norwegian",
            ("no", "nor", "nb", "nob"),
            "norsk",
            "og er i på at det den en et av til med for som ikke var har ble de om",
            ("bokmål", "norsk bokmål"),
        ),
        Language("persian", ("fa", "fas", "per"), "فارسی", ("ARABIC",), density=0.9, aliases=("farsi",)),
        _latin(
            "polish", ("pl", "pol"), "polski", "i w z na że do nie jest się o to od przez był jak dla oraz lub po jeśli"
        ),
        _latin(
            "portuguese",
            ("pt", "por"),
            "português",
            "o os as do da e um uma por com é se foi que em a de não no na",
            ("brazilian portuguese", "português brasileiro", "português do brasil"),
        ),
        _latin(
            "romanian",
            ("ro", "ron", "rum"),
            "română",
            "și în de la cu pe este un o nu că din care a al sau pentru fost dacă",
        ),
        Language("russian", ("ru", "rus"), "русский", ("CYRILLIC",), density=1.1),
        _latin(
            "spanish",
            ("es", "spa"),
            "español",
            "el los las del y un una por con es se fue que en la de no si su al",
            ("castellano", "castilian"),
        ),
        _latin(
            "swedish",
            ("sv", "swe"),
            "svenska",
            "och är i på att det den en ett av till med för som inte var har blev de om",
        ),
        Language("thai", ("th", "tha"), "ไทย", ("THAI",), density=0.9),
        _latin(
            "turkish",
            ("tr", "tur"),
            "türkçe",
            "ve bir bu için ile de da olarak olan değil ne en çok gibi daha eğer veya göre",
        ),
        Language("ukrainian", ("uk", "ukr"), "українська", ("CYRILLIC",), density=1.1),
        _latin(
            "vietnamese",
            ("vi", "vie"),
            "tiếng việt",
            "và là của có không được trong một cho các với những đã người này khi nếu về từ",
        ),
    )
}
SCRIPTS = frozenset("arab beng cyrl deva grek hang hani hans hant hebr jpan kore latn thai".split())  # ISO 15924


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


def nearest_language(name: str) -> str | None:
    """The known language that an unknown name may be a misspelling of; None for a known name, or where none is near."""
    if find_language(name).name in LANGUAGES:
        return None
    near = difflib.get_close_matches(_folded(_key(name)), [*map(_folded, _NAMES)], n=1, cutoff=0.8)
    return _BY_ALIAS[near[0]].name if near else None


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name.strip().lower())


def _by_tag(key: str) -> Language | None:
    """The language of a tag of BCP 47 with script or region: `pt-br`, `es_419`, `zh-hans-cn`."""
    code, *others = key.replace("_", "-").split("-")
    is_tag = bool(others) and all(re.fullmatch(r"[a-z]{2}|[0-9]{3}", part) or part in SCRIPTS for part in others)
    return _CODES.get(code) if is_tag else None


INITIAL = re.compile(r"(?<![^\W_])[^\W\d_]\.\s*$")  # 'J. Smith', '70 d. C.': no sentence ends there


def sentences(text: str, language: Language) -> list[str]:
    """The sentences of a text, each with the spaces that follow it: joined they are the text.

    A language that is not known is divided as English.
    """
    from sentencex import segment

    found: list[str] = []
    for part in segment(language.codes[0] if language.codes else "en", text):
        if found and INITIAL.search(found[-1]):
            found[-1] += part
        else:
            found.append(part)
    return found
