"""A document, and a file that could not be read as one."""

from dataclasses import dataclass

from rag_evaluator.dataset.blank import is_blank
from rag_evaluator.files.digest import short_digest


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
class Unread:
    """A file, or a row of one, that gives no document.

    Attributes:
        id: as a document's.
        reason: for people, with what to do.
    """

    id: str
    reason: str
