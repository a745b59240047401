"""ragas' metrics that see the words of more languages, or have no score where ragas gives a number without meaning."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from rag_evaluator.config import UNSPACED, Language
from rag_evaluator.errors import JudgementError, NotApplicableError, UndefinedScoreError
from rag_evaluator.judge import STARS, rubric_numbers
from rag_evaluator.ragas_library import (
    InstanceSpecificRubrics,
    MetricResult,
    QuotedSpansAlignment,
    SummaryScore,
    collections,
    extract_quoted_spans,
)

BLEU_TOKENIZERS: Mapping[str, str] = {"chinese": "zh", "japanese": "char", "thai": "char"}  # sacrebleu's names


class DefinedQuotes(QuotedSpansAlignment):
    """ragas' own, refused without quotations (ragas gives 1), and where spaces do not count their words."""

    async def ascore(self, response: str, retrieved_contexts: Sequence[str]) -> MetricResult:  # type: ignore[override]  # as in ragas
        """The share of quoted spans that are in the contexts, [0, 1]. Raises `UndefinedScoreError`."""
        quoted = " ".join(extract_quoted_spans(response, min_len=1)) or response
        if any(map(is_unspaced, quoted)):
            raise NotApplicableError(
                "quotations are found by the number of words between spaces, and this script writes none"
            )
        if not extract_quoted_spans(response, min_len=self.min_span_words):
            raise NotApplicableError(f"the response quotes no span of {self.min_span_words} words or more")
        return await super().ascore(response=response, retrieved_contexts=list(retrieved_contexts))


class DefinedSummary(SummaryScore):
    """ragas' own, refused where there is nothing to ask about, and where not every question is answered."""

    async def _extract_keyphrases(self, text: str) -> list[str]:
        keyphrases = await super()._extract_keyphrases(text)
        if not keyphrases:
            raise UndefinedScoreError("the judge found no keyphrase in the reference contexts")
        return keyphrases

    async def _generate_questions(self, text: str, keyphrases: list[str]) -> list[str]:
        questions = await super()._generate_questions(text, keyphrases)
        if not questions:
            raise UndefinedScoreError("the judge asked no question about the reference contexts")
        return questions

    async def _generate_answers(self, summary: str, questions: list[str]) -> list[str]:
        answers = await super()._generate_answers(summary, questions)
        if len(answers) != len(questions):
            raise JudgementError(f"the judge gave {len(answers)} answers to {len(questions)} questions")
        return answers


class RowRubrics(InstanceSpecificRubrics):
    """ragas' own, refused where the row's rubrics do not say what 1 to 5 mean.

    A dataset is summed up on one scale, so rows must not have scales of their own.
    """

    async def ascore(self, rubrics: Mapping[str, str], **columns: Any) -> MetricResult:  # type: ignore[override]  # as in ragas
        numbers = rubric_numbers(rubrics)
        if len(numbers) < max(2, len(rubrics)) or not set(numbers) <= set(STARS):
            raise UndefinedScoreError(
                f"the rubrics of this row are {', '.join(rubrics)}: expected at least two of score1_description to "
                "score5_description"
            )
        return await super().ascore(rubrics=dict(rubrics), **columns)


class BleuScore(collections.BleuScore):
    """ragas' own with the words of the language, refused where it would be 0 whatever the response says.

    BLEU is the mean of how many runs of one to four words two texts have in common. Where neither has four words,
    sacrebleu divides nothing by nothing and gives 0, also for equal texts.
    """

    def __init__(self, language: Language) -> None:
        tokenizer = BLEU_TOKENIZERS.get(language.name)
        super().__init__(kwargs={"tokenize": tokenizer} if tokenizer else {})

    async def ascore(self, reference: str, response: str) -> MetricResult:  # type: ignore[override]  # as in ragas
        from sacrebleu.metrics.bleu import BLEU

        bleu = BLEU(tokenize=self.kwargs.get("tokenize"))
        compared = (response.split(". ")[0], *reference.split(". "))  # as ragas divides them
        if all(len(bleu.tokenizer(text).split()) < bleu.max_ngram_order for text in compared):
            raise NotApplicableError(
                f"BLEU compares runs of {bleu.max_ngram_order} words; neither the response nor the reference has one"
            )
        return await super().ascore(reference=reference, response=response)


class RougeScore(collections.RougeScore):
    """ragas' own, in which scripts other than Latin have words.

    rouge-score reads a-z and 0-9 only, so that two equal Chinese texts score 0. Here each word of such a language is
    handed to it as a number. These words are not stemmed: its stemmer is English.
    """

    def __init__(self, language: Language, **options: Any) -> None:
        super().__init__(**options)
        self.reads_words = not language.scripts or "LATIN" in language.scripts

    async def ascore(self, reference: str, response: str) -> MetricResult:  # type: ignore[override]  # as in ragas
        texts = [reference, response]
        if not self.reads_words:
            numbers: dict[str, str] = {}
            texts = [
                " ".join(numbers.setdefault(word, f"{len(numbers):04d}") for word in words(text)) for text in texts
            ]
        return await super().ascore(reference=texts[0], response=texts[1])


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
