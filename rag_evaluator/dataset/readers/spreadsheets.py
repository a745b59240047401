"""CSV, TSV and XLSX: files whose values are cells under a header row."""

import csv
import datetime
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.json_values import EMPTY, Unwritable, as_number, plain
from rag_evaluator.errors import DatasetError

from .json_files import InputRecord, joined, library_errors, read_text, suffix_of

SUFFIXES = (".csv", ".tsv", ".xlsx")  # of files in which a list is JSON text in a cell
# the first two sheets of a workbook that this program writes
SUMMARY = "summary"
SCORES = "scores"
OWN_SHEETS = (SCORES, "labels")  # that are read of workbooks that this program writes

# A row and its number as a spreadsheet shows it: the first is 1. Any: a cell is text, a number, a date or None.
_Row = tuple[int, Sequence[Any]]
# Office Open XML writes what XML cannot hold as _x000D_, and an underscore that would look like one as _x005F_.
_CONTROL = re.compile(r"_x(00[01][0-9A-Fa-f]|FFF[EF]|005F(?=_x[0-9A-Fa-f]{4}_))_")
_START = "[=+\\-@\t\r\n＝＋－＠]"
_ESCAPED = re.compile(f"'+{_START}")
_TO_ESCAPE = re.compile(f"'*{_START}")


def is_cells(path: Path) -> bool:
    """Whether the values of a file are cells."""
    return suffix_of(path) in SUFFIXES


def read_csv(path: Path) -> Iterator[InputRecord]:
    """Cells are text: '007' and 'NA' stay what they are. Without a comma in the header, ';', a tab or '|' divides.

    In a file that our own writer may have written, the quote before formulas is removed.
    """
    text = read_text(path)
    header = re.split("[\r\n]", text.lstrip(), maxsplit=1)[0]
    marks = [mark for mark in ";\t|" if mark in header and "," not in header]
    rows = _separated_rows(path, text, max(marks, key=header.count) if marks else ",")
    if all(is_harmless(cell) for _, cells in rows for cell in cells):
        rows = [(number, [original(cell) for cell in cells]) for number, cells in rows]
    return _records(path.name, rows)


def read_tsv(path: Path) -> Iterator[InputRecord]:
    """As CSV, with tabs between the cells."""
    return _records(path.name, _separated_rows(path, read_text(path), "\t"))


def _separated_rows(path: Path, text: str, delimiter: str) -> list[_Row]:
    """The rows that have cells; DatasetError for one with another number of cells than the header."""
    limit = csv.field_size_limit(2**31 - 1)  # one cell may hold many contexts; the default is 128 KiB
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[_Row] = []
    number = 0
    try:
        for number, cells in enumerate(lines, start=1):
            if cells and rows and len(cells) != len(rows[0][1]):
                raise DatasetError(
                    f"{path.name}, row {number}: expected {len(rows[0][1])} cells as in the header, received "
                    f"{len(cells)}. Put cells that hold {delimiter!r} in double quotes, and write an empty cell for a "
                    "missing value."
                )
            if cells:
                rows.append((number, cells))
    except csv.Error as error:
        raise DatasetError(
            f"{path.name}, row {number + 1}: broken CSV ({error}; it was noticed on line {lines.line_num}). Put cells "
            'that hold quotes or line ends in double quotes, and double each quote inside them: "say ""yes""".'
        ) from error
    finally:
        csv.field_size_limit(limit)
    return rows


def read_xlsx(path: Path) -> Iterator[InputRecord]:
    """The first sheet that is not hidden; in a workbook of our own, where that is the summary, the sheet `scores`.

    A formula counts as its calculated value, an error value such as #N/A as an empty cell. One that was never
    calculated cannot be read.
    """
    with library_errors(path.name, "an Excel workbook", "Save it again as .xlsx without a password, or as .csv."):
        with zipfile.ZipFile(path) as archive:  # libraries leave the calculation to the next program, and say so
            is_calculated = not re.search(rb"fullCalcOnLoad=[\"'](1|true)", archive.read("xl/workbook.xml"))
        entered = _sheet(path, data_only=False)
        calculated = _sheet(path, data_only=True)
        rows = [
            (number, [_cell_value(*cell, *value, is_calculated) for cell, value in zip(*pair, strict=True)])
            for number, pair in enumerate(zip(entered, calculated, strict=True), start=1)
        ]
    return _records(path.name, rows)


def _sheet(path: Path, data_only: bool) -> list[list[tuple[Any, str]]]:
    """Rows of (value, data type): as last calculated with `data_only`, else as entered, where a formula is its text."""
    with _opened(path, data_only) as book:
        sheet, _ = _read_sheet(path, book)
        sheet.reset_dimensions()  # the size that some writers store is wrong, and rows would be lost
        return [[(cell.value, cell.data_type) for cell in row] for row in sheet.iter_rows()]


def _opened(path: Path, data_only: bool = False) -> "closing[Any]":
    import openpyxl  # type: ignore[import-untyped,unused-ignore]

    return closing(openpyxl.load_workbook(path, read_only=True, data_only=data_only))


def _read_sheet(path: Path, book: Any) -> tuple[Any, str]:
    """The sheet that is read, and the names of all."""
    visible = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
    titles = [f"{sheet.title!r}{'' if sheet in visible else ' (hidden)'}" for sheet in book.worksheets]
    if not visible:
        raise DatasetError(f"{path.name}: all sheets are hidden, {', '.join(titles)}. Show the one with the rows.")
    return visible[[sheet.title for sheet in visible[:2]] == [SUMMARY, SCORES]], ", ".join(titles)


def sheets_of(source: Any) -> str:
    """Which sheets a workbook has, and which is read. Any: a dataset.

    Empty for a workbook of one sheet, for those that this program writes, and for all that is no workbook.
    """
    path = Path(source).expanduser() if isinstance(source, str | Path) else Path()
    if path.suffix.lower() != ".xlsx":
        return ""
    with _opened(path) as book:
        sheet, titles = _read_sheet(path, book)
        if len(book.worksheets) == 1 or sheet.title in OWN_SHEETS:
            return ""
    return (
        f"{path.name} has the sheets {titles}: the first that is not hidden is read, {sheet.title!r}. If your rows are "
        "in another one, put that first"
    )


def cells_of(source: Any) -> Iterator[str]:
    """Sentences about merged cells and hidden rows of the sheet that is read. Any: a dataset."""
    path = Path(source).expanduser() if isinstance(source, str | Path) else Path()
    if path.suffix.lower() != ".xlsx":
        return
    with _opened(path) as book:
        sheet, _ = _read_sheet(path, book)
        xml = book._archive.read(sheet._worksheet_path.lstrip("/"))
    if merged := len(re.findall(rb"<mergeCell\s", xml)):
        yield f"{path.name}: merged cells: {merged}. Only the first cell of a range has the value"
    if hidden := len(re.findall(rb"<row\s[^>]*\bhidden=[\"'](?:1|true)", xml)):
        yield f"{path.name}: hidden rows: {hidden}. They are read as the others are"


def _cell_value(entered: Any, kind: str, value: Any, value_kind: str, is_calculated: bool) -> Any:
    """The value of a cell; `is_calculated`: a spreadsheet program has calculated the formulas of the workbook."""
    if value_kind == "e":
        return None
    # Of a formula that was never calculated openpyxl writes no value, XlsxWriter a 0. A calculated "" is of kind str.
    is_zero = type(value) is int and value == 0
    if kind == "f" and ((value is None and value_kind != "str") or (is_zero and not is_calculated)):
        formula = str(getattr(entered, "text", entered))
        return Unwritable(
            formula,
            f"the formula {formula[:60]!r} without a value; open the workbook in a spreadsheet program and save it, "
            "so that it is calculated",
        )
    if isinstance(value, str):
        return _CONTROL.sub(lambda match: chr(int(match[1], 16)), value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date()
    return value


def _records(name: str, rows: Iterable[_Row]) -> Iterator[InputRecord]:
    """Rows under the first row that is not blank; blank rows are skipped and still counted.

    A column without a name is dropped when empty, else named as pandas does, 'Unnamed: 0'.
    """
    filled = [(number, cells) for number, cells in rows if any(cell not in EMPTY for cell in cells)]
    width = max((len(cells) for _, cells in filled), default=0)
    padded = [(number, [*cells, *[None] * (width - len(cells))]) for number, cells in filled]
    (_, header), *body = padded or [(0, [])]
    used = {place for _, cells in body for place, cell in enumerate(cells) if cell not in EMPTY}
    names = [f"Unnamed: {place}" if cell in EMPTY else str(plain(cell)) for place, cell in enumerate(header)]
    kept = [place for place, cell in enumerate(header) if cell not in EMPTY or place in used]
    for number, cells in body:
        row = joined((names[place], cells[place]) for place in kept)
        yield InputRecord(f"{name}, row {number}", row, is_cells=True)


def harmless(value: Any) -> Any:
    """A text with a quote before it if it begins as a formula does, as OWASP advises for CSV; else the value as it is.

    A finite number is no formula. Text that has such a quote already gets one more, so that `original` is the inverse
    for all texts.
    """
    is_formula = isinstance(value, str) and _TO_ESCAPE.match(value) and isinstance(as_number(value, True), str)
    return f"'{value}" if is_formula else value


def original(cell: str) -> str:
    """What `harmless` made the cell from."""
    return cell[1:] if _ESCAPED.match(cell) else cell


def is_harmless(cell: str) -> bool:
    """Whether `harmless` can have written it. Numbers are written as they are."""
    try:
        float(cell)
    except ValueError:
        return not re.match(_START, cell)
    return True
