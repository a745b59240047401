"""What a test set is made from: its corpus, read and cut once for all workers, and the nearest chunks of each chunk."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from rag_evaluator.config import Config
from rag_evaluator.dataset.documents.corpus import Corpus, DocumentChunk, Splitter, locked, write_corpus
from rag_evaluator.dataset.documents.readers import read_documents
from rag_evaluator.errors import ConfigError, DatasetError, ResultsError
from rag_evaluator.files.atomic import write_whole
from rag_evaluator.files.digest import file_digest, short_digest
from rag_evaluator.models.embeddings import EmbeddingsSource, find_embeddings
from rag_evaluator.tasks.question import TaskJudge

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


def signature_with(asking: TaskJudge, embeddings: EmbeddingsSource, parts: Mapping[str, Any]) -> str | None:
    """The signature of what judge and embeddings make with these parts; None if one of them has no name."""
    line = asking.signature()
    if line is None or embeddings.identity is None:
        return None
    return "|".join([line, *(f"{name}:{value}" for name, value in {**parts, **embeddings.parts}.items())])


def sources_of(config: Config, documents: Sequence[Any] | None = None) -> list[Any]:
    """What a corpus is made of. Raises `ConfigError` without any, `DatasetError` for what is no document."""
    documents = config.testset.documents if documents is None else documents
    sources = [documents] if isinstance(documents, str | Path) else list(documents)
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


AT_ONCE = 64  # chunks that are embedded together
Matrix = np.ndarray[Any, np.dtype[np.float32]]
Embed = Callable[[list[str]], list[list[float]]]


class Neighbours:
    """Finds near chunks.

    Args:
        vectors: of the chunks, of length 1, `(chunks, dimensions)`.
        documents: of each chunk its document's id.
    """

    def __init__(self, vectors: Matrix, documents: Sequence[str]) -> None:
        self.vectors, self.documents = vectors, np.asarray(documents)

    def nearest(
        self, vector: Sequence[float], count: int, leave_out: Collection[int] = (), other_than: Collection[str] = ()
    ) -> list[int]:
        """Places of the nearest chunks, the nearest first; of equally near ones the first.

        Args:
            leave_out: places of chunks.
            other_than: ids of documents whose chunks are left out.
        """
        similar = self.vectors @ unit_vectors(np.asarray([vector], np.float32))[0]
        similar[list(leave_out)] = -np.inf
        similar[np.isin(self.documents, list(other_than))] = -np.inf
        order = np.argsort(-similar, kind="stable")[:count]
        return [int(place) for place in order if np.isfinite(similar[place])]

    def vector(self, place: int) -> list[float]:
        """The vector of a chunk."""
        return [float(number) for number in self.vectors[place]]


def neighbours_of(
    corpus: Sequence[DocumentChunk], digest: str, embed: Embed, identity: str, folder: Path, done: Callable[[int], None]
) -> Neighbours:
    """The neighbours of a corpus; its vectors are read from the folder, or made and kept there.

    Args:
        digest: of the corpus.
        identity: of the embedding model.
        done: called with the number of chunks that are embedded.

    Raises `ResultsError` if the vectors cannot be kept.
    """
    path = folder / f"vectors-{short_digest(f'{digest}{identity}')}.npy"
    with FileLock(folder / ".lock"):  # the first of several workers embeds, the others wait
        if not path.exists():
            starts = range(0, len(corpus), AT_ONCE)
            vectors = np.concatenate([_embedded(corpus[at : at + AT_ONCE], embed, done, at) for at in starts])
            write_whole(path, lambda to: np.save(to, vectors))
    try:
        kept: Matrix = np.load(path, mmap_mode="r")
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read: {error}. Remove it, it is made again.") from error
    return Neighbours(kept, [chunk.document for chunk in corpus])


def _embedded(chunks: Sequence[DocumentChunk], embed: Embed, done: Callable[[int], None], start: int) -> Matrix:
    vectors = unit_vectors(np.asarray(embed([shown(chunk) for chunk in chunks]), np.float32))
    done(start + len(chunks))
    return vectors


def shown(chunk: DocumentChunk) -> str:
    """A chunk as it is embedded: its text under its headings, which often name what it is about."""
    lines = chunk.text.splitlines()
    missing = [title for title in chunk.headings if not any(title in line for line in lines[:1])]
    return "\n".join([" > ".join(missing), chunk.text]) if missing else chunk.text


def unit_vectors(vectors: Matrix) -> Matrix:
    """Vectors of length 1; zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    unit: Matrix = (vectors / lengths).astype(np.float32)
    return unit
