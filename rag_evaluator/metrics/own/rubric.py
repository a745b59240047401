"""`answer_rubric`: how far a response agrees with the reference, as one of five values with a reason."""

import math
from collections.abc import Mapping
from typing import Any

from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult

from rag_evaluator.judge.choices import Option
from rag_evaluator.prompts.own import Label, OwnPrompt, RubricInput, RubricOutput

VALUES: Mapping[Label, float] = {1: 0.0, 2: 0.2, 3: 0.5, 4: 0.8, 5: 1.0}
"""Label -> what it is worth."""
DECIMALS = 6


class AnswerRubric(BaseMetric):
    """The value of the label that the judge writes after its reason, [0, 1].

    Args:
        llm: a judge as ragas sees one; with `expected` it must have `achoose`, as `ScriptedJudge` has.
        expected: take the expectation over the probabilities of the five labels after the reason that the judge wrote:
            the score of G-Eval (Liu et al. 2023, section 2.3), there without a reason before it.
    """

    llm: Any  # a ragas LLM; `achoose` is no part of ragas' own class

    def __init__(self, llm: Any, expected: bool = False, name: str = "answer_rubric") -> None:
        self.llm, self.expected = llm, expected
        self.prompt = OwnPrompt("answer_rubric", "prompt")
        super().__init__(name=name)

    async def ascore(self, user_input: str, response: str, reference: str) -> MetricResult:  # type: ignore[override]  # as in ragas
        """The value, with the judge's reason. Raises `JudgementError`."""
        prompt = self.prompt.to_string(RubricInput(user_input=user_input, response=response, reference=reference))
        answer: RubricOutput = await self.llm.agenerate(prompt, RubricOutput)
        value = await self._expectation(prompt, answer.reason) if self.expected else VALUES[answer.label]
        return MetricResult(value=value, reason=answer.reason)

    async def _expectation(self, prompt: str, reason: str) -> float:
        options = {label: Option(RubricOutput(reason=reason, label=label)) for label in VALUES}
        shares = await self.llm.achoose(prompt, list(options.values()))
        total = math.fsum(shares.values())  # 1 but for rounding
        return round(math.fsum(VALUES[label] * shares[option] for label, option in options.items()) / total, DECIMALS)
