"""BLEU and ROUGE: ragas' own formulas, on the words that the language has, and only where they are defined."""

import unicodedata
from collections.abc import Mapping
from typing import Any

from ragas.metrics.collections import BleuScore, RougeScore
from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult

from rag_evaluator.errors import UndefinedScoreError
from rag_evaluator.languages import Language

UNSPACED = frozenset({"CJK", "HIRAGANA", "KATAKANA", "THAI"})  # scripts in which each letter is a word of its own here
BLEU_TOKENIZERS: Mapping[str, str] = {"chinese": "zh", "japanese": "char", "thai": "char"}  # sacrebleu's names


class DefinedBleu(BleuScore):
    """BLEU, refused where it would be 0 whatever the response says.

    BLEU is the mean of how many runs of one to four words two texts have in common. Where neither has four words,
    sacrebleu divides nothing by nothing and gives 0, also for equal texts.
    """

    async def ascore(self, reference: str, response: str) -> MetricResult:  # type: ignore[override]  # as in ragas
        from sacrebleu.metrics.bleu import BLEU

        bleu = BLEU(tokenize=self.kwargs.get("tokenize"))
        compared = (response.split(". ")[0], *reference.split(". "))  # as ragas divides them
        if all(len(bleu.tokenizer(text).split()) < bleu.max_ngram_order for text in compared):
            raise UndefinedScoreError(
                f"BLEU compares runs of {bleu.max_ngram_order} words; neither the response nor the reference has one"
            )
        result: MetricResult = await super().ascore(reference=reference, response=response)
        return result


class WordRouge(RougeScore):
    """ROUGE in which any script has words.

    rouge-score reads a-z and 0-9 only, so that two equal Chinese texts score 0. Here each word is handed to it as a
    number. Words are not stemmed: its stemmer is English.
    """

    async def ascore(self, reference: str, response: str) -> MetricResult:  # type: ignore[override]  # as in ragas
        numbers: dict[str, str] = {}
        texts = [
            " ".join(numbers.setdefault(word, f"{len(numbers):04d}") for word in words(text))
            for text in (reference, response)
        ]
        result: MetricResult = await super().ascore(reference=texts[0], response=texts[1])
        return result


def words(text: str) -> list[str]:
    """Runs of letters, marks and digits, lower case; single letters where the script has no blanks between words."""
    parts: list[str] = []
    before = ""  # what the letter before belongs to: a word, a single letter, or nothing
    for letter in unicodedata.normalize("NFKC", text).lower():
        kind = unicodedata.category(letter)[0]
        if kind == "M" and before:
            parts[-1] += letter
        elif kind not in "LN":
            before = ""
        elif is_unspaced(letter):
            parts.append(letter)
            before = "single"
        elif before == "word":
            parts[-1] += letter
        else:
            parts.append(letter)
            before = "word"
    return parts


def is_unspaced(letter: str) -> bool:
    """Whether a character is a letter of a script that writes no spaces between words."""
    return unicodedata.category(letter)[0] == "L" and unicodedata.name(letter, "").partition(" ")[0] in UNSPACED


def localized(made_by: str, language: Language, options: Mapping[str, Any]) -> BaseMetric | None:
    """BLEU, and ROUGE for a language in which ragas' own does not see the words; None where ragas' own is right."""
    if made_by == "BleuScore":
        tokenizer = BLEU_TOKENIZERS.get(language.name)
        return DefinedBleu(kwargs={"tokenize": tokenizer} if tokenizer else {})
    if made_by == "RougeScore" and language.scripts and "LATIN" not in language.scripts:
        return WordRouge(**options)
    return None
