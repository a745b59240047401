"""ragas' rubric scores where rows or users bring rubrics of their own."""

from collections.abc import Mapping

from ragas.metrics.collections import InstanceSpecificRubrics
from ragas.metrics.result import MetricResult

from rag_evaluator.errors import UndefinedScoreError
from rag_evaluator.judge.grammar.schema import STARS, rubric_numbers


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
