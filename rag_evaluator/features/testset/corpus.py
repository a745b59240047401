"""A corpus: the chunks of all documents, cut once and kept in a file."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from rag_evaluator.errors import DatasetError
from rag_evaluator.files import file_digest, read_lines, short_digest, write_json, write_lines

if TYPE_CHECKING:
    from semantic_text_splitter import MarkdownSplitter

HEADING = re.compile(  # or code, in which a # begins a comment
    r"^ {0,3}(?P<fence>```|~~~)[\s\S]*?(?:^ {0,3}(?P=fence)[ \t]*$|\Z)"
    r"|^ {0,3}(?P<level>#{1,6})[ \t]+(?P<title>.+?)[ \t#]*$",
    re.MULTILINE,
)
EXTRA = "Cutting documents into chunks needs semantic-text-splitter: pip install semantic-text-splitter."
CHUNKS = "chunks.jsonl"
ABOUT = "corpus.json"


@dataclass(frozen=True)
class Document:
    """A text that questions are made from, or a file, or a row of one, that gives none.

    Attributes:
        id: unique in a corpus: the file's path below the folder, with the place of the row in a table of texts.
        text: the whole text, Markdown where the format has headings; offsets count its characters.
        unread: why there is no text, for people, with what to do; None: there is one.
    """

    id: str
    text: str = ""
    unread: str | None = None


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


def chunks_of(document: Document, splitter: "MarkdownSplitter") -> Iterator[DocumentChunk]:
    """The chunks of a document in order; they do not overlap."""
    headings = _headings(document.text)
    for start, text in splitter.chunk_indices(document.text):
        _, above = headings[bisect_right(headings, start, key=itemgetter(0)) - 1]
        yield DocumentChunk(document.id, start, start + len(text), text, above)


def splitter_of(tokenizer: Path, tokens: int) -> "MarkdownSplitter":
    """What cuts texts into chunks of at most so many tokens of a tokenizer. Raises `DatasetError` if it is missing."""
    try:
        from semantic_text_splitter import MarkdownSplitter
    except ImportError as error:
        raise DatasetError(EXTRA) from error
    from tokenizers import Tokenizer

    counting = Tokenizer.from_file(str(tokenizer))
    counting.no_truncation()
    counting.no_padding()
    return MarkdownSplitter.from_huggingface_tokenizer(counting, tokens)


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


@dataclass(frozen=True)
class Corpus:
    """The chunks of all documents.

    Attributes:
        chunks: in the order of the documents.
        digest: of all chunks.
        documents: their number.
        source: what it was made from, as `write_corpus` was given it.
        unread: `id` of what gave no document, and the `reason`.
    """

    chunks: Sequence[DocumentChunk]
    digest: str
    documents: int
    source: str
    unread: Sequence[Mapping[str, str]]


def read_corpus(folder: Path) -> Corpus:
    """The corpus of a folder. Raises `DatasetError` if its files are not there, or not as they were written."""
    path = folder / CHUNKS
    try:
        about = json.loads((folder / ABOUT).read_bytes())
        if file_digest(path) != about["digest"]:
            raise DatasetError(f"{path}: not as it was written. Remove the folder {folder}.")
        rows = [row for _, row in read_lines(path, json.loads)]
        chunks = [DocumentChunk(**{**row, "headings": tuple(row["headings"])}) for row in rows]
        return Corpus(chunks, **about)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DatasetError(f"{folder}: no corpus that can be read: {error!r}. Remove the folder.") from error


def write_corpus(folder: Path, documents: Iterable[Document], splitter: "MarkdownSplitter", source: str = "") -> Corpus:
    """Cut documents into chunks and keep them in a folder. Raises `DatasetError` if there is no text at all.

    Args:
        source: names all that the corpus depends on.
    """
    entries = list(documents)
    read = [entry for entry in entries if entry.unread is None]
    unread = [{"id": entry.id, "reason": entry.unread} for entry in entries if entry.unread is not None]
    if not read:
        reasons = "".join(f"\n  {entry['id']}: {entry['reason']}" for entry in unread[:5])
        raise DatasetError(f"no document with text in it: {len(unread)} could not be read.{reasons}")
    write_lines(folder / CHUNKS, (asdict(chunk) for document in read for chunk in chunks_of(document, splitter)))
    about = {
        "digest": file_digest(folder / CHUNKS),
        "source": source,
        "documents": len(read),
        "unread": unread,
    }
    write_json(folder / ABOUT, about)
    return read_corpus(folder)
