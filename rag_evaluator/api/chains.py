"""Asks a RAG system questions: a LangChain Runnable in its own batches, or a function."""

import asyncio
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rag_evaluator.dataset.columns import accepted_names
from rag_evaluator.errors import ConfigError
from rag_evaluator.models.event_loop import run

# Any in this module: chains and their results are of any library.

Ask = Callable[[Sequence[str]], Iterable[Any]]
"""The results of some questions, in order; an exception in the place of one that failed."""


def asking(chain: Any, input_key: str | None, max_concurrency: int) -> Ask:
    """How to ask a chain.

    Args:
        chain: a Runnable, a function of a question, or a coroutine function.
        input_key: the question is given as `{input_key: question}`; None finds out what the chain takes.
        max_concurrency: questions of a Runnable that are under way at a time.

    Raises `ConfigError` for anything else.
    """
    if hasattr(chain, "invoke") and hasattr(chain, "batch"):
        key = input_key or _key_of(chain)
        return lambda questions: _batch(chain, [_input(question, key) for question in questions], max_concurrency)
    if inspect.iscoroutinefunction(chain) or inspect.iscoroutinefunction(getattr(chain, "__call__", None)):  # noqa: B004
        return lambda questions: run(_gather(chain, [_input(question, input_key) for question in questions]))
    if callable(chain):
        return lambda questions: (_caught(chain, _input(question, input_key)) for question in questions)
    raise ConfigError(
        f"chain: expected a LangChain Runnable or a function of a question, received {type(chain).__name__}. Give the "
        "method that answers, such as query_engine.query."
    )


def _key_of(chain: Any) -> str | None:
    """The key under which a Runnable takes the question; None if it takes the question itself."""
    try:
        taken = chain.get_input_jsonschema().get("properties")
    except Exception:  # of a graph whose state is a typing.TypedDict, pydantic has no schema before Python 3.12
        taken = None
    taken = taken or getattr(chain, "channels", ())  # of a graph
    return next((name for name in (*accepted_names("user_input"), "messages") if name in taken), None)


def _input(question: str, key: str | None) -> Any:
    if key is None:
        return question
    return {key: [{"role": "user", "content": question}] if key == "messages" else question}


def _batch(chain: Any, inputs: Sequence[Any], max_concurrency: int) -> list[Any]:
    """The results of a batch. Those that share an error are asked alone: models fail for a batch as a whole."""

    def results(some: Sequence[Any]) -> list[Any]:
        try:
            return list(chain.batch(list(some), {"max_concurrency": max_concurrency}, return_exceptions=True))
        except Exception as error:
            return [error] * len(some)

    outputs = results(inputs)
    times = Counter(id(output) for output in outputs if isinstance(output, Exception))
    return [
        results([item])[0] if times[id(output)] > 1 else output for item, output in zip(inputs, outputs, strict=True)
    ]


async def _gather(function: Any, inputs: Sequence[Any]) -> list[Any]:
    return await asyncio.gather(*map(function, inputs), return_exceptions=True)


def _caught(function: Callable[[Any], Any], item: Any) -> Any:
    try:
        return function(item)
    except Exception as error:  # kept in the row of the question
        return error
