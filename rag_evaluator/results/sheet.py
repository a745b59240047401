"""A worksheet that is written row by row: formats, widths, filter, colours. What is safe in a cell is decided here."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any  # xlsxwriter has no types

from rag_evaluator.trust.scale import Scale

XLSX_CELL = 32_767  # UTF-16 code units, a limit of the file format
XLSX_INTEGER = 10**15  # numbers have 15 digits there
XLSX_ROWS = 1_048_575  # without the heading
CUT = " … [cut: see scores.jsonl]"
GENERAL, SCORE, SHARE = "General", "0.00", "0 %"  # formats of numbers
NARROWEST, WIDEST = 6, 60  # columns, in characters
LINES = 3  # shown of a long text
LINE = 15  # height in points
NUMBER = 12  # characters that a number without format takes at most
WORSE, MIDDLE, BETTER = "#F4A582", "#FFFFFF", "#92C5DE"  # orange and blue: red and green look alike to many


def formats_of(book: Any) -> dict[str, Any]:
    """The formats that sheets use: those of numbers, `heading`, `text` on one line, `wrapped`."""
    numbers = {name: book.add_format({"num_format": name, "valign": "top"}) for name in (GENERAL, SCORE, SHARE)}
    texts = {
        "heading": book.add_format({"bold": True, "valign": "top"}),
        "text": book.add_format({"valign": "top"}),
        "wrapped": book.add_format({"valign": "top", "text_wrap": True}),
    }
    return {**numbers, **texts}


class Sheet:
    """A sheet with a heading; rows must come in order, and none is kept.

    Args:
        numbers: column -> format of its fractions; whole numbers stay as they are.
        other: the format of fractions in other columns.
        lines: height of each row; with more than one, long texts wrap.
    """

    def __init__(
        self,
        worksheet: Any,
        formats: Mapping[str, Any],
        columns: Sequence[str],
        numbers: Mapping[str, str],
        other: str = GENERAL,
        lines: int = 1,
    ) -> None:
        self.worksheet, self.formats, self.columns, self.row = worksheet, formats, columns, -1
        self.text = formats["wrapped" if lines > 1 else "text"]
        self.numbers = [formats[numbers.get(column, other)] for column in columns]
        self.widths = [NARROWEST] * len(columns)
        self.add(columns, bold=True)
        if lines > 1:
            worksheet.set_default_row(lines * LINE)  # a height for each row would be kept in memory
            worksheet.set_row(0, LINE)

    def add(self, cells: Sequence[Any], bold: bool = False) -> None:
        """A row; rows beyond what a sheet can hold are in `scores.csv` only."""
        self.row += 1
        if self.row <= XLSX_ROWS:
            for position, cell in enumerate(cells):
                if cell is not None:
                    self._write(position, _fitting(cell), bold)

    def _write(self, position: int, cell: Any, bold: bool) -> None:
        if isinstance(cell, str):
            shown, style = _width(cell), self.formats["heading"] if bold else self.text
        else:
            shown = min(len(str(cell)), NUMBER)
            style = self.numbers[position] if isinstance(cell, float) else self.formats[GENERAL]
        self.widths[position] = max(self.widths[position], shown)
        self.worksheet.write(self.row, position, cell, style)

    def finish(self, filtered: bool = True, frozen: int = 0) -> None:
        """Widths, which are known now; headings, and so many columns, that stay in sight; a filter."""
        for position, width in enumerate(self.widths):
            self.worksheet.set_column(position, position, min(width, WIDEST) + 2)
        self.worksheet.freeze_panes(1, frozen)
        if filtered and self.columns:
            self.worksheet.autofilter(0, 0, min(self.row, XLSX_ROWS), len(self.columns) - 1)

    def colour(self, column: int, first: int, last: int, scale: Scale) -> None:
        """Colours for scores in some rows, from one end of their scale to the other."""
        colours = (WORSE, BETTER) if scale.better == "higher" else (BETTER, WORSE)
        points = {"min": (scale.low, colours[0]), "mid": ((scale.low + scale.high) / 2, MIDDLE)}
        rule: dict[str, Any] = {"type": "3_color_scale"}
        for point, (value, colour) in {**points, "max": (scale.high, colours[1])}.items():
            rule |= {f"{point}_type": "num", f"{point}_value": value, f"{point}_color": colour}
        if first <= last:
            self.worksheet.conditional_format(first, column, min(last, XLSX_ROWS), column, rule)


def _width(text: str) -> int:
    """Characters that the longest line of a text takes; those of East Asian scripts are twice as wide."""
    start = text[: WIDEST * LINES]
    longest = max(start.splitlines(), key=len, default="")
    if longest.isascii():
        return len(longest)
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in longest)


def _fitting(value: Any) -> Any:
    """What a cell can hold: text cut where it is too long, saying so; integers that a double would round as text."""
    if isinstance(value, str) and len(text := value.encode("utf-16-le")) > 2 * XLSX_CELL:
        return text[: 2 * (XLSX_CELL - len(CUT))].decode("utf-16-le", "ignore") + CUT
    return str(value) if isinstance(value, int) and abs(value) > XLSX_INTEGER else value
