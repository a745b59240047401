"""A judge before it is loaded: a model's name or folder, a pipeline already loaded, or any ragas LLM."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ragas.llms.base import InstructorBaseRagasLLM

from rag_evaluator.config.schema import model_path
from rag_evaluator.config.sections import JudgeConfig
from rag_evaluator.embeddings.event_loop import run
from rag_evaluator.embeddings.fingerprint import UNNAMED, arguments_part, as_line, fingerprint, identity_of
from rag_evaluator.embeddings.hub import free_memory
from rag_evaluator.errors import ModelError
from rag_evaluator.files.digest import short_digest
from rag_evaluator.judge.engines.protocol import find_engine
from rag_evaluator.judge.judge import Judge, RagasLLM, as_judge, is_langchain, unwrapped
from rag_evaluator.judge.protocol import Capabilities, JudgeProtocol
from rag_evaluator.resources import __version__

LLM = InstructorBaseRagasLLM
"""A judge as metrics of `ragas.metrics.collections` take one."""


class LazyJudge:
    """A judge before it is loaded, a `JudgeSource`.

    Args:
        judge: a model folder, a hub id or `demo`; a `HuggingFacePipeline` or transformers pipeline; a ragas or
            LangChain LLM; a `JudgeProtocol`; None takes the configured model.
        config: settings of the judge.
        offline: whether hub ids must be in the cache.

    Attributes:
        config: settings that count: those of the judge itself if it has some.
        model: the judge, as far as it was given or loaded.
        is_object: whether it was given as an object, so that no configuration says all about it.

    Raises `ModelError` for objects that cannot judge, `ConfigError` for a path with an unknown variable.
    """

    def __init__(self, judge: Any, config: JudgeConfig, offline: bool = True) -> None:
        judge = unwrapped(judge)
        if isinstance(judge, str | Path):
            config, judge = config.model_copy(update={"model": model_path(str(judge), Path.cwd())}), None
        if not (judge is None or _is_judge(judge) or _is_pipeline(judge) or is_langchain(judge)):
            raise ModelError(
                f"judge: expected a model folder, a HuggingFacePipeline, a transformers text-generation pipeline, "
                f"a LangChain language model or a ragas InstructorBaseRagasLLM, received {type(judge).__name__}."
            )
        self.config = judge.config if isinstance(judge, Judge) else config
        self.offline, self.model, self.is_object = offline, judge, judge is not None

    async def load(self) -> JudgeProtocol:
        return self._load()

    @property
    def llm(self) -> LLM:
        """The judge as the LLM of ragas' own metrics, loaded if it is not yet. Raises `ModelError`."""
        judge = self._load()
        return self.model if isinstance(self.model, InstructorBaseRagasLLM) else RagasLLM(judge)

    def _load(self) -> JudgeProtocol:
        """The judge, loaded if it is not yet. Raises `ModelError`."""
        signature = self.signature
        if self.model is None:
            self.model = Judge.from_config(self.config, self.offline)
        elif _is_pipeline(self.model):
            self.model = Judge(self.model, self.config)
        return as_judge(self.model, signature)

    def release(self) -> None:
        """Free the memory of a model that was loaded here, which `load` loads again; one that was given is not ours."""
        if self.model is not None and not self.is_object:
            run(as_judge(self.model).aclose())
            self.model = None
            free_memory()

    def check(self) -> None:
        """Everything that can fail before loading. Raises `ModelError`."""
        if self.model is None:
            find_engine(self.config.engine).find(self.config, self.offline)

    @property
    def capabilities(self) -> Capabilities | None:
        """As far as known before loading."""
        if self.model is None or _is_pipeline(self.model):
            return find_engine(self.config.engine).capabilities_of(self.config)
        return as_judge(self.model).capabilities

    @property
    def about(self) -> Mapping[str, Any]:
        return as_judge(self.model).about if _is_judge(self.model) else {}

    @cached_property
    def identity(self) -> str | None:
        """Fingerprint of the model. Raises `ModelError`.

        None where nothing tells two such judges apart, so that answers must not be kept for later runs: a LangChain
        model's name says nothing of its settings.
        """
        if self.model is None:
            return fingerprint(find_engine(self.config.engine).find(self.config, self.offline))
        if isinstance(self.model, InstructorBaseRagasLLM) or _is_pipeline(self.model):
            inner = _pipeline_of(self.model) if _is_pipeline(self.model) else self.model
            return identity_of(self.model, getattr(inner, "model", None))
        return None if is_langchain(self.model) or self.model.signature is None else short_digest(self.model.signature)

    @property
    def parts(self) -> dict[str, Any]:
        """What its answers depend on beside the prompt, by name."""
        return {**judge_parts(self.config, self.identity or UNNAMED), **self._engine_parts}

    @cached_property
    def _engine_parts(self) -> Mapping[str, str]:
        """What answers of this engine depend on; asked once, since a server is asked for it."""
        return find_engine(self.config.engine).signature_parts(self.config, self.offline) if not self.is_object else {}

    @property
    def line(self) -> str:
        """The same as one line, also where the judge has no name."""
        return as_line({"rag-evaluator": __version__, **self.parts})

    @property
    def signature(self) -> str | None:
        return None if self.identity is None else self.line


def judges_by_name(judge: Any) -> Mapping[str, Any] | None:
    """The judges of a panel, by name; None for a single judge. Any: whatever the user gave."""
    return judge if isinstance(judge, Mapping) else None


def source_of(judge: Any, config: JudgeConfig, offline: bool = True) -> LazyJudge:
    """The source of a judge as users give it; a source as it is. Raises `ModelError` for what cannot judge."""
    return judge if isinstance(judge, LazyJudge) else LazyJudge(judge, config, offline)


def _is_judge(judge: Any) -> bool:
    return isinstance(judge, InstructorBaseRagasLLM | JudgeProtocol)


def _is_pipeline(judge: Any) -> bool:
    return not _is_judge(judge) and all(hasattr(_pipeline_of(judge), part) for part in ("model", "tokenizer"))


def _pipeline_of(judge: Any) -> Any:
    """langchain's wrapper holds transformers' pipeline."""
    return getattr(judge, "pipeline", judge)


def judge_parts(judge: JudgeConfig, identity: str) -> dict[str, Any]:
    """What the judge's answers depend on beside the prompt, by name.

    Args:
        identity: fingerprint of the model, or `UNNAMED`.
    """
    template = Path(judge.chat_template)
    return {
        "judge": identity,
        "engine": judge.engine,
        "dtype": judge.dtype,
        **arguments_part("model", judge.model_kwargs),
        "template": short_digest(template.read_bytes()) if template.is_file() else judge.chat_template,
        "decode": "greedy" if judge.temperature == 0 else f"temperature={judge.temperature},seed={judge.seed}",
        "thinking": _thinking(judge),
        "max_new_tokens": judge.max_new_tokens,
    }


def _thinking(judge: JudgeConfig) -> str:
    if judge.thinking == "off":
        return "off"
    markers = f",markers={short_digest(repr(judge.thinking_markers))}" if judge.thinking_markers else ""
    return f"on,tokens={judge.thinking_tokens}{markers}"
