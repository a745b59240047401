"""A corpus: the chunks of all documents, cut once and kept in a file."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from rag_evaluator.errors import DatasetError
from rag_evaluator.files.atomic import file_digest, short_digest, write_json, write_lines
from rag_evaluator.files.jsonl import read_lines

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
        headings = _headings(document.text)
        for start, text in self._splitter.chunk_indices(document.text):
            _, above = headings[bisect_right(headings, start, key=itemgetter(0)) - 1]
            yield DocumentChunk(document.id, start, start + len(text), text, above)


def _headings(text: str) -> list[tuple[int, tuple[str, ...]]]:
    """Offset -> the headings that the text from there on is under; those inside of code are none."""
    path: dict[int, str] = {}
    headings: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    for match in HEADING.finditer(text):
        if not match["fence"]:
            level = len(match["level"])
            path = {**{above: title for above, title in path.items() if above < level}, level: match["title"]}
            headings.append((match.start(), tuple(path.values())))
    return headings


CHUNKS, ABOUT = "chunks.jsonl", "corpus.json"


@dataclass(frozen=True)
class Corpus:
    """The chunks of all documents.

    Attributes:
        chunks: in the order of the documents.
        digest: of all chunks.
        documents: their number.
        source: what it was made from, as `write_corpus` was given it.
        unread: what gave no document.
    """

    chunks: Sequence[DocumentChunk]
    digest: str
    documents: int
    source: str
    unread: Sequence[UnreadFile]


def read_corpus(folder: Path) -> Corpus:
    """The corpus of a folder. Raises `DatasetError` if its files are not there, or not as they were written."""
    path = folder / CHUNKS
    try:
        about = json.loads((folder / ABOUT).read_bytes())
        unread = [UnreadFile(**entry) for entry in about.pop("unread")]
        if file_digest(path) != about["digest"]:
            raise DatasetError(f"{path}: not as it was written. Remove the folder {folder}.")
        rows = [row for _, row in read_lines(path, json.loads)]
        chunks = [DocumentChunk(**{**row, "headings": tuple(row["headings"])}) for row in rows]
        return Corpus(chunks, unread=unread, **about)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DatasetError(f"{folder}: no corpus that can be read: {error!r}. Remove the folder.") from error


def write_corpus(
    folder: Path, documents: Iterable[Document | UnreadFile], splitter: Splitter, source: str = ""
) -> Corpus:
    """Cut documents into chunks and keep them in a folder. Raises `DatasetError` if there is no text at all.

    Args:
        source: names all that the corpus depends on.
    """
    entries = list(documents)
    read = [entry for entry in entries if isinstance(entry, Document)]
    unread = [entry for entry in entries if isinstance(entry, UnreadFile)]
    if not read:
        reasons = "".join(f"\n  {entry.id}: {entry.reason}" for entry in unread[:5])
        raise DatasetError(f"no document with text in it: {len(unread)} could not be read.{reasons}")
    write_lines(folder / CHUNKS, (asdict(chunk) for document in read for chunk in splitter.chunks(document)))
    about = {
        "digest": file_digest(folder / CHUNKS),
        "source": source,
        "documents": len(read),
        "unread": [asdict(entry) for entry in unread],
    }
    write_json(folder / ABOUT, about)
    return read_corpus(folder)
