"""What a test set is made from: its corpus, read and cut once for all workers, and the signature of what is made."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.config import Config
from rag_evaluator.dataset.documents.chunks import Splitter
from rag_evaluator.dataset.documents.corpus import Corpus, locked, write_corpus
from rag_evaluator.dataset.documents.readers import read_documents
from rag_evaluator.errors import ConfigError, DatasetError
from rag_evaluator.files.digest import file_digest, short_digest
from rag_evaluator.models.embeddings import find_embeddings
from rag_evaluator.models.embeddings_source import EmbeddingsSource
from rag_evaluator.tasks.question import Asking

FOLDER = "corpus"
TOKENIZER = "tokenizer.json"


def corpus_of(config: Config, documents: Sequence[Any] | None = None) -> Corpus:
    """The corpus of a configuration; it is made if the documents are not those that were read last.

    Args:
        documents: LangChain `Document`s or paths in place of those of the configuration. Any: not imported.

    Raises `ConfigError` without documents, `DatasetError` where none can be read.
    """
    sources = sources_of(config, documents)
    folder = config.results_dir / FOLDER
    tokenizer = _tokenizer(config)
    settings = config.testset
    source = short_digest(
        f"{_digest(sources)}\0{file_digest(tokenizer)}\0{settings.chunk_tokens}\0{settings.text_column}"
    )
    with locked(folder):
        corpus = Corpus.find(folder, source)
        if corpus is None:
            from tokenizers import Tokenizer

            splitter = Splitter(Tokenizer.from_file(str(tokenizer)), settings.chunk_tokens)
            corpus = write_corpus(folder, read_documents(sources, settings.text_column), splitter, source)
    return corpus


def signature_with(asking: Asking, embeddings: EmbeddingsSource, parts: Mapping[str, Any]) -> str | None:
    """The signature of what judge and embeddings make with these parts; None if one of them has no name."""
    line = asking.signature()
    if line is None or embeddings.identity is None:
        return None
    return "|".join([line, *(f"{name}:{value}" for name, value in {**parts, **embeddings.parts}.items())])


def sources_of(config: Config, documents: Sequence[Any] | None = None) -> list[Any]:
    """What a corpus is made of. Raises `ConfigError` without any, `DatasetError` for what is no document."""
    given = config.testset.documents if documents is None else documents
    sources = [given] if isinstance(given, str | Path) else list(given)
    if not sources:
        raise ConfigError(
            f"{config.source}: 'testset.documents' is missing. Give files or folders there, or by --documents."
        )
    for place, source in enumerate(sources):
        if not (isinstance(source, str | Path) or hasattr(source, "page_content")):
            kind = type(source).__name__
            raise DatasetError(f"document {place}: expected a path or a LangChain Document, received {kind}.")
    return sources


def _tokenizer(config: Config) -> Path:
    """The file by which tokens are counted: the embedding model's, so that chunks are the same for any judge."""
    model = Path(find_embeddings(config.embeddings, config.offline))
    if not (model / TOKENIZER).is_file():
        raise ConfigError(
            f"{config.place('embeddings', 'model')}: {model} has no {TOKENIZER}, by which chunks are measured. Save "
            "its tokenizer as a fast one."
        )
    return model / TOKENIZER


def _digest(sources: Sequence[Any]) -> str:
    """Of all that is read: texts of objects, names, sizes and times of files."""
    parts: list[str] = []
    for source in sources:
        if isinstance(source, str | Path):
            path = Path(source).expanduser()
            if not path.exists():
                raise DatasetError(f"{path}: no such file or folder of documents. Correct the path.")
            files = sorted(path.rglob("*")) if path.is_dir() else [path]
            known = ((file.relative_to(path.parent), file.stat()) for file in files if file.is_file())
            parts += [f"{name} {status.st_size} {status.st_mtime_ns}" for name, status in known]
        else:
            parts.append(f"{getattr(source, 'metadata', None)!r}\0{source.page_content}")
    return short_digest("\n".join(parts))
