"""Words by which numbers and names are told from what only looks like them, in the languages of the packs."""

import re
from collections.abc import Mapping

from rag_evaluator.languages import Language

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
CALENDAR: Mapping[str, frozenset[str]] = {
    "english": frozenset(
        "January February March April May June July August September October November December "
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
    )
}
"""Capitalised words that are no names."""
NOUNS: Mapping[str, re.Pattern[str]] = {
    "german": re.compile(
        r"\w+(?:ung|ungen|heit|heiten|keit|keiten|schaft|schaften|tion|tionen|tät|täten|ismus|ologie|jahre?|stadt)$"
        r"|(?:Nord|Süd|Ost|West)en$|Richtung$|Stück$|Teile?$|Ende$|Anfang$|Mitte$|Jahr\w*$|Prozent$|Milli\w+$"
        r"|Zeit\w*$|Tage?n?$|Monate?n?$|Wochen?$|Stunden?$|Minuten?$|Meter\w*$|Kilometer\w*$|Quadrat\w*$|Meilen$"
        r"|(?:Janu|Febru)ar$|März$|April$|Mai$|Jun[io]$|Jul[io]$|August$|(?:Septem|Novem|Dezem)ber$|Oktober$|Herrn?$"
    )
}
"""Where all nouns are capitalised: what nouns look like that are no names."""
ARTICLES: Mapping[str, frozenset[str]] = {
    "german": frozenset(
        "ein eine einen einem einer eines kein keine keinen keinem keiner mehrere viele einige alle jede jeder jedes "
        "diese dieser dieses diesen diesem zwei drei vier fünf sechs sieben acht neun zehn seine ihre".split()
    )
}
"""Words before a noun, and before no name."""
ADJECTIVES: Mapping[str, re.Pattern[str]] = {"german": re.compile(r"(?!zwischen|\w*isch)[a-zäöüß]{5,}e[nmrs]?$")}
"""Adjectives that come before nouns; those of countries come before names, too."""


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


def is_noun(word: str, before: str, language: Language) -> bool:
    """Whether a capitalised word is a noun: it looks like one, or an article comes before it."""
    if language.name not in NOUNS:
        return False
    return (
        bool(NOUNS[language.name].match(word) or ADJECTIVES[language.name].match(before))
        or before.lower() in ARTICLES[language.name]
    )
