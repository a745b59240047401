"""`read_documents`: files and folders -> documents. One row of `DOCUMENT_READERS` per file suffix."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import READERS, existing, is_blank, library_errors, read_records, read_text
from rag_evaluator.errors import DatasetError

from .corpus import Document

TEXT_COLUMNS = ("text", "page_content", "content", "body", "paragraph", "passage", "document", "context")
ID_COLUMNS = ("id", "doc_id", "document_id", "_id")
EXTRA = "Reading {suffix} files needs markitdown: pip install 'markitdown[docx,pdf]'."
LINK = "a link that leads to no file. Name a folder that it leads to beside this one."
NO_TEXT = "no text in it. A scan needs OCR first, for instance by ocrmypdf."


def _converted(path: Path, converter: str) -> str:
    """A file as Markdown, so that headings stay, by a converter of markitdown.

    Not by its `MarkItDown`, which takes a broken file for plain text.
    """
    try:
        import markitdown
        from markitdown import converters
    except ImportError as error:
        raise DatasetError(EXTRA.format(suffix=path.suffix)) from error
    about = markitdown.StreamInfo(extension=path.suffix.lower())
    logging.getLogger("pdfminer").setLevel(logging.ERROR)  # it warns of fonts, once a page
    with library_errors(path.name, f"a {path.suffix} file", "Open and save it again, or leave it out."):
        text: str = getattr(converters, converter)().convert(BytesIO(path.read_bytes()), about).markdown
    return text


DOCUMENT_READERS: Mapping[str, Callable[[Path], str]] = {
    **dict.fromkeys((".txt", ".md", ".markdown"), read_text),
    **dict.fromkeys((".html", ".htm"), partial(_converted, converter="HtmlConverter")),
    ".pdf": partial(_converted, converter="PdfConverter"),
    ".docx": partial(_converted, converter="DocxConverter"),
}
"""Suffix -> what reads a file as one text. Tables of `dataset.readers` give one document a row."""


def read_documents(sources: Iterable[str | Path], text_column: str | None = None) -> Iterator[Document]:
    """The documents of files and folders, in order; a folder's by path.

    What cannot be read is reported and left out. Of documents with the same id, as `README.md` of two folders, the
    second is `README.md (2)`.

    Args:
        text_column: of tables; None: the first of `TEXT_COLUMNS` that is there.

    Raises `DatasetError` for a path that does not exist, or a folder without any file that can be read.
    """
    names: Counter[str] = Counter()
    for entry in (entry for source in sources for entry in _of_path(existing(Path(source)), text_column)):
        names[entry.id] += 1
        yield entry if names[entry.id] == 1 else replace(entry, id=f"{entry.id} ({names[entry.id]})")


def _of_path(path: Path, text_column: str | None) -> Iterator[Document]:
    if path.is_file():
        yield from _of_file(path, path.name, text_column)
        return
    known = {**DOCUMENT_READERS, **READERS}
    files = {
        file.relative_to(path): file
        for file in sorted(path.rglob("*"))
        if not any(part.startswith((".", "~$")) for part in file.relative_to(path).parts)
    }
    if not any(file.suffix.lower() in known for file in files):
        raise DatasetError(f"{path}: no documents here. Expected files with one of {', '.join(known)}.")
    for name, file in files.items():
        if file.is_file():
            yield from _of_file(file, name.as_posix(), text_column)
        elif file.is_symlink():
            yield Document(name.as_posix(), unread=LINK)


def _of_file(path: Path, name: str, text_column: str | None) -> Iterator[Document]:
    suffix = path.suffix.lower()
    try:
        if suffix in READERS:
            yield from _rows(path, name, text_column)
        elif suffix in DOCUMENT_READERS:
            yield _document(name, DOCUMENT_READERS[suffix](path))
        else:
            yield Document(name, unread=f"unknown suffix '{path.suffix}'.")
    except (DatasetError, OSError) as error:
        yield Document(name, unread=str(error))


def _rows(path: Path, name: str, text_column: str | None) -> Iterator[Document]:
    """A document a row of a table; the first row says which column has the text."""
    column = None
    for place, record in enumerate(read_records(path)[1]):
        column = column or _text_column(record.row, text_column, record.where)
        identity = next((record.row[key] for key in ID_COLUMNS if record.row.get(key) not in (None, "")), place)
        value = record.row.get(column)
        yield _document(f"{name}#{identity}", "" if value is None else str(value))


def _text_column(row: Mapping[str, Any], text_column: str | None, where: str) -> str:
    names = {name.lower().strip(): name for name in row}
    wanted = TEXT_COLUMNS if text_column is None else (text_column.lower().strip(),)
    for name in wanted:
        if name in names:
            return names[name]
    raise DatasetError(
        f"{where}: no column with the text, expected one of {', '.join(wanted)}, received "
        f"{', '.join(map(repr, row))}. Set testset.text_column."
    )


def _document(name: str, text: str) -> Document:
    return Document(name, unread=NO_TEXT) if is_blank(text) else Document(name, text)
