"""`refusal_correctness`: whether the system refused to answer where it should have, and only there."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult

from rag_evaluator.errors import UndefinedScoreError
from rag_evaluator.prompts.own import (
    AnswerableInput,
    AnswerableOutput,
    OwnPrompt,
    RefusedInput,
    RefusedOutput,
)

if TYPE_CHECKING:
    from ragas.llms.base import InstructorBaseRagasLLM

MissingReference = Literal["unknown", "unanswerable"]
OUTCOMES = ("rightly answered", "wrongly answered", "rightly refused", "wrongly refused")


class RefusalCorrectness(BaseMetric):
    """1 where an answerable question was answered or an unanswerable one refused, else 0.

    Args:
        llm: a judge as ragas sees one.
        missing_reference: `unanswerable`: a row with a reference can be answered, one without cannot; `unknown`: a
            reference says nothing about that.
    """

    llm: "InstructorBaseRagasLLM"

    def __init__(
        self,
        llm: "InstructorBaseRagasLLM",
        missing_reference: MissingReference = "unknown",
        name: str = "refusal_correctness",
    ) -> None:
        self.llm, self.missing_reference = llm, missing_reference
        self.answerable_prompt = OwnPrompt("refusal_correctness", "answerable_prompt")
        self.refused_prompt = OwnPrompt("refusal_correctness", "refused_prompt")
        super().__init__(name=name)

    async def ascore(  # type: ignore[override]  # as in ragas
        self,
        user_input: str,
        response: str,
        answerable: bool | None = None,
        reference: str | None = None,
        retrieved_contexts: Sequence[str] | None = None,
    ) -> MetricResult:
        """The value; the reason is one of `OUTCOMES`.

        Whether the question can be answered is what `answerable` says, else what a missing reference means, else judged
        from the contexts. Raises `UndefinedScoreError` where none of them is there.
        """
        known = self._known(answerable, reference)
        if known is None and not retrieved_contexts:
            raise UndefinedScoreError("neither answerable nor retrieved_contexts say whether there is an answer")
        if known is None:
            can, refused = await asyncio.gather(
                self._can_be_answered(user_input, retrieved_contexts or []), self._is_refused(user_input, response)
            )
        else:
            can, refused = known, await self._is_refused(user_input, response)
        is_right = can != refused
        outcome = f"{'rightly' if is_right else 'wrongly'} {'refused' if refused else 'answered'}"
        return MetricResult(value=float(is_right), reason=outcome)

    def _known(self, answerable: bool | None, reference: str | None) -> bool | None:
        """Whether the row says that the question can be answered; None where it says nothing."""
        if answerable is None and self.missing_reference == "unanswerable":
            return reference is not None
        return answerable

    async def _can_be_answered(self, user_input: str, contexts: Sequence[str]) -> bool:
        prompt = self.answerable_prompt.to_string(AnswerableInput(user_input=user_input, contexts=list(contexts)))
        answer: AnswerableOutput = await self.llm.agenerate(prompt, AnswerableOutput)
        return answer.verdict == 1

    async def _is_refused(self, user_input: str, response: str) -> bool:
        prompt = self.refused_prompt.to_string(RefusedInput(user_input=user_input, response=response))
        answer: RefusedOutput = await self.llm.agenerate(prompt, RefusedOutput)
        return answer.verdict == 1
