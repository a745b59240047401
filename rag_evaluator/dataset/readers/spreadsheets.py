"""CSV, TSV and XLSX: files whose values are cells under a header row."""

import csv
import datetime
import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.json_values import Unwritable, plain
from rag_evaluator.dataset.readers.json_files import InputRecord, joined, library_errors, read_text
from rag_evaluator.errors import DatasetError

SUFFIXES = (".csv", ".tsv", ".xlsx")  # of files in which a list is JSON text in a cell
CELL_BYTES = 1_000_000
"""Limit of one text in a workbook. Excel's 32,767 characters need at most a quarter of it, escapes included."""
WORKBOOK_BYTES = 1_000_000_000
"""Limit of all parts of a workbook, unpacked."""
_MANY = 1 << 20  # bytes read together
_TO_CALCULATE = re.compile(rb"fullCalcOnLoad=[\"'](1|true)")


def is_cells(path: Path) -> bool:
    """Whether the values of a file are cells."""
    return path.suffix.lower() in SUFFIXES


def check_workbook(path: Path) -> None:
    """DatasetError if the workbook, or a cell of it, is too large; a few kilobytes can unpack to gigabytes."""
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
        total = sum(part.file_size for part in parts)
        if total > WORKBOOK_BYTES:
            raise DatasetError(
                f"{path.name}: expected at most {_megabytes(WORKBOOK_BYTES)} of unpacked text, received "
                f"{_megabytes(total)}. Save the sheet as .csv or the rows as .jsonl."
            )
        for part in parts:
            is_sheet = part.filename.endswith(".xml") and not part.filename.startswith("customXml/")  # stored queries
            if part.file_size > CELL_BYTES and is_sheet and _has_long_text(archive, part):
                raise DatasetError(
                    f"{path.name}: expected cells of at most 32,767 characters, as Excel has them, received one of "
                    f"more than {_megabytes(CELL_BYTES)} (in {part.filename}, {_megabytes(part.file_size)} unpacked). "
                    "Divide the text, or save the rows as .jsonl."
                )


def is_calculated(path: Path) -> bool:
    """Whether a spreadsheet program has calculated the formulas; libraries leave that to the next program."""
    with zipfile.ZipFile(path) as archive:
        return _TO_CALCULATE.search(archive.read("xl/workbook.xml")) is None


def _has_long_text(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bool:
    """Whether a text between two tags is longer than `CELL_BYTES`; a part is never in memory as a whole."""
    length = longest = 0
    with archive.open(part) as file:
        while longest <= CELL_BYTES and (data := file.read(_MANY)):
            first, *tags = data.split(b"<")
            length += len(first)
            longest = max(longest, length, *map(len, tags))
            length = len(tags[-1]) if tags else length
    return longest > CELL_BYTES


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size < 10_000_000 else f"{size / 1e6:,.0f} MB"


# A row and its number as a spreadsheet shows it: the first is 1. Any: a cell is text, a number, a date or None.
_Row = tuple[int, Sequence[Any]]

_EMPTY = ("", None)
LONGEST_HEADER = 100_000  # characters; Python's module reads no longer cell
OTHER_MARKS = ";\t|"  # spreadsheets of many languages write CSV with ';', as their comma stands in numbers
NOT_CALCULATED = (
    "the formula {!r} without a value; open the workbook in a spreadsheet program and save it, so that it is calculated"
)
SUMMARY, SCORES = "summary", "scores"  # the first two sheets of a workbook that this program writes


def read_csv(path: Path) -> Iterator[InputRecord]:
    """Cells are text: '007' and 'NA' stay what they are. Without a comma in the header, ';', a tab or '|' divides.

    In a file that our own writer may have written, the quote before formulas is removed.
    """
    rows = _separated_rows(path, read_text(path), ",", OTHER_MARKS)
    if all(is_harmless(cell) for _, cells in rows for cell in cells):
        rows = [(number, [original(cell) for cell in cells]) for number, cells in rows]
    return _records(path.name, rows)


def read_tsv(path: Path) -> Iterator[InputRecord]:
    """As CSV, with tabs between the cells."""
    return _records(path.name, _separated_rows(path, read_text(path), "\t"))


def read_xlsx(path: Path) -> Iterator[InputRecord]:
    """The first sheet; in a workbook of our own, where that is the summary, the sheet `scores`.

    A formula counts as its calculated value, an error value such as #N/A as an empty cell. One that was never
    calculated cannot be read.
    """
    with library_errors(path.name, "an Excel workbook", "Save it again as .xlsx without a password, or as .csv."):
        check_workbook(path)
        value_of = partial(_cell_value, zero_counts=is_calculated(path))
        rows = [
            (number, [value_of(*cell, *calculated) for cell, calculated in zip(row, values, strict=True)])
            for number, (row, values) in enumerate(zip(*_sheets(path), strict=True), start=1)
        ]
    return _records(path.name, rows)


def _separated_rows(path: Path, text: str, delimiter: str, alternatives: str = "") -> Sequence[_Row]:
    """The rows of a text; `alternatives`: what may divide its cells instead, if the header has no delimiter."""
    header = io.StringIO(text.lstrip()[:LONGEST_HEADER], newline="").readline().rstrip("\r\n")
    delimiter = _delimiter(header, delimiter, alternatives)
    rows = list(_csv_rows(path, text, delimiter))
    filled = [(number, cells) for number, cells in rows if cells]
    if filled:
        _check_separated(path.name, filled, delimiter)
    return filled


def _delimiter(header: str, usual: str, alternatives: str) -> str:
    cells = next(csv.reader([header], delimiter=usual), [])
    present = [mark for mark in alternatives if len(cells) == 1 and mark in cells[0]]
    return max(present, key=cells[0].count) if present else usual


def _csv_rows(path: Path, text: str, delimiter: str) -> Iterator[_Row]:
    limit = csv.field_size_limit(2**31 - 1)  # one cell may hold many contexts; the default is 128 KiB
    number = 0
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        for number, cells in enumerate(lines, start=1):
            yield number, cells
    except csv.Error as error:
        raise DatasetError(
            f"{path.name}, row {number + 1}: broken CSV ({error}; it was noticed on line {lines.line_num}). Put cells "
            'that hold quotes or line ends in double quotes, and double each quote inside them: "say ""yes""".'
        ) from error
    finally:
        csv.field_size_limit(limit)


def _check_separated(name: str, rows: Sequence[_Row], delimiter: str) -> None:
    (number, header), *body = rows
    other = next((mark for mark in ";\t|," if mark != delimiter and len(header) == 1 and mark in header[0]), None)
    if other:
        raise DatasetError(
            f"{name}, row {number}: expected columns separated by {delimiter!r}, received {header[0][:80]!r}, which "
            f"looks separated by {other!r}. Save it with {delimiter!r}, or rename it to .csv."
        )
    for number, cells in body:
        if len(cells) != len(header):
            raise DatasetError(
                f"{name}, row {number}: expected {len(header)} cells as in the header, received {len(cells)}. "
                f"Put cells that hold {delimiter!r} in double quotes, and write an empty cell for a missing value."
            )


def _sheets(path: Path) -> tuple[list[Any], list[Any]]:
    """Rows of (value, data type): as entered, where a formula is its text, and as last calculated."""
    import openpyxl  # type: ignore[import-untyped,unused-ignore]

    def rows(data_only: bool) -> list[list[tuple[Any, str]]]:
        book = openpyxl.load_workbook(path, read_only=True, data_only=data_only)
        sheet = book.worksheets[1 if book.sheetnames[:2] == [SUMMARY, SCORES] else 0]
        sheet.reset_dimensions()  # the size that some writers store is wrong, and rows would be lost
        cells = [[(cell.value, cell.data_type) for cell in row] for row in sheet.iter_rows()]
        book.close()
        return cells

    return rows(data_only=False), rows(data_only=True)


def _cell_value(entered: Any, kind: str, value: Any, value_kind: str, *, zero_counts: bool) -> Any:
    """The value of a cell; `zero_counts`: the 0 of a formula is its value, see `is_calculated`."""
    if value_kind == "e":
        return None
    # Of a formula that was never calculated openpyxl writes no value, XlsxWriter a 0. A calculated "" is of kind str.
    is_zero = type(value) is int and value == 0
    if kind == "f" and ((value is None and value_kind != "str") or (is_zero and not zero_counts)):
        formula = str(getattr(entered, "text", entered))
        return Unwritable(formula, NOT_CALCULATED.format(formula[:60]))
    if isinstance(value, str):
        return _CONTROL.sub(lambda match: chr(int(match[1], 16)), value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date()
    return value


# Office Open XML writes control characters as _x000D_, and an underscore that would look like one as _x005F_.
_CONTROL = re.compile(r"_x(00[01][0-9A-Fa-f]|005F(?=_x[0-9A-Fa-f]{4}_))_")


def _records(name: str, rows: Sequence[_Row]) -> Iterator[InputRecord]:
    """Rows under the first row that is not blank; blank rows are skipped and still counted."""
    filled = [(number, cells) for number, cells in rows if any(cell not in _EMPTY for cell in cells)]
    if not filled:
        return
    (_, header), *body = filled
    names = _column_names(header, [cells for _, cells in body])
    for number, cells in body:
        padded = [*cells, *[None] * (max(names) + 1 - len(cells))]
        row = joined((column, padded[position]) for position, column in names.items())
        yield InputRecord(f"{name}, row {number}", row, is_cells=True)


def _column_names(header: Sequence[Any], body: Sequence[Sequence[Any]]) -> dict[int, str]:
    """Position -> name. A column without a name is dropped when empty, else named as pandas does, 'Unnamed: 0'."""
    width = max(map(len, [header, *body]))
    names = {position: str(plain(cell)) for position, cell in enumerate(header) if cell not in _EMPTY}
    for position in set(range(width)) - set(names):
        if any(cell not in _EMPTY for cells in body for cell in cells[position : position + 1]):
            names[position] = f"Unnamed: {position}"
    return dict(sorted(names.items()))


_START = "[=+\\-@\t\r\n＝＋－＠]"
_ESCAPED = re.compile(f"'+{_START}")
_TO_ESCAPE = re.compile(f"'*{_START}")


def harmless(text: str) -> str:
    """With a quote before it if it begins as a formula does, as OWASP advises for CSV.

    Text that has such a quote already gets one more, so that `original` is the inverse for all texts.
    """
    return f"'{text}" if _TO_ESCAPE.match(text) else text


def harmless_cell(text: str) -> str:
    """The same for a cell of somebody's own table: a number stays one, with its sign."""
    return text if _is_number(text) else harmless(text)


def original(cell: str) -> str:
    """What `harmless` made the cell from."""
    return cell[1:] if _ESCAPED.match(cell) else cell


def is_harmless(cell: str) -> bool:
    """Whether `harmless` can have written it. Numbers are written as they are."""
    return not re.match(_START, cell) or _is_number(cell)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
