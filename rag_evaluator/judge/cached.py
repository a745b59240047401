"""Asks the judge each thing once: what it said is remembered, on disk where there are records."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from rag_evaluator.errors import JudgementError
from rag_evaluator.files.digest import short_digest
from rag_evaluator.judge.adapters import as_judge

Answer = TypeVar("Answer", bound=BaseModel)
DECIMALS = 6
NEVER = math.exp(-30)  # stands for a probability of 0


class KeptAnswers(Protocol):
    """Answers of this and earlier runs, by signature of the judge and digest of the prompt."""

    def find(self, key: tuple[str, str]) -> dict[str, Any] | None: ...

    def append(self, key: tuple[str, str], answer: Mapping[str, Any]) -> None: ...


class Asker:
    """Stands between `sort` or `generate` and the judge.

    Args:
        judge: a judge, or an LLM that `as_judge` takes; one without probabilities is asked for its answer instead.
        signature: what answers depend on beside the prompt; answers of another signature are not used.
        records: answers of this and earlier runs; None keeps those of this run in memory.

    Attributes:
        asked: questions that reached the judge; not those that were answered from memory.

    Belongs to one event loop. A question that failed is asked again the next time.
    """

    def __init__(self, judge: Any, signature: str = "", records: KeptAnswers | None = None) -> None:
        self.judge, self.signature, self.records = as_judge(judge), signature, records
        self.asked = 0
        self._said: dict[str, asyncio.Future[dict[str, Any]]] = {}

    async def log_odds(self, prompt: str, answer: BaseModel, other: BaseModel) -> float:
        """How much likelier one answer is than the other, as a logarithm: 0 where both are as likely, at most 30.

        Raises `JudgementError`.
        """

        async def ask() -> dict[str, Any]:
            one, rest = (max(share, NEVER) for share in await self._shares(prompt, (answer, other)))
            return {"log_odds": round(math.log(one / rest), DECIMALS)}

        return float((await self._once(prompt, ask))["log_odds"])

    async def probability(self, prompt: str, answer: BaseModel, other: BaseModel) -> float:
        """The probability of the first of two answers, [0, 1]. Raises `JudgementError`."""
        return round(sigmoid(await self.log_odds(prompt, answer, other)), DECIMALS)

    async def answer(self, prompt: str, response_model: type[Answer]) -> Answer:
        """The judge's answer. Raises `JudgementError`."""

        async def ask() -> dict[str, Any]:
            opinion = await self.judge.opinion(prompt, response_model)
            return {"answer": opinion.answer.model_dump(mode="json")}

        return response_model.model_validate((await self._once(prompt, ask))["answer"])

    async def _shares(self, prompt: str, answers: Sequence[BaseModel]) -> list[float]:
        if self.judge.capabilities.probabilities:
            options = [answer.model_dump_json(indent=4) for answer in answers]
            shares = await self.judge.choose(prompt, options)
            return [shares[option] for option in options]
        said = (await self.judge.opinion(prompt, type(answers[0]))).answer
        if said not in answers:
            raise JudgementError(f"the judge answered {said!r:.80}, which is none of the choices")
        return [float(said == answer) for answer in answers]

    async def _once(self, prompt: str, ask: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """What the judge says; whoever asks the same meanwhile waits for the same answer."""
        key = short_digest(prompt)
        if self.records is not None and (recorded := self.records.find((self.signature, key))) is not None:
            return recorded
        if key not in self._said:
            self._said[key] = asyncio.ensure_future(self._ask(key, ask))
        return await asyncio.shield(self._said[key])

    async def _ask(self, key: str, ask: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        self.asked += 1
        try:
            said = await ask()
        except BaseException:
            del self._said[key]
            raise
        if self.records is not None:
            self.records.append((self.signature, key), said)
            del self._said[key]
        return said


def sigmoid(log_odds: float) -> float:
    """The probability that belongs to log odds."""
    return 1 / (1 + math.exp(-log_odds))
