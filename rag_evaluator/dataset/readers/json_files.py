"""JSONL and JSON files."""

import codecs
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from rag_evaluator.dataset.json_values import Several
from rag_evaluator.errors import DatasetError
from rag_evaluator.files import Json

WESTERN = "À-ÏÑ-ÖØ-Üß-ïñ-öø-üÿŒœ"
LETTERS = {
    "CP932": re.compile("[\u3040-\u30ff]"),
    "GB18030": re.compile("[的是了在不有和问答]"),
    "CP1252": re.compile(
        rf"(?=.*[a-z][’{WESTERN}])[\x00-\x7f{WESTERN}€‚„…•–—‘’“”‹›«»¡¿ªº°·§©®™£±½²´\xa0]*\Z", re.DOTALL
    ),
}
"""What Excel writes in Japan, China and the West -> what it is known by: kana, the commonest Chinese letters; no signs
but Western ones, one of them behind a Latin letter."""
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
READ_AS_WELL = ("CP1252", "UTF-16")
PACKED = ".gz"
TEXTS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")
"""Suffixes of text files."""
# Keys under which datasets are exported as one object, {key: [objects]}.
_ROW_LISTS = ("samples", "data", "rows", "results")
_LINKED = {"tasks", "evaluations"}  # keys of an object whose lists refer to each other, see `published`


@dataclass(frozen=True)
class InputRecord:
    """One input row as read. `is_cells`: the values are CSV or XLSX cells, so a list is JSON text in a cell."""

    where: str
    row: Json  # Any: a row holds whatever the user's columns hold
    is_cells: bool = False


def as_row(row: Any, where: str, advice: str) -> Json:
    """The row itself, or the fields of a pydantic object as ragas' samples are; DatasetError if it is neither."""
    if hasattr(row, "model_dump"):
        row = row.model_dump(exclude_none=True)
    if not isinstance(row, Mapping):
        raise DatasetError(f"{where}: expected an object (dict), received {type(row).__name__}. {advice}")
    return row


def joined(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Names and values as a dict; a name that is there several times keeps all its values, as `Several`."""
    values_of: dict[Any, list[Any]] = {}
    for name, value in pairs:
        values_of.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else Several(values) for name, values in values_of.items()}


def numbered(rows: Iterable[Any], prefix: str) -> Iterator[InputRecord]:
    """Rows without a line number are named by their position, 0-based as `rows[2]` and `frame.iloc[2]`."""
    for index, row in enumerate(rows):
        where = f"{prefix}row {index}"
        yield InputRecord(where, as_row(row, where, "Make each row {column name: value}."))


def suffix_of(path: Path) -> str:
    """The suffix in small letters; of a packed text `.csv` and the like."""
    inner = Path(path.stem).suffix.lower()
    return inner if path.suffix.lower() == PACKED and inner in TEXTS else path.suffix.lower()


def opened(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked."""
    return cast(BinaryIO, gzip.open(path)) if path.suffix.lower() == PACKED else path.open("rb")


def read_text(path: Path) -> str:
    """The whole file, without a byte order mark; DatasetError with the line of the first byte that is not UTF-8."""
    with library_errors(path.name, "a readable file", "Check its permissions."), opened(path) as file:
        return _decoded(file.read(), path, 1)


def encoding_note(source: Any) -> str:
    """That a file is read as something else than UTF-8; empty for UTF-8 and what is no text file. Any: a dataset."""
    path = Path(source).expanduser() if isinstance(source, str | Path) else Path()
    encoding = _encoding(path, path.stat().st_mtime_ns) if suffix_of(path) in TEXTS else ""
    return f"{path.name} is no UTF-8, and is read as {encoding}. If letters look wrong, save it as UTF-8" * bool(
        encoding
    )


@lru_cache(maxsize=4)
def _encoding(path: Path, _: int) -> str:
    """Of a file that is no UTF-8, see `_encoding_of`; the number is when it was written."""
    with opened(path) as file:
        try:
            for _part in codecs.iterdecode(iter(partial(file.read, 1 << 20), b""), "utf-8"):
                pass
        except UnicodeDecodeError:
            file.seek(0)
            return _encoding_of(file.read())
    return ""


def _decoded(data: bytes, path: Path, line: int) -> str:
    """The text of bytes that begin at a line of the file."""
    try:
        return data.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        encoding = _encoding(path, path.stat().st_mtime_ns)
        if encoding in READ_AS_WELL:
            return data.decode(encoding)
        looks = f" The file looks like {encoding}." if encoding else ""
        raise DatasetError(
            f"{path.name}, line {line}: expected UTF-8, received the byte 0x{data[error.start]:02x}.{looks} "
            "Save the file as UTF-8 (Excel: 'CSV UTF-8'; or: "
            f"iconv -f {encoding or '<encoding>'} -t UTF-8 {path.name})."
        ) from error


def _encoding_of(data: bytes) -> str:
    """What the bytes of a file that is no UTF-8 look like; empty where nobody knows."""
    if data[:2] in UTF_16:
        return "UTF-16"
    for encoding, letters in LETTERS.items():
        with suppress(UnicodeDecodeError):
            if letters.search(data.decode(encoding)):
                return encoding
    return ""


@contextmanager
def library_errors(name: str, expected: str, advice: str) -> Iterator[None]:
    """Any error of a library inside becomes a DatasetError: readers of broken files raise all kinds."""
    try:
        yield
    except DatasetError:
        raise
    except Exception as error:
        raise DatasetError(
            f"{name}: expected {expected}, but it cannot be read ({type(error).__name__}: {error}). {advice}"
        ) from error


def read_jsonl(path: Path) -> Iterator[InputRecord]:
    """One object per line; blank lines are skipped and still counted. Only "\\n" ends a line."""
    advice = "Write one object per line, or rename a JSON document to .json."
    with library_errors(path.name, "a readable file", "Check its permissions."):
        file = opened(path)
        lines: Iterable[bytes | str] = file
        if file.read(2) in UTF_16:
            lines = read_text(path).split("\n")
        file.seek(0)
    with file:
        for number, data in enumerate(lines, start=1):
            text = data if isinstance(data, str) else _decoded(data, path, number)
            line = text.rstrip()  # an object that goes on is broken here, not on the next line
            if line:
                where = f"{path.name}, line {number}"
                yield InputRecord(where, as_row(_parse(line, path.name, number, advice), where, advice))


def read_json(path: Path) -> Iterator[InputRecord]:
    """A list of objects, an object with that list under samples, data, rows or results, or one of equal lists."""
    document = _parse(read_text(path), path.name, 1, "If it has one object per line, rename it to .jsonl.")
    return numbered(rows_of(document, path.name), f"{path.name}, ")


def _parse(text: str, name: str, line: int, advice: str) -> Any:
    """`line`: the line of the file at which the text begins."""
    try:
        return json.loads(text, object_pairs_hook=joined)
    except json.JSONDecodeError as error:
        where = f"{name}, line {line + error.lineno - 1}, column {error.colno}"
        near = text[max(0, error.pos - 20) : error.pos + 20]
        raise DatasetError(f"{where}: broken JSON ({error.msg}) near {near!r}. Correct it there. {advice}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists nested too deeply
        raise DatasetError(f"{name}, line {line}: unusable JSON ({error}). Correct it there.") from error


def rows_of(document: Any, name: str) -> list[Any]:
    """The rows of a JSON document, see `read_json`. Any: a document may be anything."""
    if isinstance(document, list):
        return document
    received = type(document).__name__
    if isinstance(document, dict) and document.keys() >= _LINKED:
        return [document]
    if isinstance(document, dict):
        received = f"one object with the keys {', '.join(map(repr, document)) or '(none)'}"
        lists: list[list[Any]] = [
            rows
            for key in _ROW_LISTS
            if type(rows := document.get(key)) is list and rows and all(isinstance(row, dict) for row in rows)
        ]
        if len(lists) == 1:
            return lists[0]
        if document and not lists and all(type(column) is list for column in document.values()):
            lengths = {key: len(column) for key, column in document.items()}
            if len(set(lengths.values())) == 1:
                return [dict(zip(document, values, strict=True)) for values in zip(*document.values(), strict=True)]
            received = f"lists of the lengths {lengths}"
    raise DatasetError(
        f"{name}: expected a list of objects, one object with that list under one of {', '.join(_ROW_LISTS)}, or an "
        f"object of equally long lists, received {received}. Put the rows in a list (pandas: orient='records')."
    )
