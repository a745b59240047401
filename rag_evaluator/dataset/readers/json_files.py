"""JSONL and JSON files."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
# Keys under which datasets are exported as one object, {key: [objects]}.
_ROW_LISTS = ("samples", "data", "rows", "results")


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


def read_text(path: Path) -> str:
    """The whole file, without a byte order mark; DatasetError with the line of the first byte that is not UTF-8."""
    with library_errors(path.name, "a readable file", "Check its permissions."):
        return _decoded(path.read_bytes(), path, 1)


def _decoded(data: bytes, path: Path, line: int) -> str:
    """The text of bytes that begin at a line of the file."""
    try:
        return data.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        encoding = _encoding_of(path.read_bytes())
        looks = f" The file looks like {encoding}." if encoding else ""
        raise DatasetError(
            f"{path.name}, line {line}: expected UTF-8, received the byte 0x{data[error.start]:02x}.{looks} "
            "Save the file as UTF-8 (Excel: 'CSV UTF-8'; or: "
            f"iconv -f {encoding or '<encoding>'} -t UTF-8 {path.name})."
        ) from error


def _encoding_of(data: bytes) -> str:
    """What the bytes of a file that is no UTF-8 look like; empty where nobody knows."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
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
        file = path.open("rb")
    with file:
        for number, data in enumerate(file, start=1):
            line = _decoded(data, path, number).rstrip()  # an object that goes on is broken here, not on the next line
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
