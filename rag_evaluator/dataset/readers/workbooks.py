"""`check_workbook`: checks before an XLSX file is read that it does not fill the memory; `is_calculated`."""

import re
import zipfile
from pathlib import Path

from rag_evaluator.errors import DatasetError

CELL_BYTES = 1_000_000
"""Limit of one text in a workbook. Excel's 32,767 characters need at most a quarter of it, escapes included."""
WORKBOOK_BYTES = 1_000_000_000
"""Limit of all parts of a workbook, unpacked."""
_MANY = 1 << 20  # bytes read together
_TO_CALCULATE = re.compile(rb"fullCalcOnLoad=[\"'](1|true)")


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
            first, *others = data.split(b"<")
            length += len(first)
            longest = max(longest, length, *map(len, others))
            length = len(others[-1]) if others else length
    return longest > CELL_BYTES


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size < 10_000_000 else f"{size / 1e6:,.0f} MB"
