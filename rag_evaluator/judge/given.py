"""Judges that users give: a ragas LLM, a LangChain model, as a `JudgeProtocol`."""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ValidationError

from rag_evaluator.dataset import THOUGHTS
from rag_evaluator.errors import JudgementError
from rag_evaluator.hub import (
    unwrapped,
)
from rag_evaluator.ragas_library import InstructorBaseRagasLLM

from .grammar.faults import plain
from .grammar.schema import on_scale, tighten, unique_keys
from .judge import RagasLLM
from .pipelines import is_langchain
from .protocol import ENDLESS, Capabilities, Draw, JudgeProtocol, Opinion, WithoutTokens

IN_FLIGHT = 16  # whoever answers may be a server that batches
WORDS = 50  # by which the end of a prompt is known that a pipeline repeats, perhaps with other spaces


def as_judge(judge: Any) -> JudgeProtocol:
    """What is asked behind a judge as users give it: a `Judge`, a `ScriptedJudge`, a ragas or LangChain LLM, or itself.

    Any: users may give anything. Raises `TypeError` for what is no judge.
    """
    judge = unwrapped(judge)
    if isinstance(judge, RagasLLM):
        return judge.inner
    if isinstance(judge, InstructorBaseRagasLLM):
        return RagasJudge(judge)
    if isinstance(judge, JudgeProtocol):
        return judge
    if is_langchain(judge):
        return LangchainJudge(judge)
    raise TypeError(f"expected a judge, received {type(judge).__name__}")


class RagasJudge(WithoutTokens):
    """A ragas LLM; one with `achoose`, as `ScriptedJudge` has it, gives probabilities.

    Args:
        llm: asked through its `agenerate`, so that what a subclass does there counts.
    """

    def __init__(self, llm: InstructorBaseRagasLLM) -> None:
        self.llm: Any = llm  # `achoose` is no part of ragas' own class
        self.capabilities = Capabilities(IN_FLIGHT, getattr(llm, "greedy", None), hasattr(llm, "achoose"))

    async def opinion(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Opinion:
        answer = await self.llm.agenerate(prompt, response_model)
        return Opinion(on_scale(answer, response_model, prompt))

    async def choose(self, prompt: str, options: Sequence[str], draw: Draw = (0, 0)) -> Mapping[str, float]:
        shares: Mapping[str, float] = await self.llm.achoose(prompt, options)
        return shares


class LangchainJudge(WithoutTokens):
    """A LangChain LLM or chat model; an answer that is not what was asked for, or is off its scale, is no judgement.

    A chat model that can is asked by `with_structured_output`, others for JSON in their text. Some have the method and
    cannot: they call no tools, or their server takes none. Their text is read, too.

    Args:
        llm: the model.
        most: questions that are open at a time; None: no bound.
    """

    def __init__(self, llm: Any, most: int | None = None) -> None:
        self.llm = llm
        self.most = most or ENDLESS
        self.capabilities = Capabilities(IN_FLIGHT, None, False)
        self._places: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    async def opinion(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Opinion:
        form = _form(self.llm, response_model)
        reply = None
        async with self._places.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self.most)):
            if form is not None:
                with suppress(Exception):  # each provider has errors of its own for what its server cannot do
                    structured = await form.ainvoke(str(prompt))
                    reply = structured["parsed"] or _text_of(structured["raw"])
            if reply is None:
                reply = _text_of(await self.llm.ainvoke(str(prompt)))
        value = _answer(reply, prompt, response_model) if isinstance(reply, str) else reply
        return Opinion(on_scale(value, response_model, prompt))

    async def choose(self, prompt: str, options: Sequence[str], draw: Draw = (0, 0)) -> Mapping[str, float]:
        raise NotImplementedError("this judge gives no probabilities: see capabilities.probabilities")


def _form(llm: Any, response_model: type[BaseModel]) -> Any:
    """The model with structured output; None if it has none. Any: LangChain's runnables."""
    schema = plain(tighten(response_model))
    if "anyOf" in schema:  # tools take one object
        return None
    named = {"title": response_model.__name__, "description": f"A {response_model.__name__}", **schema}
    try:
        return llm.with_structured_output(named, include_raw=True)
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return None


def _text_of(reply: Any) -> str:
    return str(getattr(reply, "text", reply))  # a chat model gives a message


def _answer(reply: str, prompt: str, response_model: type[BaseModel]) -> Any:
    """The first JSON object of a text that fits, else the last one; the prompt and thoughts are left out. Any: JSON.

    Raises `JudgementError` where there is none, and for one that has a key twice.
    """
    echo = r"\s*".join(map(re.escape, prompt.split()[-WORDS:])) or "\0"
    text = re.split(echo, reply)[-1]
    values = []
    for opening, end in THOUGHTS.items():
        text = text.rpartition(end)[2].partition(opening)[0]
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=unique_keys)
    place = text.find("{")
    while place >= 0:
        try:
            value, place = decoder.raw_decode(text, place)
            values.append(value)
            return response_model.model_validate(value)
        except RecursionError:
            place += 1
        except ValueError as error:
            place += not isinstance(error, ValidationError)  # else it is after the object
        place = text.find("{", place)
    if not values:
        raise JudgementError(f"the judge's answer holds no JSON: {reply!r:.80}")
    return values[-1]
