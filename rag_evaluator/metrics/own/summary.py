"""`summary_score` of ragas, missing with a reason where it divides by the number of no questions."""

from ragas.metrics.collections import SummaryScore

from rag_evaluator.errors import JudgementError, UndefinedScoreError


class DefinedSummary(SummaryScore):
    """ragas' own, refused where there is nothing to ask about, and where not every question is answered."""

    async def _extract_keyphrases(self, text: str) -> list[str]:
        found: list[str] = await super()._extract_keyphrases(text)
        if not found:
            raise UndefinedScoreError("the judge found no keyphrase in the reference contexts")
        return found

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
