"""A judge that is asked each thing once: its answers are kept, on disk where there are records."""

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel

from rag_evaluator.files.digest import short_digest
from rag_evaluator.files.records import Records
from rag_evaluator.judge.adapters import as_judge
from rag_evaluator.judge.choices import log_ratio, shares_of, sigmoid
from rag_evaluator.judge.protocol import Capabilities, Draw, Opinion
from rag_evaluator.models.single_flight import SingleFlight

Kept = Mapping[str, Any]  # JSON
Question = tuple[str, Hashable]  # digest of the prompt and the draw; the response model, or the options
Answer = TypeVar("Answer")


class CachedJudge:
    """Stands before a judge; a `JudgeProtocol`.

    Args:
        judge: a judge, or an LLM that `as_judge` takes.
        signature: what answers depend on beside the question; answers of another signature are not used. None takes
            the judge's own.
        records: answers of this and earlier runs; None keeps those of this run in memory.

    Attributes:
        asked: questions that reached the judge; not those that were answered from memory.

    An opinion has its answer only: what it cost is not kept. Options that are an `Option` can be chosen from even if
    the judge gives no probabilities. On disk an answer is found by its prompt, which says what is asked for.
    """

    def __init__(self, judge: Any, signature: str | None = None, records: Records | None = None) -> None:
        self.judge = as_judge(judge)
        self.signature = self.judge.signature if signature is None else signature
        self.records = None if self.signature is None else records
        self.asked = 0
        self._flights = SingleFlight[Question, Kept](None if self.records is None else 0)

    @property
    def capabilities(self) -> Capabilities:
        return replace(self.judge.capabilities, probabilities=True, confidence=False)

    @property
    def about(self) -> Mapping[str, str]:
        return self.judge.about

    async def opinion(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Opinion:
        """The judge's answer. Raises `JudgementError`."""

        async def ask() -> Kept:
            opinion = await self.judge.opinion(prompt, response_model, draw)
            return {"answer": opinion.answer.model_dump(mode="json")}

        def read(kept: Kept) -> Opinion:
            return Opinion(response_model.model_validate(kept["answer"]))

        return await self._once(prompt, draw, response_model, ask, read)

    async def choose(self, prompt: str, options: Sequence[str], draw: Draw = (0, 0)) -> Mapping[str, float]:
        """The probability of each option; of two, as they follow from log odds of 6 decimals.

        Raises `JudgementError`.
        """

        async def ask() -> Kept:
            found = await shares_of(self.judge, prompt, options, draw)
            shares = [found[option] for option in options]
            return {"log_odds": log_ratio(*shares)} if len(shares) == 2 else {"shares": shares}

        def read(kept: Kept) -> Mapping[str, float]:
            two = len(options) == 2
            shares = [sigmoid(kept["log_odds"]), sigmoid(-kept["log_odds"])] if two else kept["shares"]
            return dict(zip(options, shares, strict=True))

        return await self._once(prompt, draw, tuple(options), ask, read)

    def count(self, text: str) -> int:
        return self.judge.count(text)

    def room(self, prompt: str) -> int:
        return self.judge.room(prompt)

    async def aclose(self) -> None:
        self._flights.clear()
        await self.judge.aclose()

    async def _once(
        self,
        prompt: str,
        draw: Draw,
        wanted: Hashable,
        ask: Callable[[], Awaitable[Kept]],
        read: Callable[[Kept], Answer],
    ) -> Answer:
        """What the judge says; whoever asks the same meanwhile waits for the same answer."""
        key = (self.signature or "", short_digest(prompt if draw == (0, 0) else f"{prompt}\0{draw[0]}.{draw[1]}"))
        if self.records is not None and (kept := self.records.find(key)) is not None:
            with suppress(KeyError, ValueError):  # the answer to another question in the same words
                return read(kept)

        async def ask_and_keep() -> Kept:
            self.asked += 1
            answer = await ask()
            if self.records is not None:
                self.records.append(key, answer)
            return answer

        return read(await self._flights.get((key[1], wanted), ask_and_keep))
