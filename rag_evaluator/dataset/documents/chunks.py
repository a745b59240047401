"""Chunks of documents: cut where a text has its seams, at most so many tokens, with offsets and headings."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_evaluator.dataset.documents.document import Document
from rag_evaluator.errors import DatasetError
from rag_evaluator.files.digest import short_digest

if TYPE_CHECKING:
    from tokenizers import Tokenizer

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
