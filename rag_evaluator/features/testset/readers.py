"""`read_documents`: files and folders -> documents. One row of `DOCUMENT_READERS` per file suffix."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.readers import READERS, iterate_records
from rag_evaluator.dataset.readers.json_files import InputRecord, library_errors, read_text
from rag_evaluator.errors import DatasetError
from rag_evaluator.features.testset.corpus import Document, UnreadFile

MAX_BYTES = 100_000_000  # of a file that is read as one document
TEXT_COLUMNS = ("text", "page_content", "content", "body", "paragraph", "passage", "document", "context")
ID_COLUMNS = ("id", "doc_id", "document_id", "_id")
CHARSET = re.compile(rb"charset\s*=\s*[\"']?([\w-]+)", re.IGNORECASE)
EXTRA = "Reading {suffix} files needs markitdown: pip install 'markitdown[docx,pdf]'."
TO_FOLDER = "a link to a folder, which is not followed. Name the folder beside this one."
TO_NOTHING = "a link that leads to no file. Remove or correct it."
NO_TEXT = "no text in it. A scan needs OCR first, for instance by ocrmypdf."


def _converted(path: Path, converter: str, content: bytes) -> str:
    """A file as Markdown, so that headings stay, by a converter of markitdown.

    Not by its `MarkItDown`, which takes a broken file for plain text.
    """
    try:
        import markitdown
        from markitdown import converters
    except ImportError as error:
        raise DatasetError(EXTRA.format(suffix=path.suffix)) from error
    about = markitdown.StreamInfo(extension=path.suffix.lower(), charset="utf-8")
    logging.getLogger("pdfminer").setLevel(logging.ERROR)  # it warns of fonts, once a page
    with library_errors(path.name, f"a {path.suffix} file", "Open and save it again, or leave it out."):
        text: str = getattr(converters, converter)().convert(BytesIO(content), about).markdown
    return text


def _html(path: Path) -> str:
    content = path.read_bytes()
    declared = CHARSET.search(content[:1024])
    try:
        text = content.decode(declared[1].decode("ascii")) if declared else read_text(path)
    except (LookupError, UnicodeDecodeError):
        text = read_text(path)  # its error names the line
    return _converted(path, "HtmlConverter", text.encode("utf-8", "replace"))


DOCUMENT_READERS: Mapping[str, Callable[[Path], str]] = {
    ".txt": read_text,
    ".md": read_text,
    ".markdown": read_text,
    ".html": _html,
    ".htm": _html,
    ".pdf": lambda path: _converted(path, "PdfConverter", path.read_bytes()),
    ".docx": lambda path: _converted(path, "DocxConverter", path.read_bytes()),
}
"""Suffix -> what reads a file as one text. Tables of `dataset.readers` give one document a row."""


def read_documents(sources: Sequence[Any], text_column: str | None = None) -> Iterator[Document | UnreadFile]:
    """The documents of files, folders and LangChain `Document`s, in order; a folder's by path.

    What cannot be read is reported and left out. Of documents with the same id, as `README.md` of two folders, the
    second is `README.md (2)`. Any: LangChain's class is not imported.

    Args:
        sources: paths and `Document`s.
        text_column: of tables; None: the first of `TEXT_COLUMNS` that is there.

    Raises `DatasetError` for a path that does not exist, or a folder without any file that can be read.
    """
    names: Counter[str] = Counter()
    for entry in _entries(sources, text_column):
        names[entry.id] += 1
        yield entry if names[entry.id] == 1 else replace(entry, id=f"{entry.id} ({names[entry.id]})")


def _entries(sources: Sequence[Any], text_column: str | None) -> Iterator[Document | UnreadFile]:
    for place, source in enumerate(sources):
        if isinstance(source, str | Path):
            yield from _of_path(Path(source).expanduser(), text_column)
        else:
            yield _checked(Document(_id_of(source, f"document {place}"), str(source.page_content)))


def _of_path(path: Path, text_column: str | None) -> Iterator[Document | UnreadFile]:
    if not path.exists():
        raise DatasetError(f"{path}: no such file or folder of documents. Correct the path.")
    if path.is_file():
        yield from _of_file(path, path.name, text_column)
        return
    files = [
        file
        for file in sorted(path.rglob("*"))
        if not any(part.startswith((".", "~$")) for part in file.relative_to(path).parts)
    ]
    if not any(file.is_file() and file.suffix.lower() in {**DOCUMENT_READERS, **READERS} for file in files):
        raise DatasetError(
            f"{path}: no documents here. Expected files with one of {', '.join({**DOCUMENT_READERS, **READERS})}."
        )
    for file in files:
        name = file.relative_to(path).as_posix()
        if file.is_file():
            yield from _of_file(file, name, text_column)
        elif file.is_symlink():
            yield UnreadFile(name, TO_FOLDER if file.is_dir() else TO_NOTHING)


def _of_file(path: Path, name: str, text_column: str | None) -> Iterator[Document | UnreadFile]:
    suffix = path.suffix.lower()
    try:
        if suffix in READERS:
            yield from _rows(path, name, text_column)
            return
        reader = DOCUMENT_READERS.get(suffix)
        if reader is None:
            yield UnreadFile(name, f"unknown suffix '{path.suffix}'.")
        elif (size := path.stat().st_size) > MAX_BYTES:
            yield UnreadFile(
                name, f"{size / 1e6:,.0f} MB, more than {MAX_BYTES / 1e6:,.0f} MB. Split it into chapters."
            )
        else:
            yield _checked(Document(name, reader(path)))
    except (DatasetError, OSError) as error:
        yield UnreadFile(name, str(error))


def _rows(path: Path, name: str, text_column: str | None) -> Iterator[Document | UnreadFile]:
    """A document a row of a table."""
    _, records = iterate_records(path)
    seen: set[str] = set()
    try:
        yield from _documents(name, records, text_column, seen)
    except DatasetError as error:
        if not seen:
            raise
        yield UnreadFile(name, f"{error} The rows before it are read.")


def _documents(
    name: str, records: Iterable[InputRecord], text_column: str | None, seen: set[str]
) -> Iterator[Document | UnreadFile]:
    """The documents of rows; their ids are added to `seen`. Raises `DatasetError` if the first row has no text."""
    for place, record in enumerate(records):
        try:
            column = _text_column(record.row, text_column, record.where)
        except DatasetError as error:
            if not seen:
                raise
            yield UnreadFile(f"{name}#{place}", str(error))
            continue
        identity = next((str(record.row[key]) for key in ID_COLUMNS if record.row.get(key) not in (None, "")), "")
        document = f"{name}#{identity or place}"
        if document in seen:
            document = f"{name}#{place}"
        seen.add(document)
        value = record.row.get(column)
        yield _checked(Document(document, value if isinstance(value, str) else "" if value is None else str(value)))


def _text_column(row: Mapping[str, Any], text_column: str | None, where: str) -> str:
    names = {name.lower().strip(): name for name in row}
    wanted: Iterable[str] = TEXT_COLUMNS if text_column is None else [text_column.lower().strip()]
    for name in wanted:
        if name in names:
            return names[name]
    known = ", ".join(map(repr, row))
    raise DatasetError(
        f"{where}: no column with the text, expected {text_column or 'one of ' + ', '.join(TEXT_COLUMNS)}, received "
        f"{known}. Set testset.text_column."
    )


def _checked(document: Document) -> Document | UnreadFile:
    return UnreadFile(document.id, NO_TEXT) if document.is_blank else document


def _id_of(document: Any, otherwise: str) -> str:
    """Of a LangChain `Document`: its id, else where it comes from. Any: see `read_documents`."""
    metadata = getattr(document, "metadata", None) or {}
    source, page = metadata.get("source"), metadata.get("page")
    identity = str(getattr(document, "id", None) or source or otherwise)
    return identity if page is None or getattr(document, "id", None) else f"{identity}#{page}"
