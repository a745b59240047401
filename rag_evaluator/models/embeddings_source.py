"""Embeddings before they are loaded: a model's name or folder, or a langchain or ragas embedding."""

from functools import cached_property
from pathlib import Path
from typing import Any

from ragas.embeddings.base import BaseRagasEmbedding

from rag_evaluator.config import model_path
from rag_evaluator.config_sections import EmbeddingsConfig
from rag_evaluator.files.digest import short_digest
from rag_evaluator.models.embeddings import LocalEmbeddings, as_embeddings, find_embeddings
from rag_evaluator.models.fingerprint import fingerprint
from rag_evaluator.models.identity import UNNAMED, arguments_part, identity_of

LIBRARY_ARGUMENTS = ("model_kwargs", "encode_kwargs", "query_encode_kwargs")  # attributes of langchain's embeddings


class EmbeddingsSource:
    """Embeddings before they are loaded.

    Args:
        embeddings: a folder or hub id, a langchain `Embeddings`, a ragas `BaseRagasEmbedding`; None takes the
            configured model.
        config: settings of the embeddings.
        offline: whether hub ids must be in the cache.

    Attributes:
        model: the embeddings, as far as they were given or loaded.
        is_object: whether they were given as an object, so that no configuration says all about them.

    Raises `ModelError` for objects that embed nothing, `ConfigError` for a path with an unknown variable.
    """

    def __init__(self, embeddings: Any, config: EmbeddingsConfig, offline: bool = True) -> None:
        if isinstance(embeddings, str | Path):
            config = config.model_copy(update={"model": model_path(str(embeddings), Path.cwd())})
            embeddings = None
        self.config, self.offline, self.is_object = config, offline, embeddings is not None
        self.model: BaseRagasEmbedding | None = None if embeddings is None else as_embeddings(embeddings)

    @cached_property
    def identity(self) -> str | None:
        """Fingerprint of the model; None where nothing tells two such models apart. Raises `ModelError`."""
        if self.model is None:
            return fingerprint(find_embeddings(self.config, self.offline))
        model = self.model.model if isinstance(self.model, LocalEmbeddings) else self.model
        identity = identity_of(model, getattr(model, "model", None))
        arguments = [getattr(model, name, None) or {} for name in LIBRARY_ARGUMENTS]
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


def embeddings_of(embeddings: Any, config: EmbeddingsConfig, offline: bool = True) -> EmbeddingsSource:
    """The source of embeddings as users give them; a source as it is. Raises `ModelError` for what embeds nothing."""
    return embeddings if isinstance(embeddings, EmbeddingsSource) else EmbeddingsSource(embeddings, config, offline)
