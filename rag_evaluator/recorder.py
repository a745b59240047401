"""Writes down what a metric asks the judge and what it hears, for `details.jsonl`."""

from collections import Counter
from dataclasses import asdict
from typing import Any, TypeVar

from pydantic import BaseModel
from ragas.llms.base import InstructorBaseRagasLLM

from rag_evaluator.errors import PromptTooLongError
from rag_evaluator.judge import Judge, Judgement, PromptText, digest

Answer = TypeVar("Answer", bound=BaseModel)


class Recorder(InstructorBaseRagasLLM):
    """Stands between one metric and the judge while one sample is scored.

    Args:
        judge: whose answers are recorded; None for metrics that ask nobody.

    Attributes:
        judgements: JSON of every `Judgement`, in the order of asking.
        too_long: whether a prompt did not fit the judge's window.
        first_error: the message of the first judgement that failed.
    """

    def __init__(self, judge: InstructorBaseRagasLLM | None) -> None:
        self.judge = judge
        self.judgements: list[dict[str, Any]] = []
        self.too_long = False
        self.first_error: str | None = None
        self._asked: Counter[str] = Counter()

    async def agenerate(self, prompt: str, response_model: type[Answer]) -> Answer:
        assert self.judge is not None
        occurrence = self._asked[prompt]  # a metric that asks the same again wants another sample, if there is sampling
        self._asked[prompt] += 1
        tokens = (0, 0)
        try:
            if isinstance(self.judge, Judge):
                opinion = await self.judge.opinion(prompt, response_model, occurrence)
                answer, tokens = opinion.answer, (opinion.prompt_tokens, opinion.generated_tokens)
            else:
                answer = await self.judge.agenerate(prompt, response_model)
        except Exception as error:
            self.too_long = self.too_long or isinstance(error, PromptTooLongError)
            self._failed(prompt, str(error) or type(error).__name__)
            raise
        self._write(prompt, answer.model_dump(mode="json"), None, tokens)
        assert isinstance(answer, response_model)
        return answer

    def generate(self, prompt: str, response_model: type[Answer]) -> Answer:
        raise NotImplementedError("the metrics of ragas.metrics.collections ask through agenerate")

    def _failed(self, prompt: str, error: str) -> None:
        self.first_error = self.first_error or error
        if self._asked[prompt] == 1:  # some metrics ask again after a failure: told once
            self._write(prompt, None, error, (0, 0))

    def _write(self, prompt: str, response: dict[str, Any] | None, error: str | None, tokens: tuple[int, int]) -> None:
        judgement = Judgement(
            prompt=prompt.name if isinstance(prompt, PromptText) else "prompt",
            prompt_digest=digest(prompt),
            source_digest=prompt.source if isinstance(prompt, PromptText) else "",
            response=response,
            error=error,
            prompt_tokens=tokens[0],
            generated_tokens=tokens[1],
        )
        self.judgements.append(asdict(judgement))
