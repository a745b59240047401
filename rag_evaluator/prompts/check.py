"""Checks packs against their English sources: complete, current, same structure, labels kept, in their language."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel

from rag_evaluator.config import Language
from rag_evaluator.errors import PromptError
from rag_evaluator.ragas_library import BasePrompt

from .language_id import ENOUGH_WORDS, WORDS, foreign
from .loading import LEVELS, PackSet, english_pack
from .pack import ENGLISH, Pack, load_pack

Place = tuple[str | int, ...]  # keys and positions that lead to a value
Leaves = Mapping[Place, Any]
FIXED = (("answer", "yes"), ("answer", "no"))  # fields of answers that have no other values
PROSE = frozenset({"attributed", "rating"})  # fields whose names are ordinary words in the instructions

PLACEHOLDER = re.compile(r"\{[^{}]*\}")
GROUPED = re.compile(r"(?<!\d)\d{1,3}(?:[.,'’٬\u00a0\u202f\u2009 ]\d{2,3})+(?!\d)")  # 299,792,458 or 21 196
NUMBER = re.compile(r"(?<![A-Za-z\d])\d+(?!\d|st\b|nd\b|rd\b|th\b| [mbt]r?illion)")
"""Not those of E = mc2, ordinals, and millions, which languages count in units of their own: 3 billion is 30亿."""
ANY_NUMBER = re.compile(r"\d+")
QUOTED_NAME = re.compile(r"""(?<!\w)['"]([A-Z]\w*(?:\s[A-Z]\w*)*)['"](?!\w)""")
THOUSANDS = (1000, 10_000, 100_000, 1_000_000)  # steps for which languages have words: 5万, 50 tausend
LONG_TEXT = 60  # characters
SHORTENED = 2.0  # times shorter or longer than translations into the language are


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


def leaves_of(pack: Pack) -> Leaves:
    """Those of the examples; a place begins with `examples` and the number of the example."""
    return dict(leaves({"examples": list(pack.examples)}))


def prose_of(pack: Pack) -> dict[str, str]:
    """The texts of a pack that are for translation, by the names of their places."""
    prose = {place_name(place): value for place, value in leaves_of(pack).items() if is_prose(place, value)}
    return {**prose, "instruction": pack.instruction}


def is_prose(place: Place, value: Any) -> bool:
    """Whether a value is for translation."""
    is_fixed = place[-1] in LEVELS or (place[-1], value) in FIXED
    return isinstance(value, str) and bool(value.strip()) and not is_fixed


def replaced(value: Any, text_at: Callable[[Place], str], place: Place = ()) -> Any:
    """A JSON tree with each text that is for translation exchanged for the one of its place."""
    if isinstance(value, Mapping):
        return {name: replaced(child, text_at, (*place, name)) for name, child in value.items()}
    if isinstance(value, list):
        return [replaced(child, text_at, (*place, position)) for position, child in enumerate(value)]
    return text_at(place) if is_prose(place, value) else value


def label_words(prompt: "BasePrompt[Any, Any]", instruction: str) -> frozenset[str]:
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
    numbers = set(ANY_NUMBER.findall(_plain_digits(translation)))
    return [kept for kept in must_survive(text, labels) if not _survives(kept, translation, numbers)]


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


class Fault(NamedTuple):
    """Something wrong with a pack: of a kind in docs/languages.md, at a place of the file (may be empty)."""

    kind: str
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def check_packs(packs: PackSet, others: Sequence[Path] = ()) -> dict[Path, list[Fault]]:
    """What is wrong with every pack of a language, by its file, which need not exist; in the order of the prompts.

    Args:
        packs: what is to be there.
        others: folders where a pack is looked for that is not in that of `packs`.
    """
    checked = {}
    existing, missing = packs.find(*others)
    for key, prompt in packs.originals.items():
        if key in missing:
            checked[missing[key]] = [Fault("missing", "", "no such file")]
        elif key in existing:
            path = existing[key]
            try:
                checked[path] = check_pack(load_pack(path, prompt), prompt, packs.spoken)
            except PromptError as error:
                checked[path] = [Fault("invalid", "", str(error).removeprefix(f"{path}: "))]
    return checked


def check_pack(pack: Pack, prompt: "BasePrompt[Any, Any]", language: Language) -> list[Fault]:
    """What is wrong with a pack that fits the models of a prompt, compared with its English text."""
    english = english_pack(prompt)
    translated = leaves_of(pack)
    source = leaves_of(english)
    faults = [*_origin(pack, english, language), *_structure(pack, english, translated, source)]
    if not any(fault.kind == "structure" for fault in faults):
        faults += [*_labels(translated, source), *_repeats(translated, source)]
        if gone := lost(english.instruction, pack.instruction, label_words(prompt, english.instruction)):
            faults.append(Fault("labels", "instruction", f"{', '.join(gone)} of the source is lost"))
    texts = prose_of(pack)
    sources = prose_of(english)
    for place, text in sources.items():
        ratio = len(texts.get(place, "")) / (len(text) * language.density)  # 1: as most translations are
        if place in texts and len(text) >= LONG_TEXT and not 1 / SHORTENED < ratio < SHORTENED:
            faults.append(Fault("length", place, f"{ratio:.1f} times as long as a translation is"))
    return [*faults, *_language(texts, sources, language)]


def _origin(pack: Pack, english: Pack, language: Language) -> Iterator[Fault]:
    if pack.language != language.name:
        yield Fault("language", "language", f"is '{pack.language}', the file's name says '{language.name}'")
    if pack.original_hash != english.original_hash:
        yield Fault(
            "stale",
            "original_hash",
            f"made from another English source ({pack.original_hash}; today's is {english.original_hash}, ragas "
            f"{english.ragas_version}): compare with orig_prompts/, correct, then write today's hash",
        )


def _structure(pack: Pack, english: Pack, translated: Leaves, source: Leaves) -> Iterator[Fault]:
    if len(pack.examples) != len(english.examples):
        yield Fault("structure", "examples", f"{len(pack.examples)} examples, the source has {len(english.examples)}")
        return
    for place in sorted(source.keys() ^ translated.keys(), key=str):
        yield Fault("structure", place_name(place), "missing" if place in source else "not in the source")
    for place in source.keys() & translated.keys():
        if is_prose(place, source[place]) and not is_prose(place, translated[place]):
            yield Fault("structure", place_name(place), "empty, the source is not")


def _labels(translated: Leaves, source: Leaves) -> Iterator[Fault]:
    """Verdicts, levels and empty texts as in the source; numbers and placeholders not lost."""
    for place, value in source.items():
        if not is_prose(place, value):
            if type(translated[place]) is not type(value) or translated[place] != value:
                yield Fault("labels", place_name(place), f"is {translated[place]!r}, the source has {value!r}")
        elif gone := lost(value, translated[place]):
            yield Fault("labels", place_name(place), f"{', '.join(gone)} of the source is lost")


def _repeats(translated: Leaves, source: Leaves) -> Iterator[Fault]:
    """Texts that are equal in the source must be equal in the pack: the output repeats statements of the input.

    Within an example.
    """
    prose = {place: value for place, value in source.items() if is_prose(place, value)}
    first_places: dict[tuple[Any, str], Place] = {}
    for place, value in prose.items():
        first = first_places.setdefault((place[1], value), place)
        if translated[place] != translated[first]:
            message = f"differs from {place_name(first)}; the source has the same text in both places"
            yield Fault("repeats", place_name(place), message)
    for place, value in prose.items():
        if value[-1] not in ".!?":  # names may be inflected where sentences use them
            continue
        for longer, text in prose.items():
            inside = longer[1] == place[1] and value != text and value in text
            if inside and translated[place] not in translated[longer]:
                yield Fault("repeats", place_name(place), f"is no longer a part of {place_name(longer)}")


def _language(texts: Mapping[str, str], sources: Mapping[str, str], language: Language) -> Iterator[Fault]:
    """Texts in another language; where none is by itself, all of them together."""
    is_good = True
    for place, text in texts.items():
        is_equal = text == sources.get(place) and language.name != ENGLISH
        is_left = is_equal and len(WORDS.findall(text)) >= ENOUGH_WORDS
        if why := "left in English" if is_left else foreign(text, language):
            is_good = False
            yield Fault("language", place, why)
    if is_good and (why := foreign(" ".join(texts.values()), language, is_long=True)):
        yield Fault("language", "", f"not in {language.name}: {why}")
