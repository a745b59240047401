"""Judges as ragas LLMs: a prompt and a response model in, a validated object out; and judges before they are loaded."""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ValidationError

from rag_evaluator.config import DEMO, JudgeConfig, check_engine_keys, model_path, refuse_service, with_engine
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.errors import JudgementError, ModelError
from rag_evaluator.files import short_digest
from rag_evaluator.hub import (
    UNNAMED,
    arguments_part,
    as_line,
    fingerprint,
    free_memory,
    identity_of,
    name_of,
    unwrapped,
)
from rag_evaluator.judge.encoding.chat import OPENINGS
from rag_evaluator.judge.engine_judge import EngineJudge, engine_of
from rag_evaluator.judge.engines.event_loop import MODELS, run
from rag_evaluator.judge.engines.protocol import Engine, find_engine
from rag_evaluator.judge.grammar.faults import plain
from rag_evaluator.judge.grammar.schema import on_scale, tighten, unique_keys
from rag_evaluator.judge.protocol import ENDLESS, Capabilities, Draw, JudgeProtocol, Opinion, WithoutTokens
from rag_evaluator.ragas_library import InstructorBaseRagasLLM
from rag_evaluator.resources import __version__

if TYPE_CHECKING:
    from langchain_huggingface import HuggingFacePipeline

Answer = TypeVar("Answer", bound=BaseModel)


class RagasLLM(InstructorBaseRagasLLM):
    """Any judge as the LLM of ragas' own metrics.

    Attributes:
        inner: what is asked, a `JudgeProtocol`. The two are apart because the public `choose` is not a coroutine.
    """

    def __init__(self, inner: JudgeProtocol) -> None:
        self.inner = inner

    async def agenerate(self, prompt: str, response_model: type[Answer]) -> Answer:
        """The judge's answer, always valid. Raises `JudgementError` with the reason if there can be none."""
        opinion = await self.inner.opinion(prompt, response_model)
        assert isinstance(opinion.answer, response_model)
        return opinion.answer

    def generate(self, prompt: str, response_model: type[Answer]) -> Answer:
        """`agenerate` for callers without an event loop; works inside a running one, too."""
        answer: Answer = run(self.agenerate(prompt, response_model))
        return answer

    async def achoose(self, prompt: str, options: Sequence[str]) -> dict[str, float]:
        """The probability of each option as the answer, summing to 1, from the logits after the prompt.

        Raises `PromptTooLongError` if the prompt does not fit the model's window.
        """
        return dict(await self.inner.choose(prompt, options))

    def choose(self, prompt: str, options: Sequence[str]) -> dict[str, float]:
        """`achoose` for callers without an event loop; works inside a running one, too."""
        shares: dict[str, float] = run(self.achoose(prompt, options))
        return shares

    @property
    def pipeline(self) -> "HuggingFacePipeline":
        """The model as LangChain runs it; not to be used while it judges.

        Raises `ModelError` for a judge whose model the engine `transformers` does not run.
        """
        pipeline: HuggingFacePipeline | None = getattr(engine_of(self.inner), "pipeline", None)
        if pipeline is None:
            raise ModelError(
                "judge: only a model that judge.engine: transformers runs has a HuggingFacePipeline. Set that engine, "
                "or give LangChain a model of its own, for instance ChatOpenAI with the address of your server."
            )
        return pipeline


class Judge(RagasLLM):
    """A local causal language model that answers under the grammar of the response model.

    Args:
        pipeline: a `text-generation` `HuggingFacePipeline` (or a transformers pipeline) already loaded; or what a row
            of `ENGINES` loads.
        config: decoding settings; its model keys are not used.

    Identical requests are asked once (the last 65,536 replies are remembered). Safe for any number of concurrent
    `agenerate` calls on one event loop; one thread owns the model. While it judges, the model must not run elsewhere:
    its attention function is exchanged for each pass.
    """

    def __init__(self, pipeline: "HuggingFacePipeline | Any", config: JudgeConfig | None = None) -> None:
        self.config = config or JudgeConfig()
        loaded: Any = pipeline  # an `EngineJudge` asks an engine; a server is a judge of its own
        if not isinstance(pipeline, Engine | JudgeProtocol):
            from rag_evaluator.judge.engines.transformers.engine import TransformersEngine

            self.config = _named(self.config, pipeline)
            loaded = TransformersEngine.of_pipeline(pipeline, self.config)
        self.inner: Any = EngineJudge(loaded, self.config) if isinstance(loaded, Engine) else loaded
        self.model_id: str = loaded.model_id

    @property
    def about(self) -> Mapping[str, str]:
        """How the model is run: `path`, `why` where it is the slow one, `alone` where rows are decoded one by one."""
        return dict(self.inner.about)

    @classmethod
    def from_config(cls, config: JudgeConfig, offline: bool = True) -> "Judge":
        """Load the configured model. Raises `ConfigError` for keys of another engine, `ModelError`."""
        check_engine_keys(config, lambda *_: "JudgeConfig")
        config = with_engine(config)
        return cls(find_engine(config.engine).load(config, offline), config)


IN_FLIGHT = 16  # whoever answers may be a server that batches


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


def is_langchain(judge: Any) -> bool:
    """Whether an object is a LangChain language model, found out without importing LangChain."""
    return any(kind.__module__.startswith("langchain_core.language_models") for kind in type(judge).__mro__)


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
        return Opinion(on_scale(answer, response_model, getattr(prompt, "data", None)))

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
        return Opinion(on_scale(value, response_model, getattr(prompt, "data", None)))

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


WORDS = 50  # by which the end of a prompt is known that a pipeline repeats, perhaps with other spaces


def _answer(reply: str, prompt: str, response_model: type[BaseModel]) -> Any:
    """The first JSON object of a text that fits, else the last one; the prompt and thoughts are left out. Any: JSON.

    Raises `JudgementError` where there is none, and for one that has a key twice.
    """
    echo = r"\s*".join(map(re.escape, prompt.split()[-WORDS:])) or "\0"
    text = re.split(echo, reply)[-1]
    values = []
    for opening, end, _ in OPENINGS:
        text = text.rpartition(end)[2].partition(opening.strip())[0]
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


LLM = InstructorBaseRagasLLM
"""A judge as metrics of `ragas.metrics.collections` take one."""


class LazyJudge:
    """A judge before it is loaded.

    Args:
        judge: a model folder, a hub id or `demo`; a `HuggingFacePipeline` or transformers pipeline; a ragas or
            LangChain LLM; a `JudgeProtocol`; None takes the configured model.
        config: settings of the judge.
        offline: whether hub ids must be in the cache, and objects must not ask another machine.

    Attributes:
        config: settings that count: those of the judge itself if it has some. `model` names an object, too.
        model: the judge, as far as it was given or loaded.
        is_object: whether it was given as an object, so that no configuration says all about it.

    Raises `ModelError` for objects that cannot judge, `ConfigError` for a path with an unknown variable.
    """

    def __init__(self, judge: Any, config: JudgeConfig, offline: bool = True) -> None:
        judge = unwrapped(judge)
        if is_langchain(judge) and is_pipeline(inner := getattr(judge, "llm", None)):  # of a ChatHuggingFace
            judge = inner
        if isinstance(judge, str | Path):
            config = config.model_copy(update={"model": model_path(str(judge), Path.cwd())})
            judge = None
        if not (judge is None or _is_judge(judge) or is_pipeline(judge) or is_langchain(judge)):
            raise ModelError(
                f"judge: expected a model folder, a HuggingFacePipeline, a transformers text-generation pipeline, "
                f"a LangChain language model or a ragas InstructorBaseRagasLLM, received {type(judge).__name__}."
            )
        if offline and judge is not None:
            refuse_service(judge, "judge")
        self.config = judge.config if isinstance(judge, Judge) else config if judge is None else _named(config, judge)
        self.offline = offline
        self.model = judge
        self.is_object = judge is not None

    @property
    def llm(self) -> LLM:
        """The judge as the LLM of ragas' own metrics, loaded if it is not yet. Raises `ModelError`."""
        judge = self.load()
        return self.model if isinstance(self.model, InstructorBaseRagasLLM) else RagasLLM(judge)

    def load(self) -> JudgeProtocol:
        """The judge, loaded if it is not yet. Raises `ModelError`."""
        if self.model is None:
            self.model = Judge.from_config(self.config, self.offline)
        elif is_pipeline(self.model):
            self.model = Judge(self.model, self.config)
        return as_judge(self.model)

    def release(self) -> None:
        """Free the memory of a model that was loaded here, which `load` loads again; one that was given is not ours."""
        if self.model is not None and not self.is_object:
            run(as_judge(self.model).aclose())
            self.model = None
            MODELS.submit(int).result()  # its thread lets go of the last batch, and so of the model
            free_memory()

    def check(self) -> None:
        """Everything that can fail before loading. Raises `ModelError`."""
        if self.model is None:
            find_engine(self.config.engine).find(self.config, self.offline)

    @property
    def greedy(self) -> bool | None:
        """See `Capabilities`."""
        if self.model is None or is_pipeline(self.model):
            return None if self.config.engine == "server" else self.config.temperature == 0
        return as_judge(self.model).capabilities.greedy

    @cached_property
    def identity(self) -> str | None:
        """Fingerprint of the model. Raises `ModelError`.

        None where nothing tells two such judges apart, so that answers must not be kept for later runs: a LangChain
        model's name says nothing of its settings.
        """
        if not self.is_object:
            return fingerprint(find_engine(self.config.engine).find(self.config, self.offline))
        if isinstance(self.model, InstructorBaseRagasLLM) or is_pipeline(self.model):
            return identity_of(self.model, _model_in(self.model))
        return None if is_langchain(self.model) or self.model.signature is None else short_digest(self.model.signature)

    @property
    def parts(self) -> dict[str, Any]:
        """What its answers depend on beside the prompt, by name."""
        return {**judge_parts(self.config, self.identity or UNNAMED), **self._engine_parts}

    @cached_property
    def _engine_parts(self) -> Mapping[str, str]:
        """What answers of this engine depend on; asked once, since a server is asked for it."""
        if self.is_object:
            model = engine_of(self.model.inner) if isinstance(self.model, Judge) else _model_in(self.model)
            dtype = getattr(model, "dtype", None)
            return {} if dtype is None else {"dtype": str(dtype).removeprefix("torch.")}
        return find_engine(self.config.engine).signature_parts(self.config, self.offline)

    @property
    def line(self) -> str:
        """The same as one line, also where the judge has no name."""
        return as_line({"rag-evaluator": __version__, **self.parts})

    @property
    def signature(self) -> str | None:
        return None if self.identity is None else self.line


def source_of(judge: Any, config: JudgeConfig, offline: bool = True) -> LazyJudge:
    """The source of a judge as users give it; a source as it is. Raises `ModelError` for what cannot judge."""
    return judge if isinstance(judge, LazyJudge) else LazyJudge(judge, config, offline)


def _is_judge(judge: Any) -> bool:
    if isinstance(judge, LazyJudge):  # the check below would read its signature, for which a server is asked
        return False
    return isinstance(judge, InstructorBaseRagasLLM | JudgeProtocol)


def is_pipeline(judge: Any) -> bool:
    """Whether it is a `HuggingFacePipeline` or a pipeline of transformers. Any: whatever the user gave."""
    return not _is_judge(judge) and all(hasattr(_pipeline_of(judge), part) for part in ("model", "tokenizer"))


def _pipeline_of(judge: Any) -> Any:
    """langchain's wrapper holds transformers' pipeline."""
    return getattr(judge, "pipeline", judge)


def _model_in(judge: Any) -> Any:
    """The model inside a judge, or its name; None where it has neither."""
    return getattr(_pipeline_of(judge) if is_pipeline(judge) else judge, "model", None)


def _named(config: JudgeConfig, judge: Any) -> JudgeConfig:
    """The settings of a judge that was given as an object, with its name as model."""
    name = name_of(judge, _model_in(judge)) or type(judge).__name__
    return config.model_copy(update={"model": DEMO if name == str(DEMO_JUDGE) else name})


PIPELINE_KEYS = {"max_new_tokens": "max_new_tokens", "temperature": "temperature", "do_sample": "temperature"}


def unread_settings(pipeline: Any, config: JudgeConfig) -> dict[str, str]:
    """Settings of a pipeline, `max_new_tokens=5`, that our engine does not read -> the key of `judge` that it reads."""
    own = getattr(pipeline, "pipeline_kwargs", None) or {}  # of LangChain
    given = {**getattr(_pipeline_of(pipeline), "_forward_params", {}), **own}
    values = {name: (given.get(name) or 0, key) for name, key in PIPELINE_KEYS.items()}
    return {f"{name}={value}": key for name, (value, key) in values.items() if value not in (0, getattr(config, key))}


def judge_parts(judge: JudgeConfig, identity: str) -> dict[str, Any]:
    """What the judge's answers depend on beside the prompt, by name.

    Args:
        identity: fingerprint of the model, or `UNNAMED`.
    """
    template = Path(judge.chat_template)
    thinking = "off"
    if judge.thinking == "on":
        markers = f",markers={short_digest(repr(judge.thinking_markers))}" if judge.thinking_markers else ""
        thinking = f"on,tokens={judge.thinking_tokens}{markers}"
    return {
        "judge": identity,
        "engine": judge.engine,
        "dtype": judge.dtype,
        **arguments_part("model", judge.model_kwargs),
        "template": short_digest(template.read_bytes()) if template.is_file() else judge.chat_template,
        "decode": "greedy" if judge.temperature == 0 else f"temperature={judge.temperature},seed={judge.seed}",
        "thinking": thinking,
        **({} if judge.reasons == "full" else {"reasons": judge.reasons}),
        **({} if judge.examples == "all" else {"examples": judge.examples}),
        "max_new_tokens": judge.max_new_tokens,
    }
