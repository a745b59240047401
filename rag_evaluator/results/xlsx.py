"""The scored rows as a spreadsheet, written row by row."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from rag_evaluator.results.reporting import reporting_of
from rag_evaluator.results.rows import Add, Heading, Scored, Table, cells_of, heading_of
from rag_evaluator.results.summary import Summary, flat_rows

XLSX_CELL = 32_767  # UTF-16 code units, a limit of the file format
XLSX_INTEGER = 10**15  # numbers have 15 digits there
XLSX_ROWS = 1_048_575  # without the heading
XLSX_DATE = datetime(2000, 1, 1)  # in place of the time of writing: same scores, same bytes
FIRST = ("metric", "group_by", "group")  # columns of the summary
CUT = " … [cut: see scores.jsonl]"


def write_xlsx(table: Table, path: Path) -> None:
    """The scored rows as a spreadsheet."""
    with scores_xlsx(path, heading_of(table)) as add:
        for scored in table:
            add(scored)


class _Sheet:
    """A worksheet that is written row by row."""

    def __init__(self, worksheet: Any, columns: Sequence[str], bold: Any) -> None:
        self.worksheet, self.row = worksheet, 0
        worksheet.freeze_panes(1, 0)
        for position, column in enumerate(columns):
            worksheet.write_string(0, position, _fitting(column), bold)

    def add(self, cells: Sequence[Any]) -> None:
        """A row; rows beyond what a sheet can hold are in `scores.csv` only."""
        self.row += 1
        if self.row <= XLSX_ROWS:
            for position, cell in enumerate(cells):
                if cell is not None:
                    self.worksheet.write(self.row, position, _fitting(cell))


def _add_summary(worksheet: Any, summary: Summary, bold: Any) -> None:
    """What `summary.json` says, a row for each metric and for each of its groups."""
    rows = list(flat_rows(summary.to_json()))
    columns = sorted(dict.fromkeys(name for row in rows for name in row), key=lambda name: name not in FIRST)
    sheet = _Sheet(worksheet, columns, bold)
    for row in rows:
        sheet.add([row.get(column) for column in columns])


@contextmanager
def scores_xlsx(path: Path, heading: Heading) -> Iterator[Add]:
    import xlsxwriter
    from xlsxwriter.exceptions import XlsxWriterException

    options = {"strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}
    with path.open("wb", buffering=0) as opened:
        target = _Target(opened)
        book = xlsxwriter.Workbook(target, {**options, "constant_memory": True, "tmpdir": str(path.parent)})
        book.set_properties({"created": XLSX_DATE})
        worksheet = book.add_worksheet("scores")
        try:
            bold, summary = book.add_format({"bold": True}), Summary(heading.metrics, reporting_of(heading.manifest))
            sheet = _Sheet(worksheet, heading.columns, bold)

            def add(scored: Scored) -> None:
                sheet.add(cells_of(scored, heading.columns))
                summary.add(scored)

            yield add
            _add_summary(book.add_worksheet("summary"), summary, bold)
            book.close()
        except BaseException as error:
            target.broken, book.fileclosed = True, True  # it would try to write the rest when it is collected
            with suppress(OSError):
                worksheet.fh.close()
            if isinstance(error, XlsxWriterException):
                raise OSError(f"{path.name}: {error}") from error
            raise


class _Target:
    """A file for the zip library, which goes on writing after an error: then nothing is written any more."""

    def __init__(self, file: Any) -> None:
        self.file, self.broken = file, False

    def write(self, data: bytes) -> int:
        if self.broken:
            return len(data)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[self.file.write(rest) :]
        except OSError:
            self.broken = True
            raise
        return len(data)

    def tell(self) -> int:
        return 0 if self.broken else int(self.file.tell())

    def seek(self, place: int, whence: int = 0) -> int:
        return 0 if self.broken else int(self.file.seek(place, whence))

    def seekable(self) -> bool:
        return True

    def flush(self) -> None:
        """Nothing is kept back."""


def _fitting(value: Any) -> Any:
    """What a cell can hold: text cut where it is too long, saying so; integers that a double would round as text."""
    if isinstance(value, str) and len(text := value.encode("utf-16-le")) > 2 * XLSX_CELL:
        return text[: 2 * (XLSX_CELL - len(CUT))].decode("utf-16-le", "ignore") + CUT
    return str(value) if isinstance(value, int) and abs(value) > XLSX_INTEGER else value
