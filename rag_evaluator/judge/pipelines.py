"""What a judge is that a user gives: a pipeline, a LangChain model, or a judge already."""

from typing import Any

from rag_evaluator.config import DEMO, JudgeConfig
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.hub import name_of
from rag_evaluator.ragas_library import InstructorBaseRagasLLM

from .protocol import JudgeProtocol

PIPELINE_KEYS = {"max_new_tokens": "max_new_tokens", "temperature": "temperature", "do_sample": "temperature"}


def is_langchain(judge: Any) -> bool:
    """Whether an object is a LangChain language model, found out without importing LangChain."""
    return any(kind.__module__.startswith("langchain_core.language_models") for kind in type(judge).__mro__)


class NotLoaded:
    """Marks a judge before it is loaded: a look at its signature would ask a server for it."""


def is_judge(judge: Any) -> bool:
    """Whether it can be asked. Any: whatever the user gave."""
    return not isinstance(judge, NotLoaded) and isinstance(judge, InstructorBaseRagasLLM | JudgeProtocol)


def is_pipeline(judge: Any) -> bool:
    """Whether it is a `HuggingFacePipeline` or a pipeline of transformers. Any: whatever the user gave."""
    return not is_judge(judge) and all(hasattr(pipeline_of(judge), part) for part in ("model", "tokenizer"))


def pipeline_of(judge: Any) -> Any:
    """langchain's wrapper holds transformers' pipeline."""
    return getattr(judge, "pipeline", judge)


def model_in(judge: Any) -> Any:
    """The model inside a judge, or its name; None where it has neither."""
    return getattr(pipeline_of(judge) if is_pipeline(judge) else judge, "model", None)


def named(config: JudgeConfig, judge: Any) -> JudgeConfig:
    """The settings of a judge that was given as an object, with its name as model."""
    name = name_of(judge, model_in(judge)) or type(judge).__name__
    return config.model_copy(update={"model": DEMO if name == str(DEMO_JUDGE) else name})


def unread_settings(pipeline: Any, config: JudgeConfig) -> dict[str, str]:
    """Settings of a pipeline, `max_new_tokens=5`, that our engine does not read -> the key of `judge` that it reads."""
    own = getattr(pipeline, "pipeline_kwargs", None) or {}  # of LangChain
    given = {**getattr(pipeline_of(pipeline), "_forward_params", {}), **own}
    values = {name: (given.get(name) or 0, key) for name, key in PIPELINE_KEYS.items()}
    return {f"{name}={value}": key for name, (value, key) in values.items() if value not in (0, getattr(config, key))}
