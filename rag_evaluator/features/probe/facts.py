"""The numbers and names in a text that can be replaced so that it becomes wrong, and texts that probes write."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rag_evaluator.config import Language, sentences

NEARBY = 30  # signs before a number or name that are looked at
BOUND_BEFORE = re.compile(
    r"(?:[<>≤≥]|\b(?:than|at least|at most|over|under|up to|above|below|since|before|after|until|by|prior to"  # English
    r"|más de|menos de|al menos|hasta|superior a|inferior a|mayor(?:es)? (?:de|que)|menor(?:es)? (?:de|que)"  # Spanish
    r"|desde|antes de|después de|tras"
    r"|plus de|moins de|au moins|jusqu['’](?:à|en)|supérieure? à|inférieure? à|depuis|avant|après"  # French
    r"|als|mindestens|höchstens|über|unter|bis zu|ab|seit|vor|nach|bis"  # German
    r"|più di|meno di|almeno|oltre|fino al?|superiore a|inferiore a|maggior[ei] di|minor[ei] di"  # Italian
    r"|dal|prima del|dopo il|entro il"
    r"|mais de|menos de|pelo menos|até|maior(?:es)? (?:de|que)|menor(?:es)? (?:de|que)|depois de|após"  # Portuguese
    r"|أكثر من|أقل من|أكبر من|أصغر من|على الأقل|ما لا يقل عن|ما يصل إلى|حتى|(?:منذ|قبل|بعد)(?: عام| سنة)?"  # Arabic
    r"|कम से कम)"  # Hindi
    r"|超过|超過|至少|大于|小于|多于|少于|不到|最多|高于|低于|多达|达到|自从?|自?上世纪|自?上个世纪|直到"  # Chinese
    r"|少なくとも|最大|최소|최대)\W*$",  # Japanese, Korean
    re.IGNORECASE,
)
BOUND_AFTER = re.compile(
    r"\W*(?:\w+\s)?(?:or more|or less|or fewer|o más|o menos|ou plus|ou moins|oder mehr|oder weniger|o più|o meno"
    r"|ou mais|ou menos|أو أكثر|أو أقل|से अधिक|से ज़्यादा|से कम|से पहले|के बाद|तक|से बड़|से छोट)"
    r"|\s?[^\d\s。，、.,]{0,4}\s?(?:以上|以下|以内|未満|を超え|より大き|より小さ|多个|多名|余|以来|以前|以后|之前|之后|前|后|後|から|まで"
    r"|이상|이하|미만|넘|보다|부터|까지|이전|이후)",
    re.IGNORECASE,
)
"""A number beside these is a limit: a statement may hold with another limit, too."""
FORMULA_BEFORE = re.compile(r"(?:(?<!\w)[B-Z]|[+=*/×÷−])\s+$")
"""A number after a sign or a single letter belongs to a formula."""
DENIAL = re.compile(
    r"\b(?:not|no|never|none|nor|without|cannot|neither|\w+n['’]t|nunca|ni|ningun\w*|ningún|nadie|sin|tampoco|nicht|nie"
    r"|kein\w*|niemals|ohne|weder|ne|pas|jamais|aucune?|sans|non|né|nessun\w*|mai|senza|não|nem|nenhum\w*|sem"
    r"|لا|لم|لن|ليس\w*|غير|دون|बिना)\b|\bn['’]|(?<!\S)(?:नहीं|न|मत)(?!\S)|[不没沒无無未]|ない|なかった|ません|なし|않|없|못|아니",
    re.IGNORECASE,
)
"""What is denied of a thing may be true of another one."""
OR = r"(?:or|oder|o|ó|ou|oppure|أو|या)"
OR_BEFORE = re.compile(rf"\b{OR}\s+(?:\w+\s)?$|[或か]\s*$|(?:または|あるいは|또는|혹은)\s*$", re.IGNORECASE)
OR_AFTER = re.compile(rf",?\s+\(?{OR}\b|\s*(?:[或]|または|あるいは|또는|혹은)", re.IGNORECASE)
"""What is one of two possibilities may be wrong, and the sentence true."""
CALENDAR = frozenset(
    "January February March April May June July August September October November December "
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
)
"""Capitalised English words that are no names."""
NOUN = re.compile(
    r"\w+(?:ung|ungen|heit|heiten|keit|keiten|schaft|schaften|tion|tionen|tät|täten|ismus|ologie|jahre?|stadt)$"
    r"|(?:Nord|Süd|Ost|West)en$|Richtung$|Stück$|Teile?$|Ende$|Anfang$|Mitte$|Jahr\w*$|Prozent$|Milli\w+$"
    r"|Zeit\w*$|Tage?n?$|Monate?n?$|Wochen?$|Stunden?$|Minuten?$|Meter\w*$|Kilometer\w*$|Quadrat\w*$|Meilen$"
    r"|(?:Janu|Febru)ar$|März$|April$|Mai$|Jun[io]$|Jul[io]$|August$|(?:Septem|Novem|Dezem)ber$|Oktober$|Herrn?$"
)
"""German, where all nouns are capitalised: what nouns look like that are no names."""
ARTICLES = frozenset(
    "ein eine einen einem einer eines kein keine keinen keinem keiner mehrere viele einige alle jede jeder jedes "
    "diese dieser dieses diesen diesem zwei drei vier fünf sechs sieben acht neun zehn seine ihre".split()
)
"""German words before a noun, and before no name."""
ADJECTIVE = re.compile(r"(?!zwischen|\w*isch)[a-zäöüß]{5,}e[nmrs]?$")
"""German adjectives that come before nouns; those of countries come before names, too."""
EVASIVE: Mapping[str, str] = {
    "arabic": "هذا سؤال مهم، ولا يمكن الإجابة عنه بشكل عام لأن الأمر يعتمد على عوامل كثيرة.",
    "chinese": "这是一个有意思的问题，很难一概而论，要看具体情况而定。",
    "english": "That is an interesting question; it is hard to say in general, since it depends on many things.",
    "french": "C'est une question intéressante ; il est difficile d'y répondre de façon générale, car cela dépend de "
    "beaucoup de choses.",
    "german": "Das ist eine interessante Frage; allgemein lässt sich das schwer sagen, denn es hängt von vielen "
    "Dingen ab.",
    "hindi": "यह एक रोचक प्रश्न है; सामान्य रूप से कुछ कहना कठिन है, क्योंकि यह कई बातों पर निर्भर करता है।",
    "italian": "È una domanda interessante; è difficile dare una risposta generale, perché dipende da molte cose.",
    "japanese": "興味深い質問ですが、状況によって異なるため、一概には言えません。",
    "korean": "흥미로운 질문이지만, 여러 가지 상황에 따라 다르기 때문에 한마디로 말하기는 어렵습니다.",
    "portuguese": "É uma pergunta interessante; é difícil dar uma resposta geral, porque depende de muitas coisas.",
    "spanish": "Es una pregunta interesante; es difícil dar una respuesta general, porque depende de muchas cosas.",
}
"""Answers that say nothing, whatever was asked. They do not say that the answer is unknown."""
ENDS = (".", "!", "?", "…", "。", "！", "？", "।", "؟", "۔", '."', ".”", "。」")
STOPS: Mapping[str, str] = {"chinese": "。", "japanese": "。", "hindi": "।"}
EAST_ASIAN = "\u2e80"  # the first sign of these scripts
LONGER = 4  # letters
QUOTES = str.maketrans({"'": "’", "’": "'", '"': "”", "“": '"', "”": '"', "„": '"'})
GROUPS = r"\d+(?:[.,٫٬]\d+|[ \u00a0\u202f]\d{3}(?!\d))*"
NUMBER = re.compile(rf"(?<![\w.,:/+–-]){GROUPS}(?!\w|[.,:/–-]\d)")
NUMBER_BESIDE_LETTERS = re.compile(rf"(?<![A-Za-z\d_.,:/+–-]){GROUPS}(?![A-Za-z\d]|[.,:/–-]\d)")
"""In scripts other than Latin, Greek and Cyrillic a number stands beside letters that are no part of it."""
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
LATIN_WORD = re.compile(r"[A-Za-zÀ-ɏ]+(?:['’-][A-Za-zÀ-ɏ]+)*")
QUOTED = re.compile(r"[《「『]\s*([^《》「」『』]{2,20}?)\s*[」』》]")
ATTACHED_BEFORE = re.compile(r"[A-Za-z0-9/&@_.–-]$|\d\s$")
ATTACHED_AFTER = re.compile(r"[A-Za-z0-9/&@_–-]|\.\w|,? ?\d")
"""A name that touches these is part of something longer: a code, a date, a name with a number."""
YEARS = range(1000, 2100)
# numbers up to these stand for each other: a day stays a day
MONTH = 12
DAY = 31
DECADE = 10
NEAR = 0.8  # a number that is nearer to another than this ratio may be the same, rounded
SHORTEST = 3  # letters of a name
POSSESSIVE = ("'s", "’s")
CASED = {"LATIN", "GREEK", "CYRILLIC"}


def is_bound(text: str, start: int, end: int) -> bool:
    """Whether a number is a limit, as "more than 70" holds with 60, too; or in a formula."""
    before = text[max(0, start - NEARBY) : start]
    return bool(BOUND_BEFORE.search(before) or FORMULA_BEFORE.search(before) or BOUND_AFTER.match(text, end))


def is_alternative(text: str, start: int, end: int) -> bool:
    """Whether a number or name is one of two possibilities."""
    return bool(OR_BEFORE.search(text[max(0, start - NEARBY) : start]) or OR_AFTER.match(text, end))


def is_claim(sentence: str) -> bool:
    """Whether a sentence says something of a thing that is wrong of another: it neither denies nor asks."""
    return not DENIAL.search(sentence) and not sentence.rstrip(' "”»“)').endswith(("?", "？", "؟"))


@lru_cache(maxsize=1 << 16)
def normalised(text: str) -> str:
    """Letters and digits in small letters, single spaces, digits of all scripts as 0 to 9: for comparing texts."""
    kept = map(_kept, unicodedata.normalize("NFKC", text).casefold())
    return " ".join("".join(kept).split())


def _kept(sign: str) -> str:
    if sign.isdecimal():
        return str(unicodedata.digit(sign))
    return sign if sign.isalnum() or unicodedata.category(sign) in ("Mn", "Mc") else " "  # vowel signs of Hindi


def holds(text: str, part: str) -> bool:
    """Whether a text has a part; one in Latin letters or digits as whole words."""
    whole = normalised(text)
    piece = normalised(part)
    if not piece or piece not in whole:
        return False
    return not piece.isascii() or re.search(rf"(?<![a-z0-9]){re.escape(piece)}(?![a-z0-9])", whole) is not None


@lru_cache(maxsize=1 << 14)
def telling(text: str) -> frozenset[str]:
    """What tells a text from others: its numbers and longer words, or all if there are none of these.

    Of words in Chinese, Japanese and Korean each two signs that follow one another.
    """
    words = normalised(text).split()
    pairs = {
        word[place : place + 2] for word in words if word[0] >= EAST_ASIAN for place in range(max(1, len(word) - 1))
    }
    spaced = {word for word in words if word[0] < EAST_ASIAN}
    longer = {word for word in spaced if len(word) >= LONGER or word.isdecimal()}
    return frozenset(pairs | longer) or frozenset(spaced)


def shared(text: str, part: str) -> float:
    """The share of what tells a part that a text has, too, in [0, 1]; 0 for a part without words."""
    wanted = telling(part)
    return len(wanted & telling(text)) / len(wanted) if wanted else 0.0


def followed_by(text: str, addition: str, language: Language) -> str:
    """A text with another after it, the first one ended as a sentence."""
    text = text.rstrip()
    end = "" if text.endswith(ENDS) else STOPS.get(language.name, ".")
    return f"{text}{end}{' ' if language.spaced else ''}{addition}"


def written_otherwise(text: str) -> str:
    """The same text with other quotes and spaces; nothing that a reader would notice."""
    return "  ".join(text.translate(QUOTES).split(" ")) + " "


@dataclass(frozen=True)
class Fact:
    """A number or name in a text.

    Attributes:
        start, end: its place, in characters.
        text: as it is written.
        shape: facts of equal shape can stand for each other: digits and separators of a number, words of a name.
    """

    start: int
    end: int
    text: str
    shape: str


def numbers(text: str, language: Language) -> list[Fact]:
    """The numbers of a text that are no part of a word, a date in digits, a range or a formula, and no bound."""
    pattern = NUMBER if is_cased(language) else NUMBER_BESIDE_LETTERS
    matches = (match for match in pattern.finditer(text) if not is_bound(text, match.start(), match.end()))
    return [Fact(*match.span(), match[0], _shape(match[0])) for match in matches]


def is_cased(language: Language) -> bool:
    """Whether its script has capital letters; of unknown languages this is assumed."""
    return not language.scripts or bool(CASED & set(language.scripts))


def are_near(first: str, second: str) -> bool:
    """Whether two numbers of one shape could be taken for one another: rounded, or years of one decade."""
    low, high = sorted(int("".join(filter(str.isdecimal, text))) for text in (first, second))
    if _is_year(first):
        return high - low < DECADE
    return low == high or (high > MONTH and low > NEAR * high)


def _shape(number: str) -> str:
    """What the number may be, a year or a day, or its digits as 0 with the separators; and the zero of its script."""
    zero = next(_zero(sign) for sign in number)
    if _is_year(number):
        return f"{zero} year"
    if number.isdecimal() and 0 < int(number) <= DAY and len(number) == len(str(int(number))):
        return f"{zero} {'month' if int(number) <= MONTH else 'day'}"
    return "".join(map(_zero, number))


def _is_year(number: str) -> bool:
    return number.isdecimal() and len(number) == len("2000") and int(number) in YEARS


def _zero(sign: str) -> str:
    return chr(ord(sign) - unicodedata.digit(sign)) if sign.isdecimal() else sign


class Names:
    """Finds names by what a whole dataset shows: words that are capitalised within sentences and never small.

    Neighbouring capitalised words are one name ("New Holland") if one of them is such a word; the initials of a person
    belong to it. Where nouns are capitalised, too (German), a name has at least two words, none of which is known as a
    noun. In scripts without capital letters names are what is in Latin letters, and titles in `《》` and `「」`. What
    is in brackets is no name here: often it says the same in another way.

    Args:
        texts: of the dataset.
        language: of the texts.
    """

    def __init__(self, texts: Iterable[str], language: Language) -> None:
        self._is_cased = is_cased(language)
        self._has_nouns = language.name == "german"
        self._word = WORD if self._is_cased else LATIN_WORD
        self._others = CALENDAR if language.name == "english" else frozenset[str]()
        self._small: set[str] = set()
        self._capital: set[str] = set()
        self._pairs: set[tuple[str, str]] = set()
        self._nouns: set[str] = set()
        for text in texts:
            for sentence in sentences(text, language):
                self._learn(sentence)

    def _learn(self, sentence: str) -> None:
        """Note which words are small, which are capitalised within a sentence, and which are nouns."""
        before = ""
        for position, match in enumerate(self._word.finditer(sentence)):
            word = match[0]
            if not word[0].isupper():
                self._small.add(word.lower())
            elif position or not self._is_cased:
                self._capital.add(word)
                self._pairs.add((before, word))
                if self._has_nouns and (before.lower() in ARTICLES or NOUN.match(word) or ADJECTIVE.match(before)):
                    self._nouns.add(word)
            before = word if position else ""

    def of(self, text: str) -> list[Fact]:
        """The names of a text, in order."""
        titles = [] if self._is_cased else [Fact(*match.span(1), match[1], "title") for match in QUOTED.finditer(text)]
        inside = {place for fact in titles for place in range(fact.start, fact.end)}
        runs = (self._fact(text, run) for run in self._runs(text))
        return sorted([*titles, *(run for run in runs if run and run.start not in inside)], key=lambda fact: fact.start)

    def _runs(self, text: str) -> list[list[re.Match[str]]]:
        """The groups of capitalised words that follow one another."""
        runs: list[list[re.Match[str]]] = []
        for match in self._word.finditer(text):
            if not match[0][0].isupper():
                continue
            last = runs[-1][-1] if runs else None
            between = "" if last is None else text[last.end() : match.start()]
            if last is not None and (between == " " or (between == ". " and len(last[0]) == 1)):
                runs[-1].append(match)
            else:
                runs.append([match])
        return runs

    def _fact(self, text: str, run: list[re.Match[str]]) -> Fact | None:
        """The name in a group of words; None if it holds none."""
        while run and not self._can_begin(*run[:2]):
            run = run[1:]
        if len(run) < 1 + self._has_nouns or len(run[-1][0]) == 1 or not any(map(self._is_name, run)):
            return None
        start = run[0].start()
        end = run[-1].end() - (2 if run[-1][0].endswith(POSSESSIVE) else 0)
        if any(match[0] in self._nouns for match in run) or _is_part(text, start, end):
            return None
        return Fact(start, end, text[start:end], f"{len(run)} words")

    def _can_begin(self, first: re.Match[str], second: re.Match[str] | None = None) -> bool:
        """Whether a name may begin with a word: it is no small one that only begins the sentence."""
        if second is not None and (first[0], second[0]) in self._pairs:
            return True
        return first[0].lower() not in self._small and (len(first[0]) == 1 or first[0] in self._capital)

    def _is_name(self, match: re.Match[str]) -> bool:
        word = match[0]
        is_capital = word in self._capital and word.lower() not in self._small
        return len(word) >= SHORTEST and is_capital and word not in self._others


def _is_part(text: str, start: int, end: int) -> bool:
    """Whether a name is in brackets, or part of something longer."""
    opened = sum(text.count(sign, 0, start) for sign in "(（[") - sum(text.count(sign, 0, start) for sign in ")）]")
    return opened > 0 or bool(ATTACHED_BEFORE.search(text[:start]) or ATTACHED_AFTER.match(text, end))
