"""A user's own metric that asks the judge a question and takes the label of its answer for the score."""

from collections.abc import Sequence
from typing import Any

from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult

from rag_evaluator.errors import JudgementError
from rag_evaluator.prompts.loading import QuestionPrompt
from rag_evaluator.prompts.own import CustomOutput
from rag_evaluator.prompts.question import as_shown


class Asked(BaseMetric):
    """The label that the judge gives a row.

    Args:
        columns: what it is shown of the row, in this order.
        llm: a judge as ragas sees one.

    Attributes:
        prompt: holds the question and its scale; set by whoever loads the prompts.
    """

    prompt: QuestionPrompt

    def __init__(self, columns: Sequence[str], llm: Any) -> None:
        self.columns, self.llm = columns, llm
        super().__init__(name="custom")

    async def ascore(self, **values: Any) -> MetricResult:
        """Raises `JudgementError` for a label that the scale does not have: only some judges are bound to it."""
        shown = {column: as_shown(values[column]) for column in self.columns}
        answer = await self.llm.agenerate(self.prompt.ask(shown), CustomOutput)
        if str(answer.label) not in self.prompt.scale:
            raise JudgementError(f"the label is {answer.label}: expected one of {', '.join(self.prompt.scale)}")
        return MetricResult(value=float(answer.label), reason=answer.reason)
