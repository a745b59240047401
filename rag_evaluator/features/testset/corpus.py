"""A corpus: the chunks of all documents in a file, so that memory does not grow with them."""

import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from filelock import FileLock

from rag_evaluator.dataset.json_values import is_blank
from rag_evaluator.errors import DatasetError
from rag_evaluator.files.atomic import write_json, write_lines
from rag_evaluator.files.digest import file_digest, short_digest

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True)
class Document:
    """A text that questions are made from.

    Attributes:
        id: unique in a corpus: the file's path below the folder, with the place of the row in a table of texts.
        text: the whole text, Markdown where the format has headings; offsets count its characters.
    """

    id: str
    text: str

    @property
    def digest(self) -> str:
        """16 hexadecimal digits of id and text."""
        return short_digest(f"{self.id}\0{self.text}")

    @property
    def is_blank(self) -> bool:
        return is_blank(self.text)


@dataclass(frozen=True)
class UnreadFile:
    """A file, or a row of one, that gives no document.

    Attributes:
        id: as a document's.
        reason: for people, with what to do.
    """

    id: str
    reason: str


HEADING = re.compile(  # or code, in which a # begins a comment
    r"^ {0,3}(?P<fence>```|~~~)[\s\S]*?(?:^ {0,3}(?P=fence)[ \t]*$|\Z)"
    r"|^ {0,3}(?P<level>#{1,6})[ \t]+(?P<title>.+?)[ \t#]*$",
    re.MULTILINE,
)
EXTRA = "Cutting documents into chunks needs semantic-text-splitter: pip install semantic-text-splitter."


@dataclass(frozen=True)
class DocumentChunk:
    """A part of a document.

    Attributes:
        document: id of the document.
        start, end: offsets in characters of the document's text; `text` is what is between them.
        headings: under which it is, the outermost first.
    """

    document: str
    start: int
    end: int
    text: str
    headings: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """16 hexadecimal digits, the same wherever the corpus lies and whatever else is in it."""
        return short_digest(f"{self.document}\0{self.start}\0{self.text}")


class Splitter:
    """Cuts documents into chunks.

    Args:
        tokenizer: whose tokens are counted.
        tokens: of a chunk at most.

    Raises `DatasetError` if the library that cuts is not installed.
    """

    def __init__(self, tokenizer: "Tokenizer", tokens: int) -> None:
        try:
            from semantic_text_splitter import MarkdownSplitter
        except ImportError as error:
            raise DatasetError(EXTRA) from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._splitter = MarkdownSplitter.from_huggingface_tokenizer(tokenizer, tokens)

    def chunks(self, document: Document) -> Iterator[DocumentChunk]:
        """The chunks of a document in order; they do not overlap."""
        headings = _Headings(document.text)
        for start, text in self._splitter.chunk_indices(document.text):
            yield DocumentChunk(document.id, start, start + len(text), text, headings.above(start))


class _Headings:
    """The headings of a Markdown text, those inside of code left out."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._paths: list[tuple[str, ...]] = []
        path: dict[int, str] = {}
        for match in HEADING.finditer(text):
            if match["fence"]:
                continue
            level = len(match["level"])
            path = {**{above: title for above, title in path.items() if above < level}, level: match["title"]}
            self._starts.append(match.start())
            self._paths.append(tuple(path[above] for above in sorted(path)))

    def above(self, offset: int) -> tuple[str, ...]:
        """Those that the text at an offset is under; a heading is under itself."""
        place = bisect_right(self._starts, offset)
        return self._paths[place - 1] if place else ()


CHUNKS, ABOUT, LOCK = "chunks.jsonl", "corpus.json", ".lock"


class Corpus(Sequence[DocumentChunk]):
    """The chunks of a corpus, in the order of the documents, read from its file where they are needed.

    Args:
        folder: with the files that `write_corpus` has written.

    Attributes:
        digest: of all chunks.
        documents: their number.
        source: what it was made from, as `write_corpus` was given it.
        unread: what gave no document.

    Raises `DatasetError` if the files are not there, or not as they were written.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / CHUNKS
        try:
            about = json.loads((folder / ABOUT).read_bytes())
            self.documents: int = about["documents"]
            self.digest: str = about["digest"]
            self.source: str = about["source"]
            self.unread = [UnreadFile(**entry) for entry in about["unread"]]
            is_whole = file_digest(self._path) == self.digest
            self._file = self._path.open("rb")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DatasetError(f"{folder}: no corpus that can be read: {error!r}. Remove the folder.") from error
        if not is_whole:
            raise DatasetError(f"{self._path}: not as it was written. Remove the folder {folder}.")
        self._places = array("Q", [0])
        for line in self._file:
            self._places.append(self._places[-1] + len(line))

    @classmethod
    def find(cls, folder: Path, source: str) -> "Corpus | None":
        """The corpus of a folder, if there is one that was made from the same."""
        try:
            corpus = cls(folder)
        except DatasetError:  # none yet, or one that a killed process has left half written
            return None
        return corpus if corpus.source == source else None

    def __len__(self) -> int:
        return len(self._places) - 1

    @overload
    def __getitem__(self, index: int) -> DocumentChunk: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[DocumentChunk]: ...
    def __getitem__(self, index: int | slice) -> DocumentChunk | Sequence[DocumentChunk]:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        place = range(len(self))[index]
        self._file.seek(self._places[place])
        fields = json.loads(self._file.read(self._places[place + 1] - self._places[place]))
        return DocumentChunk(**{**fields, "headings": tuple(fields["headings"])})

    def __iter__(self) -> Iterator[DocumentChunk]:
        return (self[place] for place in range(len(self)))


def write_corpus(
    folder: Path, documents: Iterable[Document | UnreadFile], splitter: Splitter, source: str = ""
) -> Corpus:
    """Cut documents into chunks and keep them in a folder. Raises `DatasetError` if there is no text at all.

    Args:
        source: names all that the corpus depends on.
    """
    read, unread = [0], []

    def chunks() -> Iterator[dict[str, Any]]:
        for document in documents:
            if isinstance(document, UnreadFile):
                unread.append(document)
                continue
            read[0] += 1
            yield from map(asdict, splitter.chunks(document))
        if not read[0]:  # while nothing is written
            reasons = "".join(f"\n  {entry.id}: {entry.reason}" for entry in unread[:5])
            raise DatasetError(f"no document with text in it: {len(unread)} could not be read.{reasons}")

    write_lines(folder / CHUNKS, chunks())
    about = {
        "digest": file_digest(folder / CHUNKS),
        "source": source,
        "documents": read[0],
        "unread": [asdict(entry) for entry in unread],
    }
    write_json(folder / ABOUT, about)
    return Corpus(folder)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """For one process at a time, in the folder of a corpus, which is made; documents that are refused leave none."""
    lock = folder / LOCK
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(lock):
            yield
    except DatasetError:
        if set(folder.iterdir()) == {lock}:
            lock.unlink()
            with suppress(OSError):  # there are results of an earlier run beside it
                folder.rmdir()
                folder.parent.rmdir()
        raise
