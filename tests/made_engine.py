"""An engine of no model: a judge makes its requests of it and gets the replies that a test has written."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel

from rag_evaluator import ScriptedJudge
from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import EngineJudge, PromptText, as_judge


class MadeEngine:
    """Every letter is a token; it is its own encoder.

    Args:
        reply: what `generate` gives.
        answer_prefix: text that every answer begins with.
    """

    thoughts = None
    capabilities = replace(as_judge(ScriptedJudge()).capabilities, window=10**6)

    def __init__(self, reply: Any = None, answer_prefix: str = "") -> None:
        self.reply = reply
        self.answer_prefix = answer_prefix
        self.encoder = self

    def encode(self, prompt: str) -> list[int]:
        return list(map(ord, prompt))

    def continuation(self, answer: str) -> list[int]:
        return list(map(ord, answer))

    def count(self, text: str) -> int:
        return len(text)

    async def generate(self, request: Any) -> Any:
        return self.reply


def judge_of(engine: Any, **settings: Any) -> EngineJudge:
    return EngineJudge(engine, JudgeConfig(**settings))


def reply_of(text: str, complete: bool, *cut: str) -> Any:
    return SimpleNamespace(text=text, token_ids=(), complete=complete, confidence=(), cut=frozenset(cut))


def request_of(model: type[BaseModel], data: BaseModel | None = None, prefix: str = "", **settings: Any) -> Any:
    """What the model is asked: the grammar of the answer, of its second part, and the budget."""
    return judge_of(MadeEngine(None, prefix), **settings).request(PromptText("x", data), model)
