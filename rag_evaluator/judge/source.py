"""A judge before it is loaded: a model's name or folder, a pipeline already loaded, or any ragas LLM."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragas.llms.base import InstructorBaseRagasLLM

from rag_evaluator.config import JudgeConfig
from rag_evaluator.errors import ModelError
from rag_evaluator.files.digest import short_digest
from rag_evaluator.judge.adapters import as_judge, is_langchain
from rag_evaluator.judge.engine.table import find_engine
from rag_evaluator.judge.engine.transformers.loading import has_adapter
from rag_evaluator.judge.judge import Judge
from rag_evaluator.judge.protocol import Capabilities, JudgeProtocol
from rag_evaluator.judge.signature import UNNAMED, judge_signature
from rag_evaluator.models.embeddings import LocalEmbeddings
from rag_evaluator.models.fingerprint import fingerprint


class GivenJudge:
    """A judge before it is loaded, a `JudgeSource`.

    Args:
        judge: a model folder, a hub id or `demo`; a `HuggingFacePipeline` or transformers pipeline; a ragas or
            LangChain LLM; a `JudgeProtocol`; None takes the configured model.
        config: settings of the judge.
        offline: whether hub ids must be in the cache.

    Attributes:
        given: the judge, as far as there is one: as it was given, or as it was loaded.
        identity: fingerprint of the model; None where nothing tells two such judges apart, so that answers must not be
            kept for later runs.
        name: the identity, or `UNNAMED`.

    Raises `ModelError` for what cannot judge, as far as that can be seen without loading it.
    """

    def __init__(self, judge: Any, config: JudgeConfig, offline: bool = True) -> None:
        if isinstance(judge, str | Path):
            config, judge = config.model_copy(update={"model": str(judge)}), None
        self.config, self.offline, self.given = config, offline, judge
        self.identity: str | None
        if judge is None:
            self.identity = fingerprint(find_engine(config.engine).find(config, offline))
        elif _is_judge(judge) or _is_pipeline(judge):
            self.identity = identity_of(judge)
        elif is_langchain(judge):
            self.identity = None  # its name says nothing of its settings
        else:
            raise ModelError(
                f"judge: expected a model folder, a HuggingFacePipeline, a transformers text-generation pipeline, "
                f"a LangChain language model or a ragas InstructorBaseRagasLLM, received {type(judge).__name__}."
            )
        self.name = self.identity or UNNAMED

    async def load(self) -> JudgeProtocol:
        """The judge, loaded if it is not yet. Raises `ModelError`."""
        if self.given is None:
            self.given = Judge.from_config(self.config, self.offline)
        elif _is_pipeline(self.given):
            self.given = Judge(self.given, self.config)
        return as_judge(self.given)

    def check(self) -> None:
        """What can fail before loading was checked when this was made; a model may have gone since."""
        if self.given is None:
            find_engine(self.config.engine).find(self.config, self.offline)

    @property
    def capabilities(self) -> Capabilities | None:
        return as_judge(self.given).capabilities if _is_judge(self.given) else None

    @property
    def about(self) -> Mapping[str, Any]:
        return as_judge(self.given).about if _is_judge(self.given) else {}

    @property
    def signature(self) -> str:
        """What its answers depend on beside the prompt, as one line."""
        config = getattr(self.given, "config", self.config)
        return judge_signature(config if isinstance(config, JudgeConfig) else self.config, self.name)


def source_of(judge: Any, config: JudgeConfig, offline: bool = True) -> GivenJudge:
    """The source of a judge as users give it; a source as it is. Raises `ModelError` for what cannot judge."""
    return judge if isinstance(judge, GivenJudge) else GivenJudge(judge, config, offline)


def _is_judge(judge: Any) -> bool:
    return isinstance(judge, InstructorBaseRagasLLM | JudgeProtocol)


def _is_pipeline(judge: Any) -> bool:
    inner = getattr(judge, "pipeline", judge)  # langchain's wrapper holds transformers' pipeline
    return hasattr(inner, "model") and hasattr(inner, "tokenizer")


def identity_of(model: Any) -> str | None:
    """Fingerprint of the folder a loaded model came from, or of the name it goes by.

    None if it has neither, or an adapter that its folder does not hold. A model whose weights were changed after it was
    loaded is not noticed: it must be saved to a folder of its own.
    """
    inner = getattr(getattr(model, "pipeline", model), "model", None)  # a ragas LLM has the name of its model there
    if has_adapter(inner):
        return None
    names = (
        getattr(model, "model_id", None),
        getattr(model, "model_name", None),
        inner if isinstance(inner, str) else getattr(inner, "name_or_path", None),
    )
    name = next((str(name) for name in names if name), None)
    return None if name is None else fingerprint(name)


def identity_of_embeddings(embeddings: Any) -> str | None:
    """As `identity_of`, with the arguments that langchain hands on to the library, which change the vectors."""
    model = embeddings.model if isinstance(embeddings, LocalEmbeddings) else embeddings
    found = identity_of(model)
    given = [getattr(model, name, None) or {} for name in ("model_kwargs", "encode_kwargs", "query_encode_kwargs")]
    return found if found is None or not any(given) else f"{found}-{short_digest(repr(given))[:8]}"
