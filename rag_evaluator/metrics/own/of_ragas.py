"""ragas' metrics that are missing with a reason where ragas gives a number that means nothing."""

from collections.abc import Mapping, Sequence

from ragas.metrics.collections import InstanceSpecificRubrics, QuotedSpansAlignment, SummaryScore
from ragas.metrics.collections.quoted_spans.util import extract_quoted_spans
from ragas.metrics.result import MetricResult

from rag_evaluator.errors import JudgementError, UndefinedScoreError
from rag_evaluator.judge.grammar.schema import STARS, rubric_numbers
from rag_evaluator.metrics.metric import is_unspaced

UNSEEN = "«»‹›「」『』《》〈〉"  # marks of quotations that ragas does not look for


class DefinedQuotes(QuotedSpansAlignment):
    """ragas' own, refused without quotations (ragas gives 1), and where spaces do not count their words."""

    async def ascore(self, response: str, retrieved_contexts: Sequence[str]) -> MetricResult:  # type: ignore[override]  # as in ragas
        """The share of quoted spans that are in the contexts, [0, 1]. Raises `UndefinedScoreError`."""
        quoted = " ".join(extract_quoted_spans(response, min_len=1)) or response
        if any(map(is_unspaced, quoted)):
            raise UndefinedScoreError(
                "quotations are found by the number of words between spaces, and this script writes none"
            )
        if not extract_quoted_spans(response, min_len=self.min_span_words):
            unseen = "".join(mark for mark in UNSEEN if mark in response)
            hint = f"; {unseen} are not read as quotation marks" if unseen else ""
            raise UndefinedScoreError(f"the response quotes no span of {self.min_span_words} words or more{hint}")
        result: MetricResult = await super().ascore(response=response, retrieved_contexts=list(retrieved_contexts))
        return result


class DefinedSummary(SummaryScore):
    """ragas' own, refused where there is nothing to ask about, and where not every question is answered."""

    async def _extract_keyphrases(self, text: str) -> list[str]:
        keyphrases: list[str] = await super()._extract_keyphrases(text)
        if not keyphrases:
            raise UndefinedScoreError("the judge found no keyphrase in the reference contexts")
        return keyphrases

    async def _generate_questions(self, text: str, keyphrases: list[str]) -> list[str]:
        questions: list[str] = await super()._generate_questions(text, keyphrases)
        if not questions:
            raise UndefinedScoreError("the judge asked no question about the reference contexts")
        return questions

    async def _generate_answers(self, summary: str, questions: list[str]) -> list[str]:
        answers: list[str] = await super()._generate_answers(summary, questions)
        if len(answers) != len(questions):
            raise JudgementError(f"the judge gave {len(answers)} answers to {len(questions)} questions")
        return answers


class RowRubrics(InstanceSpecificRubrics):
    """ragas' own, refused where the row's rubrics do not say what 1 to 5 mean.

    A dataset is summed up on one scale, so rows must not have scales of their own.
    """

    async def ascore(  # type: ignore[override]  # as in ragas
        self, rubrics: Mapping[str, str], user_input: str, response: str, reference: str | None = None
    ) -> MetricResult:
        numbers = rubric_numbers(rubrics)
        if len(numbers) < max(2, len(rubrics)) or not set(numbers) <= set(STARS):
            raise UndefinedScoreError(
                f"the rubrics of this row are {', '.join(rubrics)}: expected at least two of score1_description to "
                "score5_description"
            )
        result: MetricResult = await super().ascore(
            rubrics=dict(rubrics), user_input=user_input, response=response, reference=reference
        )
        return result
