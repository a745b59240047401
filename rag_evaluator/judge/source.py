"""A judge before it is loaded: a model's name or folder, a pipeline already loaded, or any ragas LLM."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ragas.llms.base import InstructorBaseRagasLLM

from rag_evaluator import __version__
from rag_evaluator.config import model_path
from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.errors import ModelError
from rag_evaluator.files.digest import short_digest
from rag_evaluator.judge.adapters import as_judge, is_langchain, unwrapped
from rag_evaluator.judge.engine.table import find_engine
from rag_evaluator.judge.judge import Judge
from rag_evaluator.judge.protocol import Capabilities, JudgeProtocol
from rag_evaluator.judge.signature import judge_parts
from rag_evaluator.models.event_loop import run
from rag_evaluator.models.fingerprint import fingerprint
from rag_evaluator.models.identity import UNNAMED, as_line, identity_of
from rag_evaluator.models.memory import free_memory


class GivenJudge:
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
            return identity_of(self.model, getattr(_pipeline_of(self.model), "model", None))
        return None if is_langchain(self.model) or self.model.signature is None else short_digest(self.model.signature)

    @property
    def parts(self) -> dict[str, Any]:
        """What its answers depend on beside the prompt, by name."""
        return {**judge_parts(self.config, self.identity or UNNAMED), **self._engine_parts}

    @cached_property
    def _engine_parts(self) -> Mapping[str, str]:
        """What only the engine knows of its answers; asked once, since a server is asked for it."""
        return find_engine(self.config.engine).signature_parts(self.config, self.offline) if not self.is_object else {}

    @property
    def line(self) -> str:
        """The same as one line, also where the judge has no name."""
        return as_line({"rag-evaluator": __version__, **self.parts})

    @property
    def signature(self) -> str | None:
        return None if self.identity is None else self.line


def judges_by_name(given: Any) -> Mapping[str, Any] | None:
    """The judges of a panel, by name; None for a single judge. Any: whatever the user gave."""
    return given if isinstance(given, Mapping) else None


def source_of(judge: Any, config: JudgeConfig, offline: bool = True) -> GivenJudge:
    """The source of a judge as users give it; a source as it is. Raises `ModelError` for what cannot judge."""
    return judge if isinstance(judge, GivenJudge) else GivenJudge(judge, config, offline)


def _is_judge(judge: Any) -> bool:
    return isinstance(judge, InstructorBaseRagasLLM | JudgeProtocol)


def _is_pipeline(judge: Any) -> bool:
    return all(hasattr(_pipeline_of(judge), part) for part in ("model", "tokenizer"))


def _pipeline_of(judge: Any) -> Any:
    """langchain's wrapper holds transformers' pipeline."""
    return getattr(judge, "pipeline", judge)
