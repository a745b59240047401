"""Embeddings: langchain's `HuggingFaceEmbeddings` and others as one of ragas, each distinct text embedded once."""

import asyncio
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from langchain_core.embeddings import Embeddings

from rag_evaluator.config import DEMO, EmbeddingsConfig, hub, model_path, refuse_service
from rag_evaluator.demo import demo_embeddings
from rag_evaluator.errors import ModelError
from rag_evaluator.files import ACTIVITY, loading_libraries, short_digest
from rag_evaluator.hub import (
    UNNAMED,
    arguments_part,
    find_model,
    fingerprint,
    identity_of,
    load_failure,
    name_of,
    unwrapped,
)
from rag_evaluator.judge import REMEMBERED, BatchHandler, Scheduler, SingleFlight, on_model_thread, run
from rag_evaluator.ragas_library import BaseRagasEmbedding

if TYPE_CHECKING:
    from langchain_huggingface import HuggingFaceEmbeddings


Vector = np.ndarray[Any, np.dtype[np.float32]]
LIBRARY_ARGUMENTS = ("model_kwargs", "encode_kwargs", "query_encode_kwargs")  # attributes of langchain's embeddings


class LocalEmbeddings(BaseRagasEmbedding, Embeddings):
    """Embeddings from a model on this machine, for ragas and for LangChain.

    Args:
        model: a langchain embedding already loaded, usually `HuggingFaceEmbeddings`.
        batch_size: texts embedded together; on a CPU one at a time.

    Texts of samples that are scored at the same time are embedded together, each distinct one once (the last 65,536 are
    remembered). Vectors have the model's own length and scale, in float32.
    """

    def __init__(self, model: Embeddings, batch_size: int = 64) -> None:
        super().__init__()
        self.model = model
        self._vectors = SingleFlight[str, Vector](REMEMBERED)
        self._handler = BatchHandler(self._embed, batch_size)

    @classmethod
    def from_config(cls, config: EmbeddingsConfig, offline: bool = True) -> "LocalEmbeddings":
        """Load the configured model. Raises `ModelError`."""
        return cls(load_embeddings(config, offline), config.batch_size)

    def embed_text(self, text: str, **kwargs: Any) -> list[float]:
        return self.embed_texts([text])[0]

    async def aembed_text(self, text: str, **kwargs: Any) -> list[float]:
        return (await self.aembed_texts([text]))[0]

    def embed_texts(self, texts: list[str], **kwargs: Any) -> list[list[float]]:
        """Vectors in the order of the texts."""
        return run(self.aembed_texts(texts))

    async def aembed_texts(self, texts: list[str], **kwargs: Any) -> list[list[float]]:
        """Vectors in the order of the texts; those of other callers are embedded in the same batch."""
        submit = partial(Scheduler.current().submit, self._handler)
        vectors = await asyncio.gather(*(self._vectors.get(text, partial(submit, text)) for text in texts))
        return [vector.tolist() for vector in vectors]

    embed_documents = embed_texts

    def embed_query(self, text: str) -> list[float]:
        """The vector of a search; some models embed it in another way than what is searched."""
        return self.model.embed_query(text)

    def _embed(self, texts: Sequence[str]) -> list[Vector]:
        """Vectors of texts, which on a CPU are embedded one by one.

        A matrix product of more rows may be computed in another order there, so that the last bits of a vector would
        tell the company it was in, and a run that was stopped and continued would not write the same bytes.
        """
        device = getattr(getattr(self.model, "_client", None), "device", None)  # of langchain's SentenceTransformer
        groups = [[text] for text in texts] if getattr(device, "type", None) == "cpu" else [list(texts)]
        return [np.asarray(vector, np.float32) for group in groups for vector in self.model.embed_documents(group)]


def find_embeddings(config: EmbeddingsConfig, offline: bool) -> str:
    """Folder or hub id of the embedding model. Raises `ModelError`."""
    if config.model == DEMO:
        return str(demo_embeddings())
    return find_model(config.model, offline, key="embeddings.model", marks=("modules.json", "config.json"))


@on_model_thread
def load_embeddings(config: EmbeddingsConfig, offline: bool = True) -> "HuggingFaceEmbeddings":
    """The embedding model as langchain has it; safetensors only and no remote code unless `model_kwargs` says so."""
    source = find_embeddings(config, offline)
    kwargs: dict[str, Any] = {"trust_remote_code": False, "local_files_only": offline, **config.model_kwargs}
    kwargs["model_kwargs"] = {"use_safetensors": True, **kwargs.get("model_kwargs", {})}
    with loading_libraries():
        import sentence_transformers  # noqa: F401  # langchain imports it when a model is made
        from langchain_huggingface import HuggingFaceEmbeddings

    try:
        with ACTIVITY.phase(f"loading {config.model}"), hub(offline):
            model = HuggingFaceEmbeddings(
                model_name=source,
                model_kwargs=kwargs,
                encode_kwargs={"batch_size": config.batch_size, **config.encode_kwargs},
            )
        model.embed_documents(["one", "and another"])  # some models load that cannot embed, or not with these arguments
    except Exception as error:  # safetensors, tokenizers and pickle each raise kinds of their own
        raise ModelError(f"embeddings.model: {source} cannot be loaded: {load_failure(error)}") from error
    return model


def as_embeddings(embeddings: Any) -> BaseRagasEmbedding:
    """A ragas embedding as it is; a langchain one with its vectors remembered. Raises `ModelError` for other things."""
    if isinstance(embeddings, BaseRagasEmbedding):
        return embeddings
    if not hasattr(embeddings, "embed_documents"):
        raise ModelError(
            f"embeddings: expected a folder or hub id, a langchain Embeddings or a ragas BaseRagasEmbedding, received "
            f"{type(embeddings).__name__}."
        )
    return LocalEmbeddings(embeddings)


class EmbeddingsSource:
    """Embeddings before they are loaded.

    Args:
        embeddings: a folder or hub id, a langchain `Embeddings` such as `HuggingFaceEmbeddings`, a ragas
            `BaseRagasEmbedding`; None takes the configured model.
        config: settings of the embeddings.
        offline: whether hub ids must be in the cache, and objects must not ask another machine.

    Attributes:
        model: the embeddings, as far as they were given or loaded.
        is_object: whether they were given as an object, so that no configuration says all about them.

    Raises `ModelError` for objects that embed nothing, `ConfigError` for a path with an unknown variable.
    """

    def __init__(self, embeddings: Any, config: EmbeddingsConfig, offline: bool = True) -> None:
        if isinstance(embeddings, str | Path):
            config = config.model_copy(update={"model": model_path(str(embeddings), Path.cwd())})
            embeddings = None
        embeddings = unwrapped(embeddings)
        self.offline = offline
        self.is_object = embeddings is not None
        self.model: BaseRagasEmbedding | None = None
        if embeddings is not None:
            if offline:
                refuse_service(embeddings, "embeddings")
            self.model = as_embeddings(embeddings)
            self._given = self.model.model if isinstance(self.model, LocalEmbeddings) else self.model
            self._inner = getattr(self._given, "model", None)  # the model inside, or its name
            name = name_of(self._given, self._inner) or type(self._given).__name__
            config = config.model_copy(update={"model": name})
        self.config = config

    @cached_property
    def identity(self) -> str | None:
        """Fingerprint of the model; None where nothing tells two such models apart. Raises `ModelError`."""
        if not self.is_object:
            return fingerprint(find_embeddings(self.config, self.offline))
        identity = identity_of(self._given, self._inner)
        arguments = [getattr(self._given, name, None) or {} for name in LIBRARY_ARGUMENTS]
        return identity if identity is None or not any(arguments) else f"{identity}-{short_digest(repr(arguments))[:8]}"

    @property
    def parts(self) -> dict[str, Any]:
        """What vectors depend on beside the text, by name."""
        return {
            "embeddings": self.identity or UNNAMED,
            **arguments_part("embed", self.config.model_kwargs),
            **arguments_part("encode", self.config.encode_kwargs),
        }

    def load(self) -> BaseRagasEmbedding:
        """The embeddings, loaded if they are not yet. Raises `ModelError`."""
        if self.model is None:
            self.model = LocalEmbeddings.from_config(self.config, self.offline)
        return self.model
