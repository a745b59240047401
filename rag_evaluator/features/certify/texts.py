"""What people are asked for each metric, and the words with which they answer, in the languages of the prompt packs."""

import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.json_values import is_blank


@dataclass(frozen=True)
class Texts:
    """The sentences and words of a language.

    Attributes:
        accept, reject: words with which people answer; label sheets offer the first of each.
        steps: how to fill in a sheet.
        grades: of metrics with grades; `{low}` and `{high}` are the ends.
        questions: by what a metric asks for; `{metric}` is its name.
    """

    accept: Sequence[str]
    reject: Sequence[str]
    steps: Sequence[str]
    grades: str
    questions: Mapping[str, str]


def _read() -> dict[str, Texts]:
    """Those of `texts.json`, by language."""
    languages = json.loads(Path(__file__).with_name("texts.json").read_bytes())
    return {language: Texts(**texts) for language, texts in languages.items()}


TEXTS: Mapping[str, Texts] = _read()


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip().rstrip(".!").casefold()


NUMBERS = {
    _folded(word): number
    for words in TEXTS.values()
    for number, group in ((1.0, words.accept), (0.0, words.reject))
    for word in group
}
EXPECTED = (
    "Expected a number (0 or 1, or a grade) or a word such as yes, no, pass, fail, correct, incorrect; or nothing."
)


def is_word(cell: Any) -> bool:
    """Whether a cell holds one of the words. Any: JSON."""
    return isinstance(cell, str) and _folded(cell) in NUMBERS


def label_of(cell: Any) -> float:
    """The number of a cell: 1 for a word that accepts, 0 for one that rejects, NaN for a blank. Any: JSON.

    Raises `ValueError` for anything else.
    """
    if is_blank(cell):
        return math.nan
    if isinstance(cell, str):
        word = _folded(cell)
        number = NUMBERS[word] if word in NUMBERS else float(word)
    elif isinstance(cell, int | float):
        number = float(cell)
    else:
        raise ValueError("neither a number nor a word")
    if not math.isfinite(number):
        raise ValueError("no number")
    return number


ASKED_BY: Mapping[str, str] = {
    "faithfulness": "supported",
    "response_groundedness": "supported",
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
    "refusal_correctness": "refusal",
    "noise_sensitivity": "errors",
}


def question_of(metric: str, language: str) -> str:
    """What is asked of people for a metric; in English where the language has no texts."""
    asked = ASKED_BY.get(metric, "other")
    return texts_of(language).questions[asked].format(metric=metric)


def texts_of(language: str) -> Texts:
    """The texts of a language, English ones where it has none."""
    return TEXTS.get(language, TEXTS["english"])


def choices_of(language: str, low: float, high: float) -> list[str | int]:
    """What a cell offers: yes and no in the language, or the grades of a scale that is not 0 to 1 or -1 to 1."""
    if low >= 1:
        return list(range(round(low), round(high) + 1))
    words = texts_of(language)
    return [words.accept[0], words.reject[0]]
