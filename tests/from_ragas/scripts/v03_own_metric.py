"""ragas 0.3: a metric of one's own, a subclass of `MetricWithLLM` with a prompt; `aevaluate`."""

import asyncio
import typing as t
from dataclasses import dataclass, field

from local_models import llm
from pydantic import BaseModel

from rag_evaluator.ragas import EvaluationDataset, aevaluate
from rag_evaluator.ragas.metrics import Faithfulness
from rag_evaluator.ragas.metrics.base import MetricType, MetricWithLLM, SingleTurnMetric
from rag_evaluator.ragas.prompt import PydanticPrompt


class Answered(BaseModel):
    question: str
    response: str


class Verdict(BaseModel):
    reason: str
    verdict: t.Literal[0, 1]


class AnswersPrompt(PydanticPrompt[Answered, Verdict]):
    instruction = "Decide whether the response answers the question: 1 if it does, else 0."
    input_model = Answered
    output_model = Verdict
    examples = [
        (
            Answered(question="Who built it?", response="It is a bridge."),
            Verdict(reason="Nobody is named.", verdict=0),
        )
    ]


@dataclass
class Answers(MetricWithLLM, SingleTurnMetric):
    name: str = "answers"
    _required_columns: dict[MetricType, set[str]] = field(
        default_factory=lambda: {MetricType.SINGLE_TURN: {"user_input", "response"}}
    )
    prompt: PydanticPrompt = field(default_factory=AnswersPrompt)

    async def _single_turn_ascore(self, sample, callbacks):
        asked = Answered(question=sample.user_input, response=sample.response)
        answer = await self.prompt.generate(data=asked, llm=self.llm, callbacks=callbacks)
        return answer.verdict


dataset = EvaluationDataset.from_list(
    [
        {
            "user_input": "Where was Nolu Brak born?",
            "retrieved_contexts": ["Nolu Brak was born in Tesk."],
            "response": "In Tesk.",
        },
        {"user_input": "Who built it?", "retrieved_contexts": ["Tesk paid."], "response": "The town."},
    ]
)
result = asyncio.run(aevaluate(dataset, metrics=[Answers(), Faithfulness()], llm=llm))
print(result)
