"""Any ragas or LangChain LLM as a judge. How a judge is shown to ragas is `rag_evaluator.metrics.tracing`."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from ragas.llms.base import InstructorBaseRagasLLM

from rag_evaluator.errors import JudgementError
from rag_evaluator.judge.grammar.schema import Schema, off_scale, plain, tighten
from rag_evaluator.judge.judge import Judge, RagasLLM
from rag_evaluator.judge.protocol import Capabilities, Draw, JudgeProtocol, Opinion

IN_FLIGHT = 16  # whoever answers may be a server that batches


def as_judge(judge: Any, signature: str | None = None) -> JudgeProtocol:
    """What is asked behind a judge as users give it: a `Judge`, a `ScriptedJudge`, a ragas or LangChain LLM, or itself.

    Args:
        judge: users may give anything.
        signature: what its answers depend on, if that is known; a `JudgeProtocol` has its own.

    Raises `TypeError` for what is no judge.
    """
    judge = unwrapped(judge)
    if isinstance(judge, Judge):
        judge.inner.signature = signature or judge.inner.signature
        return judge.inner
    if isinstance(judge, RagasLLM):
        return judge.inner
    if isinstance(judge, InstructorBaseRagasLLM):
        return RagasJudge(judge, signature)
    if isinstance(judge, JudgeProtocol):
        return judge
    if is_langchain(judge):
        return LangchainJudge(judge)
    raise TypeError(f"expected a judge, received {type(judge).__name__}")


def unwrapped(judge: Any) -> Any:
    """The LangChain model in the wrapper that ragas had for it; all else as it is. Any: whatever the user gave."""
    return getattr(judge, "langchain_llm", judge)


def is_langchain(judge: Any) -> bool:
    """Whether an object is a LangChain language model, found out without importing LangChain."""
    return any(kind.__module__.startswith("langchain_core.language_models") for kind in type(judge).__mro__)


class _WithoutTokens:
    """What judges have in common that know nothing of tokens."""

    signature: str | None = None
    about: Mapping[str, str] = {}

    def count(self, text: str) -> int:
        raise NotImplementedError("this judge has no tokenizer: see capabilities.counts_tokens")

    def room(self, prompt: str) -> int:
        raise NotImplementedError("this judge has no tokenizer: see capabilities.counts_tokens")

    async def aclose(self) -> None:
        """Whoever made the LLM closes it."""


class RagasJudge(_WithoutTokens):
    """A ragas LLM; one with `achoose`, as `ScriptedJudge` has it, gives probabilities.

    Args:
        llm: asked through its `agenerate`, so that what a subclass does there counts.
        signature: what its answers depend on, if that is known.
    """

    def __init__(self, llm: InstructorBaseRagasLLM, signature: str | None = None) -> None:
        self.llm: Any = llm  # `achoose` is no part of ragas' own class
        self.signature = signature
        self.capabilities = Capabilities(
            in_flight=IN_FLIGHT,
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


class LangchainJudge(_WithoutTokens):
    """A LangChain LLM or chat model; an answer that is not what was asked for, or is off its scale, is no judgement.

    A chat model that can is asked by `with_structured_output`, others for JSON in their text. Some have the
    method and cannot: they call no tools, or their server takes none. Their text is read, too, as long as no structured
    output has come.
    """

    capabilities = Capabilities(IN_FLIGHT, None, False, False, False, "no")

    def __init__(self, llm: Any) -> None:
        self.llm = llm
        self._forms: dict[type[BaseModel], Any] = {}  # response model -> a runnable, or None
        self._has_obeyed = False

    async def opinion(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Opinion:
        reply = await self._structured(str(prompt), response_model)
        if reply is None:
            reply = _text_of(await self.llm.ainvoke(str(prompt)))
        answer = _read(reply, response_model)
        for wrong in off_scale(answer, getattr(prompt, "data", None)):
            raise JudgementError(f"the {response_model.__name__} is off its scale: {wrong}")
        return Opinion(answer)

    async def choose(self, prompt: str, options: Sequence[str], draw: Draw = (0, 0)) -> Mapping[str, float]:
        raise NotImplementedError("this judge gives no probabilities: see capabilities.probabilities")

    async def _structured(self, prompt: str, response_model: type[BaseModel]) -> Any:
        """The answer as LangChain has read it, or the text in its place; None where the model must be asked for text.

        Any: whatever the model has answered.
        """
        if response_model not in self._forms:
            self._forms[response_model] = _form(self.llm, response_model)
        form = self._forms[response_model]
        if form is None:
            return None
        try:
            reply = await form.ainvoke(prompt)
        except Exception:  # each provider has errors of its own for what its server cannot do
            if self._has_obeyed:
                raise
            return None
        if reply["parsed"] is None:
            return _text_of(reply["raw"])
        self._has_obeyed = True
        return reply["parsed"]


def _form(llm: Any, response_model: type[BaseModel]) -> Any:
    """The model with structured output; None if it has none. Any: LangChain's runnables."""
    schema = _as_object(plain(tighten(response_model)))
    schema_of_answer = {"title": response_model.__name__, "description": f"A {response_model.__name__}", **schema}
    try:
        return llm.with_structured_output(schema_of_answer, include_raw=True)
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return None


def _as_object(schema: Schema) -> Schema:
    """A plain schema of several forms as one object, as tools need it; what the forms rule out is checked later."""
    if "anyOf" not in schema:
        return schema
    forms, properties = schema["anyOf"], {}
    for name, part in forms[-1]["properties"].items():
        parts = [form["properties"][name] for form in forms]
        listed = all("enum" in each for each in parts)
        options = {"enum": [value for each in parts for value in each["enum"]]} if listed else {}
        properties[name] = {"type": part["type"], **options}
    return {**forms[-1], "properties": properties}


def _text_of(reply: Any) -> str:
    return str(getattr(reply, "text", reply))  # a chat model gives a message


def _read(reply: Any, response_model: type[BaseModel]) -> BaseModel:
    """An answer from JSON in a text, or from what has been read of it. Raises `JudgementError`."""
    try:
        if isinstance(reply, str):
            return response_model.model_validate_json(reply[reply.find("{") : reply.rfind("}") + 1])
        return response_model.model_validate(reply)
    except ValidationError as error:
        first = error.errors()[0]["msg"]
        raise JudgementError(f"the answer {reply!r:.80} is no {response_model.__name__}: {first}") from error
