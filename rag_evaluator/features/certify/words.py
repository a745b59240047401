"""The words in which people are asked for labels and answer, in the languages of the prompt packs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rag_evaluator.dataset import LABEL_WORDS

ASKED_BY: Mapping[str, str] = {
    "faithfulness": "supported",
    "response_groundedness": "supported",
    "groundedness": "supported",
    "answer_relevancy": "answers",
    "answer_correctness": "correct",
    "factual_correctness": "correct",
    "answer_accuracy": "correct",
    "semantic_similarity": "correct",
    "reference_agreement": "correct",
    "reference_coverage": "correct",
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
    language: Texts(**LABEL_WORDS[language], **texts)
    for language, texts in json.loads(Path(__file__).with_name("texts.json").read_bytes()).items()
}


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
