"""The 48 questions that every engine must answer alike: all prompts of all metrics, and what is awkward.

Answers that their limits cut (a string, a list), control tokens in the data, texts in other scripts, a partition.
"""

import json
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import EngineJudge, PromptText
from rag_evaluator.judge.engines.protocol import Engine
from rag_evaluator.judge.protocol import Request

Question = tuple[PromptText, type[BaseModel], int]
"""Prompt, response model, and the budget of the answer."""
FILE = Path(__file__).with_name("requests48.jsonl")


def questions() -> Iterator[Question]:
    """All 48, in order."""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        given = json.loads(line)
        data = _class(given["data_model"]).model_validate(given["data"])
        yield PromptText(given["prompt"], data), _class(given["response_model"]), given["max_new_tokens"]


def requests(engine: Engine, asked: Iterable[Question] | None = None, **settings: Any) -> list[Request]:
    """Questions as an engine gets them.

    Args:
        asked: which; None: all.
    """
    return [
        EngineJudge(engine, JudgeConfig(max_new_tokens=budget, **settings)).request(prompt, model)
        for prompt, model, budget in (questions() if asked is None else asked)
    ]


def _class(name: str) -> type[BaseModel]:
    module, attribute = name.split(":")
    found: type[BaseModel] = getattr(import_module(module), attribute)
    return found
