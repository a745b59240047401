"""Any ragas LLM as a judge. How a judge is shown to ragas is `rag_evaluator.metrics.tracing`."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from ragas.llms.base import InstructorBaseRagasLLM

from rag_evaluator.judge.judge import Judge
from rag_evaluator.judge.protocol import Capabilities, Draw, JudgeProtocol, Opinion


def as_judge(judge: Any) -> JudgeProtocol:
    """What can be asked behind a judge as users give it: a `Judge`, a `ScriptedJudge`, any ragas LLM, or itself.

    Any: users may give anything. Raises `TypeError` for what is none of these.
    """
    if isinstance(judge, Judge):
        return judge.inner
    if isinstance(judge, InstructorBaseRagasLLM):
        return RagasJudge(judge)
    if isinstance(judge, JudgeProtocol):
        return judge
    raise TypeError(f"expected a judge, received {type(judge).__name__}")


class RagasJudge:
    """A ragas LLM that knows nothing of tokens; one with `achoose`, as `ScriptedJudge` has it, gives probabilities.

    Args:
        llm: asked through its `agenerate`, so that what a subclass does there counts.
    """

    signature: str | None = None
    about: Mapping[str, str] = {}

    def __init__(self, llm: InstructorBaseRagasLLM) -> None:
        self.llm: Any = llm  # `achoose` is no part of ragas' own class
        self.capabilities = Capabilities(
            in_flight=1,
            greedy=getattr(llm, "greedy", None),
            probabilities=hasattr(llm, "achoose"),
            confidence=False,
            counts_tokens=False,
            same_bytes="no",
        )

    async def opinion(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Opinion:
        return Opinion(await self.llm.agenerate(prompt, response_model))

    async def choose(self, prompt: str, options: Sequence[str], draw: Draw = (0, 0)) -> Mapping[str, float]:
        shares: Mapping[str, float] = await self.llm.achoose(prompt, options)
        return shares

    def count(self, text: str) -> int:
        raise NotImplementedError("this judge has no tokenizer: see capabilities.counts_tokens")

    def room(self, prompt: str) -> int:
        raise NotImplementedError("this judge has no tokenizer: see capabilities.counts_tokens")

    async def aclose(self) -> None:
        """Whoever made the LLM closes it."""
