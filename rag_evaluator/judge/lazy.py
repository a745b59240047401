"""A judge before it is loaded: found, named, signed."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from rag_evaluator.config import JudgeConfig, model_path, refuse_service
from rag_evaluator.errors import ModelError
from rag_evaluator.files import short_digest
from rag_evaluator.hub import (
    UNNAMED,
    arguments_part,
    as_line,
    fingerprint,
    free_memory,
    identity_of,
    unwrapped,
)
from rag_evaluator.ragas_library import InstructorBaseRagasLLM
from rag_evaluator.resources import __version__

from .engine_judge import engine_of
from .engines.event_loop import MODELS, run
from .engines.protocol import find_engine
from .given import as_judge
from .judge import LLM, Judge, RagasLLM
from .pipelines import NotLoaded, is_judge, is_langchain, is_pipeline, model_in, named
from .protocol import JudgeProtocol


class LazyJudge(NotLoaded):
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
        if not (judge is None or is_judge(judge) or is_pipeline(judge) or is_langchain(judge)):
            raise ModelError(
                f"judge: expected a model folder, a HuggingFacePipeline, a transformers text-generation pipeline, "
                f"a LangChain language model or a ragas InstructorBaseRagasLLM, received {type(judge).__name__}."
            )
        if offline and judge is not None:
            refuse_service(judge, "judge")
        self.config = judge.config if isinstance(judge, Judge) else config if judge is None else named(config, judge)
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
            return identity_of(self.model, model_in(self.model))
        return None if is_langchain(self.model) or self.model.signature is None else short_digest(self.model.signature)

    @property
    def parts(self) -> dict[str, Any]:
        """What its answers depend on beside the prompt, by name."""
        return {**judge_parts(self.config, self.identity or UNNAMED), **self._engine_parts}

    @cached_property
    def _engine_parts(self) -> Mapping[str, str]:
        """What answers of this engine depend on; asked once, since a server is asked for it."""
        if self.is_object:
            model = engine_of(self.model.inner) if isinstance(self.model, Judge) else model_in(self.model)
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
