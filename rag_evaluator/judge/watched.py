"""A judge whose first question is kept, to be shown."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from rag_evaluator.judge.protocol import Capabilities, Draw, JudgeProtocol, Opinion


class WatchedJudge:
    """Stands before a judge; a `JudgeProtocol`.

    Attributes:
        first: the first prompt that it was asked; None before.
    """

    def __init__(self, judge: JudgeProtocol) -> None:
        self.judge = judge
        self.first: str | None = None

    @property
    def signature(self) -> str | None:
        return self.judge.signature

    @property
    def capabilities(self) -> Capabilities:
        return self.judge.capabilities

    @property
    def about(self) -> Mapping[str, str]:
        return self.judge.about

    async def opinion(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Opinion:
        self.first = self.first or prompt
        return await self.judge.opinion(prompt, response_model, draw)

    async def choose(self, prompt: str, options: Sequence[str], draw: Draw = (0, 0)) -> Mapping[str, float]:
        self.first = self.first or prompt
        return await self.judge.choose(prompt, options, draw)

    def count(self, text: str) -> int:
        return self.judge.count(text)

    def room(self, prompt: str) -> int:
        return self.judge.room(prompt)

    async def aclose(self) -> None:
        await self.judge.aclose()
