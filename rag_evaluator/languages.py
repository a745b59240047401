"""The languages known by name: how users may write them, how packs are named, how their text is told and divided."""

import itertools
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
        spaced: whether blanks stand between sentences.
        density: characters of a text, as a share of the characters of its English source; about.
    """

    name: str
    codes: tuple[str, ...]
    native: str
    scripts: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    spaced: bool = True
    density: float = 1.0


def _latin(name: str, codes: tuple[str, ...], native: str, words: str) -> Language:
    return Language(name, codes, native, ("LATIN",), frozenset(words.split()), density=1.1)


LANGUAGES = {
    language.name: language
    for language in (
        Language("arabic", ("ar", "ara"), "العربية", ("ARABIC",), density=0.85),
        Language("bengali", ("bn", "ben"), "বাংলা", ("BENGALI",)),
        _latin("catalan", ("ca", "cat"), "català", "el els les del dels i un una per amb és es va que en la de no al"),
        Language("chinese", ("zh", "zho", "chi", "cmn"), "中文", ("CJK",), spaced=False, density=0.33),
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
        Language("greek", ("el", "ell", "gre"), "ελληνικά", ("GREEK",), density=1.1),
        Language("hebrew", ("he", "heb"), "עברית", ("HEBREW",), density=0.8),
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
        ),
        Language("persian", ("fa", "fas", "per"), "فارسی", ("ARABIC",), density=0.9),
        _latin(
            "polish", ("pl", "pol"), "polski", "i w z na że do nie jest się o to od przez był jak dla oraz lub po jeśli"
        ),
        _latin(
            "portuguese", ("pt", "por"), "português", "o os as do da e um uma por com é se foi que em a de não no na"
        ),
        _latin(
            "romanian",
            ("ro", "ron", "rum"),
            "română",
            "și în de la cu pe este un o nu că din care a al sau pentru fost dacă",
        ),
        Language("russian", ("ru", "rus"), "русский", ("CYRILLIC",), density=1.1),
        _latin(
            "spanish", ("es", "spa"), "español", "el los las del y un una por con es se fue que en la de no si su al"
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


SENTENCE_END = re.compile(
    r"""
    (?<=[。！？｡])[”’」』》）]*\s*                       # Chinese and Japanese: no blank follows
    | (?<=[.!?…؟۔।॥։])(?<!\s\w\.)["'”’»)\]]*\s+       # the others: a blank follows; 'J. Smith' goes on
      (?=[¿¡"'“‘«(\[]*[^\Wa-zà-ÿ])                     # and so does '70 d. C. y': no small Latin letter begins
    """,
    re.VERBOSE,
)


def sentences(text: str) -> list[str]:
    """The sentences of a text in any of the languages, each with the blanks that follow it: joined they are the text.

    `。！？` end a sentence where they stand; `. ! ? … ؟ ।` where a blank and no small Latin letter follows.
    """
    ends = [match.end() for match in SENTENCE_END.finditer(text)]
    bounds = [0, *ends, len(text)]
    return [text[start:end] for start, end in itertools.pairwise(bounds) if text[start:end]]
