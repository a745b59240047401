"""What readers share: an `InputRecord`, text decoded as UTF-8, and libraries' errors as `DatasetError`."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.json_values import Repeated
from rag_evaluator.errors import DatasetError


@dataclass(frozen=True)
class InputRecord:
    """One input row as read. `is_cells`: the values are CSV or XLSX cells, so a list is JSON text in a cell."""

    where: str
    row: Mapping[str, Any]  # Any: a row holds whatever the user's columns hold
    is_cells: bool = False


def as_row(row: Any, where: str, advice: str) -> Mapping[str, Any]:
    """The row itself, or the fields of a pydantic object as ragas' samples are; DatasetError if it is neither."""
    if hasattr(row, "model_dump"):
        row = row.model_dump(exclude_none=True)
    if not isinstance(row, Mapping):
        raise DatasetError(f"{where}: expected an object (dict), received {type(row).__name__}. {advice}")
    return row


def joined(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Names and values as a dict; a name that is there several times keeps all its values, as `Repeated`."""
    values_of: dict[Any, list[Any]] = {}
    for name, value in pairs:
        values_of.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else Repeated(values) for name, values in values_of.items()}


def numbered(rows: Iterable[Any], prefix: str) -> Iterator[InputRecord]:
    """Rows without a line number are named by their position, 0-based as `rows[2]` and `frame.iloc[2]`."""
    for index, row in enumerate(rows):
        where = f"{prefix}row {index}"
        yield InputRecord(where, as_row(row, where, "Make each row {column name: value}."))


def read_text(path: Path) -> str:
    """The whole file, without a byte order mark; DatasetError with the line of the first byte that is not UTF-8."""
    with library_errors(path.name, "a readable file", "Check its permissions."):
        data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        utf16 = " The file looks like UTF-16." if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        raise DatasetError(
            f"{path.name}, line {line}: expected UTF-8, received the byte 0x{error.object[error.start]:02x}.{utf16} "
            f"Save the file as UTF-8 (Excel: 'CSV UTF-8'; or: iconv -f <encoding> -t UTF-8 {path.name})."
        ) from error


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
