"""What ragas' scripts wrap their models in."""

import logging
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from rag_evaluator.config import JudgeConfig
from rag_evaluator.errors import ConfigError
from rag_evaluator.files import gguf_of
from rag_evaluator.judge import LLM, LazyJudge
from rag_evaluator.ragas_library import BaseRagasEmbedding as BaseRagasEmbedding
from rag_evaluator.ragas_library import InstructorBaseRagasLLM as InstructorBaseRagasLLM
from rag_evaluator.ragas_library import RunConfig as RunConfig
from rag_evaluator.tasks import judge_source, settings_of

from .names import no_counterpart

# Any in this module: models of any library.

logger = logging.getLogger(__name__)


Answer = TypeVar("Answer", bound=BaseModel)
ELSEWHERE = ("run_config", "client", "interface", "base_url", "cache")  # of ragas' factory: nothing for a local model
__getattr__ = partial(no_counterpart, "ragas")


class Asked:
    """What metrics that are made with ragas call, such as `DiscreteMetric(...).score(llm=...)`."""

    llm: LLM

    def generate(self, prompt: str, response_model: type[Answer]) -> Answer:
        return self.llm.generate(prompt, response_model)

    async def agenerate(self, prompt: str, response_model: type[Answer]) -> Answer:
        return await self.llm.agenerate(prompt, response_model)


class LangchainLLMWrapper(Asked):
    """A language model of LangChain, usually a `HuggingFacePipeline`.

    Args:
        langchain_llm: the model; a local pipeline is run by our own engine, whatever the wrapper is asked for. Also a
            model folder; None: the configured judge, without one the demo judge.
        settings: of ragas' wrapper, which change nothing here.
    """

    def __init__(self, langchain_llm: Any, *settings: Any, **named_settings: Any) -> None:
        self.langchain_llm = langchain_llm

    @cached_property
    def llm(self) -> LLM:  # type: ignore[override]  # loaded when first asked for
        """The judge, loaded."""
        return judge_source(self.langchain_llm, settings_of(None)).llm

    def __init_subclass__(cls) -> None:
        own = sorted({"agenerate", "generate", "generate_text", "agenerate_text"}.intersection(vars(cls)))
        if own:
            raise ConfigError(
                f"class {cls.__name__}(LangchainLLMWrapper): {own[0]} would never be called. Give a LangChain model "
                "that answers in this way: docs/langchain.md."
            )


class LangchainEmbeddingsWrapper:
    """Embeddings of LangChain, usually `HuggingFaceEmbeddings`.

    Args:
        embeddings: the model.
        settings: of ragas' wrapper, which change nothing here.
    """

    def __init__(self, embeddings: Any, *settings: Any, **named_settings: Any) -> None:
        self.embeddings = embeddings


def HuggingFaceEmbeddings(model: str = "", *, model_name: str = "") -> str:
    """The folder or hub id of an embedding model, which the run loads; its settings are those of the configuration."""
    return model or model_name


def embedding_factory(provider: str = "openai", model: str | None = None, **settings: Any) -> str | None:
    """The folder or hub id of an embedding model: of the provider `huggingface`, or any folder.

    Else None, the configured embeddings, as a warning says: a service is never asked. Raises `TypeError` for settings
    of the model, see `HuggingFaceEmbeddings`.
    """
    if Path(provider).is_dir():
        model = provider
    elif model is None:
        provider, _, model = provider.partition("/")
    if provider == "huggingface" or (model and Path(model).is_dir()):
        return HuggingFaceEmbeddings(model, **{key: settings[key] for key in settings if key not in ELSEWHERE})
    logger.warning("embedding_factory: no service is asked; the configured embeddings are used.")
    return None


HuggingfaceEmbeddings = HuggingFaceEmbeddings


class ClientJudge(Asked, LazyJudge):
    """The server of a client, asked by our own engine."""


def llm_factory(
    model: str, provider: str = "openai", client: Any = None, **settings: Any
) -> LangchainLLMWrapper | ClientJudge:
    """The server that a client of openai is for, or a model folder, asked by our own engine.

    Else it is the configured judge, as a warning says: a service is never asked by its name alone.
    """
    url = getattr(client, "base_url", settings.get("base_url"))
    if url is not None:
        config = JudgeConfig(engine="server", url=str(url), served_model=model)
        key = getattr(client, "api_key", settings.get("api_key"))
        config._key = key if isinstance(key, str) else ""  # it may be a function
        return ClientJudge(None, config)
    if Path(model).is_dir() or gguf_of(model) is not None:
        return LangchainLLMWrapper(model)
    logger.warning(
        "llm_factory(%r): no service is asked; the configured judge judges, without one the demo judge. Give a model "
        "folder or a HuggingFacePipeline as llm, or the client of a server: OpenAI(base_url='http://127.0.0.1:8000/v1').",
        model,
    )
    return LangchainLLMWrapper(None)
