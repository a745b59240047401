"""The chunks that are nearest in meaning, by embeddings that are made once and kept in a file."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from rag_evaluator.dataset.documents.chunks import DocumentChunk
from rag_evaluator.errors import ResultsError
from rag_evaluator.files.atomic import write_whole
from rag_evaluator.files.digest import short_digest

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
