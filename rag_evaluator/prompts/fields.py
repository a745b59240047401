"""The strings of a prompt: their places, which of them are translated, and what a translation must keep."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel

from rag_evaluator.prompts.pack import Models

Place = tuple[str | int, ...]  # keys and positions that lead to a value
LABELS = frozenset({"atomicity", "coverage"})  # fields whose texts are levels, not prose
PROSE = frozenset({"attributed", "rating"})  # fields whose names are ordinary words in the instructions

PLACEHOLDER = re.compile(r"\{[^{}]*\}")
GROUPED = re.compile(r"(?<!\d)\d{1,3}(?:[.,'’٬\u00a0\u202f\u2009 ]\d{2,3})+(?!\d)")  # 299,792,458 or 21 196
NUMBER = re.compile(r"(?<![A-Za-z\d])\d+(?!\d|st\b|nd\b|rd\b|th\b)")  # not E = mc2, and not ordinals
ANY_NUMBER = re.compile(r"\d+")
QUOTED_NAME = re.compile(r"""(?<!\w)['"]([A-Z]\w*(?:\s[A-Z]\w*)*)['"](?!\w)""")
THOUSANDS = (1000, 10_000, 100_000, 1_000_000)  # steps for which languages have words: 5万, 50 tausend
AMOUNT = re.compile(r"(?<![\d.,])(\d+) (million|billion|trillion)")
POWERS = {"million": 6, "billion": 9, "trillion": 12}
UNITS = {  # powers of ten whose words change the number: 3 billion is 30亿, 3 trillion is 3.000 miliardi
    4: "[万萬만](?![亿億])",
    5: "लाख(?! करो)",
    6: "(?i:mil[lh]?i?[oõ])|مليون",
    7: "करो",
    8: "[亿億억]",
    9: "(?i:mill?iard)|مليار|अरब",
    11: "खरब",
}


def place_name(place: Place) -> str:
    """`examples[0].output.statements[2]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value of a JSON tree that holds no others, with its place; empty lists and objects are such, too."""
    inside = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    if not inside or not value:
        yield place, value
    for part, child in inside:
        yield from leaves(child, (*place, part))


def is_prose(place: Place, value: Any) -> bool:
    """Whether a value is for translation."""
    return isinstance(value, str) and bool(value.strip()) and place[-1] not in LABELS


def replaced(value: Any, translate: Callable[[str], str], place: Place = ()) -> Any:
    """A JSON tree with each text that is for translation exchanged."""
    if isinstance(value, Mapping):
        return {name: replaced(child, translate, (*place, name)) for name, child in value.items()}
    if isinstance(value, list):
        return [replaced(child, translate, (*place, position)) for position, child in enumerate(value)]
    return translate(value) if is_prose(place, value) else value


def label_words(prompt: Models, instruction: str) -> frozenset[str]:
    """Words of an instruction that the judge reads as names of fields, so that they stay as they are.

    These are the numeric fields and the capital ones of the answer (`verdict`, `TP`) and input fields with an
    underscore (`context_1`).
    """
    names = {name for name in prompt.input_model.model_fields if "_" in name} | _labelled(prompt.output_model)
    return frozenset(name for name in names - PROSE if _has_word(name, instruction))


def _labelled(model: type[BaseModel]) -> set[str]:
    fields = model.model_fields
    names = {name for name, field in fields.items() if _is_numeric(field.annotation) or name.isupper()}
    for field in fields.values():
        for inner in get_args(field.annotation):
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                names |= _labelled(inner)
    return names


def _is_numeric(annotation: Any) -> bool:
    """Whether it is `int`, or a `Literal` of integers."""
    values = get_args(annotation)
    return annotation is int or (bool(values) and all(type(value) is int for value in values))


def must_survive(text: str, labels: frozenset[str] = frozenset()) -> list[str]:
    """Placeholders, label words and numbers of an English text, each once."""
    placeholders = PLACEHOLDER.findall(text)
    rest = PLACEHOLDER.sub(" ", text)
    words = [word for word in sorted(labels) if _has_word(word, rest)]
    return list(dict.fromkeys([*placeholders, *words, *NUMBER.findall(_plain_digits(rest))]))


def lost(text: str, translation: str, labels: frozenset[str] = frozenset()) -> list[str]:
    """What `must_survive` of an English text and is not in its translation, in any script and grouping of digits."""
    plain = _plain_digits(translation)
    numbers = set(ANY_NUMBER.findall(plain)) | _in_other_units(_plain_digits(text), plain)
    return [kept for kept in must_survive(text, labels) if not _survives(kept, translation, numbers)]


def _in_other_units(text: str, translation: str) -> set[str]:
    """The numbers of an English text's millions to trillions that are the same amounts in a unit of the translation."""
    amounts = {
        int(number) * 10**power
        for power, unit in UNITS.items()
        for number in re.findall(rf"(?<![\d.,])(\d+)多? ?(?:{unit})", translation)
    }
    return {number for number, word in AMOUNT.findall(text) if int(number) * 10 ** POWERS[word] in amounts}


def _survives(kept: str, translation: str, numbers: set[str]) -> bool:
    if kept.isdigit():
        return kept in numbers or any(
            int(kept) % step == 0 and str(int(kept) // step) in numbers for step in THOUSANDS if int(kept)
        )
    return kept in translation if kept.startswith("{") else _has_word(kept, translation)


def _has_word(word: str, text: str) -> bool:
    """Whether a text has a word of Latin letters as a whole word; beside other scripts it needs no spaces."""
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])", text) is not None


def _plain_digits(text: str) -> str:
    """Digits of all scripts as 0-9, without the marks that group them."""
    plain = "".join(str(unicodedata.digit(letter, letter)) if letter.isdigit() else letter for letter in text)
    return GROUPED.sub(lambda match: re.sub(r"\D", "", match[0]), plain)
