"""The words in which people are asked for labels and answer, in the languages of the prompt packs."""

import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXPECTED = "Expected a number (0 or 1, or a grade), a word such as yes, no, pass, fail, correct, incorrect; or nothing."
ASKED_BY: Mapping[str, str] = {
    "faithfulness": "supported",
    "response_groundedness": "supported",
    "groundedness": "supported",
    "answer_relevancy": "answers",
    "answer_correctness": "correct",
    "factual_correctness": "correct",
    "answer_accuracy": "correct",
    "semantic_similarity": "correct",
    "context_relevance": "relevant",
    "context_relevancy": "relevant",
    "context_precision_with_reference": "relevant",
    "context_precision_without_reference": "relevant",
    "context_recall": "complete",
    "context_coverage": "complete",
    "refusal_correctness": "refusal",
    "noise_sensitivity": "errors",
}


@dataclass(frozen=True)
class Texts:
    """The sentences and words of a language.

    Attributes:
        accept, reject: words with which people answer; label sheets offer the first of each.
        steps: how to fill in a sheet.
        grades: of metrics with grades; `{low}` and `{high}` are the ends.
        sentence: what is asked of a sentence and its evidence.
        questions: by what a metric asks for; `{metric}` is its name.
        statements: the same of a single statement; in English only, as the pages of the app.
    """

    accept: Sequence[str]
    reject: Sequence[str]
    steps: Sequence[str]
    grades: str
    sentence: str
    questions: Mapping[str, str]
    statements: Mapping[str, str] = field(default_factory=dict)


TEXTS: Mapping[str, Texts] = {
    language: Texts(**texts)
    for language, texts in json.loads(Path(__file__).with_name("texts.json").read_bytes()).items()
}


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip().rstrip(".!").casefold()


NUMBERS = {
    _folded(word): number
    for words in TEXTS.values()
    for number, group in ((1.0, words.accept), (0.0, words.reject))
    for word in group
}


def is_word(cell: Any) -> bool:
    """Whether a cell holds one of the words. Any: JSON."""
    return isinstance(cell, str) and _folded(cell) in NUMBERS


def label_of(cell: Any) -> float:
    """The number of a cell that is not blank: 1 for a word that accepts, 0 for one that rejects. Any: JSON.

    Raises `ValueError` for anything else.
    """
    if not isinstance(cell, str | int | float):
        raise ValueError("neither a number nor a word")
    number = NUMBERS[_folded(cell)] if isinstance(cell, str) and is_word(cell) else float(cell)
    if not math.isfinite(number):
        raise ValueError("no number")
    return number


def question_of(metric: str, language: str, of_statement: bool = False) -> str:
    """What is asked of people for a metric; in English where the language has no texts."""
    texts = texts_of(language)
    asked = ASKED_BY.get(metric, "other")
    return (texts.statements if of_statement else texts.questions)[asked].format(metric=metric)


def texts_of(language: str) -> Texts:
    """The texts of a language, English ones where it has none."""
    return TEXTS.get(language, TEXTS["english"])


def choices_of(language: str, low: float, high: float) -> list[str | int]:
    """What a cell offers: yes and no in the language, or the grades of a scale that is not 0 to 1 or -1 to 1."""
    if low >= 1:
        return list(range(round(low), round(high) + 1))
    words = texts_of(language)
    return [words.accept[0], words.reject[0]]
