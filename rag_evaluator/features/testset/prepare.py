"""What a test set is made from: its corpus, read and cut once for all workers, and the nearest chunks of each chunk."""

import itertools
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from rag_evaluator.config import Config
from rag_evaluator.dataset import existing
from rag_evaluator.embeddings import find_embeddings
from rag_evaluator.errors import ConfigError, DatasetError
from rag_evaluator.files import ACTIVITY, file_digest, short_digest, write_whole

from .corpus import Corpus, DocumentChunk, read_corpus, splitter_of, write_corpus
from .readers import read_documents
from .section import SHARES, TestsetConfig

FOLDER = "corpus"
LOCK = ".lock"
TOKENIZER = "tokenizer.json"
AT_ONCE = 64  # chunks that are embedded together
Matrix = np.ndarray[Any, np.dtype[np.float32]]
Embed = Callable[[list[str]], list[list[float]]]
PARTNERS: Mapping[str, str] = {
    "several_chunks": "same document",
    "across_documents": "other document",
    "comparison": "other document",
}
"""Kind of question about two chunks -> where the second one is, as near as there is one; all others are about one."""
UNANSWERABLE = "unanswerable"  # the kind of question whose answer the documents do not hold
FEWEST_BYTES = 100  # of a chunk in UTF-8: a heading alone has nothing to ask about


def corpus_of(config: Config) -> Corpus:
    """The corpus of a configuration; it is made if the documents are not those that were read last.

    Raises `ConfigError` without documents, `DatasetError` where none can be read.
    """
    settings = config.section(TestsetConfig)
    if not (sources := settings.documents):
        raise ConfigError(
            f"{config.place()}: 'testset.documents' is missing. Give files or folders there, or by --documents."
        )
    folder = config.results_dir / FOLDER
    tokenizer = _tokenizer(config)
    source = short_digest(
        f"{_digest(sources)}\0{file_digest(tokenizer)}\0{settings.chunk_tokens}\0{settings.text_column}"
    )
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / LOCK):
        with suppress(DatasetError):  # none yet, or one that a killed process has left half written
            corpus = read_corpus(folder)
            if corpus.source == source:
                return corpus
        splitter = splitter_of(tokenizer, settings.chunk_tokens)
        return write_corpus(folder, read_documents(sources, settings.text_column), splitter, source)


def _tokenizer(config: Config) -> Path:
    """The file by which tokens are counted: the embedding model's, so that chunks are the same for any judge."""
    model = Path(find_embeddings(config.embeddings, config.offline))
    if not (model / TOKENIZER).is_file():
        raise ConfigError(
            f"{config.place('embeddings', 'model')}: {model} has no {TOKENIZER}, by which chunks are measured. Save "
            "its tokenizer as a fast one."
        )
    return model / TOKENIZER


def _digest(sources: Sequence[Path]) -> str:
    """Of names, sizes and times of all files."""
    parts: list[str] = []
    for path in map(existing, sources):
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        known = ((file.relative_to(path.parent), file.stat()) for file in files if file.is_file())
        parts += [f"{name} {status.st_size} {status.st_mtime_ns}" for name, status in known]
    return short_digest("\n".join(parts))


class Neighbours:
    """Finds near chunks.

    Args:
        vectors: of the chunks, of length 1, `(chunks, dimensions)`.
        documents: of each chunk its document's id.
    """

    def __init__(self, vectors: Matrix, documents: Sequence[str]) -> None:
        self.vectors = vectors
        self.documents = np.asarray(documents)

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


def neighbours_of(corpus: Corpus, embed: Embed, identity: str, folder: Path) -> Neighbours:
    """The neighbours of a corpus; its vectors are read from the folder, or made and kept there.

    Args:
        identity: of the embedding model.
    """
    path = folder / f"vectors-{short_digest(f'{corpus.digest}{identity}')}.npy"
    with ACTIVITY.counted("embedded chunks") as at, FileLock(folder / LOCK):  # the first of several workers embeds
        if not path.exists():
            made: list[Matrix] = []
            for start in range(0, len(corpus.chunks), AT_ONCE):
                chunks = corpus.chunks[start : start + AT_ONCE]
                made.append(unit_vectors(np.asarray(embed([shown(chunk) for chunk in chunks]), np.float32)))
                at(start + len(chunks), len(corpus.chunks))
            write_whole(path, lambda to: np.save(to, np.concatenate(made)))
    kept: Matrix = np.load(path, mmap_mode="r")
    return Neighbours(kept, [chunk.document for chunk in corpus.chunks])


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


def in_turn(shares: Mapping[str, float]) -> Iterator[str]:
    """Kinds without end, so that any first n of them have the shares as nearly as n allows."""
    counts = dict.fromkeys(shares, 0)
    total = sum(shares.values())
    for count in itertools.count(1):
        kind = max(counts, key=lambda name: shares[name] / total * count - counts[name])
        counts[kind] += 1
        yield kind


@dataclass(frozen=True)
class Candidate:
    """A question that may become part of a test set.

    Attributes:
        kind: a key of `SHARES`.
        question, answer: texts without blanks around them.
        contexts: what it was made from.
        distractors: texts of the chunks of other documents that are nearest to the question, the nearest first.
    """

    kind: str
    question: str
    answer: str
    contexts: Sequence[str]
    distractors: Sequence[str] = ()

    @property
    def is_answerable(self) -> bool:
        """Whether its documents are meant to hold the answer."""
        return self.kind != UNANSWERABLE


@dataclass(frozen=True)
class Slot:
    """A place for a question.

    Attributes:
        index: place in the stage.
        kind: a key of `SHARES`.
        chunk: place of the first chunk in the corpus.
        chunk_id: of this chunk.
    """

    index: int
    kind: str
    chunk: int
    chunk_id: str

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits of kind and chunk, wherever both stand."""
        return short_digest(f"{self.kind}\0{self.chunk_id}")


def is_useful(chunk: DocumentChunk) -> bool:
    """Whether questions can be made from a chunk."""
    return len(chunk.text.encode()) >= FEWEST_BYTES


def slots_of(corpus: Sequence[DocumentChunk], shares: Mapping[str, float], count: int, seed: int) -> list[Slot]:
    """The first `count` slots, or all that there are; more of them begin with the same ones.

    Args:
        shares: kind -> share.
    """
    places = [place for place, chunk in enumerate(corpus) if is_useful(chunk)]
    kinds = {kind: shares[kind] for kind in SHARES if shares.get(kind, 0) > 0}
    orders = {kind: random.Random(f"{seed}\0{kind}").sample(places, len(places)) for kind in kinds}
    turns = in_turn(kinds)
    slots = list[Slot]()
    while len(slots) < min(count, len(places) * len(kinds)):  # each useful chunk once for each kind
        kind = next(turns)
        if orders[kind]:
            place = orders[kind].pop(0)
            slots.append(Slot(len(slots), kind, place, corpus[place].id))
    return slots
