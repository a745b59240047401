"""The workbook of a run: its summary, the scored rows, the judgements; written row by row."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.readers.spreadsheets import SCORES, SUMMARY
from rag_evaluator.results.judgements import COLUMNS, judgement_rows
from rag_evaluator.results.reporting import reporting_of
from rag_evaluator.results.rows import Add, Heading, Scored, Table, cells_of, heading_of
from rag_evaluator.results.sheet import LINES, SCORE, Sheet, formats_of
from rag_evaluator.results.summary import Summary
from rag_evaluator.results.summary_sheet import add_summary

XLSX_DATE = datetime(2000, 1, 1)  # in place of the time of writing: same scores, same bytes
JUDGED = "judgements"  # name of a sheet
JUDGEMENTS = 10_000  # rows of their sheet: all of a large run would take longer to write than everything else
OPTIONS = {"strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True, "constant_memory": True}


def write_xlsx(table: Table, path: Path) -> None:
    """The workbook of some results with their rows in front, where a plain `pandas.read_excel` finds them."""
    with _workbook(path, heading_of(table), (SCORES, SUMMARY, JUDGED)) as add:
        for scored in table:
            add(scored)


def scores_xlsx(path: Path, heading: Heading) -> AbstractContextManager[Add]:
    """The workbook of a run with its summary in front."""
    return _workbook(path, heading, (SUMMARY, SCORES, JUDGED))


@contextmanager
def _workbook(path: Path, heading: Heading, names: Sequence[str]) -> Iterator[Add]:
    """The three sheets, in the order of their names."""
    import xlsxwriter
    from xlsxwriter.exceptions import XlsxWriterException

    with path.open("wb", buffering=0) as opened:
        target = _Target(opened)
        book = xlsxwriter.Workbook(target, {**OPTIONS, "tmpdir": str(path.parent)})
        book.set_properties({"created": XLSX_DATE})
        try:
            sheets = _Sheets({name: new_worksheet(book, name) for name in names}, formats_of(book), heading)
            yield sheets.add
            sheets.finish()
            book.close()
        except BaseException as error:
            target.broken, book.fileclosed = True, True  # it would try to write the rest when it is collected
            for worksheet in book.worksheets():
                with suppress(OSError):
                    worksheet.fh.close()
            if isinstance(error, XlsxWriterException):
                raise OSError(f"{path.name}: {error}") from error
            raise


class _Sheets:
    """The sheets of a workbook: the summary shows what is known at the end only."""

    def __init__(self, worksheets: Mapping[str, Any], formats: Any, heading: Heading) -> None:
        self.heading, self.formats, self.front = heading, formats, worksheets[SUMMARY]
        self.summary = Summary(heading.metrics, reporting_of(heading.manifest))
        numbers = dict.fromkeys(heading.metrics, SCORE)
        self.scores = Sheet(worksheets[SCORES], self.formats, heading.columns, numbers, lines=LINES)
        repeated = heading.manifest.get("config", {}).get("repeats", 1) > 1
        columns = [column for column in COLUMNS if repeated or column != "repeat"]
        self.judgements = Sheet(worksheets[JUDGED], self.formats, columns, {}, lines=LINES)

    def add(self, scored: Scored) -> None:
        self.scores.add(cells_of(scored, self.heading.columns))
        self.summary.add(scored)
        if self.judgements.row <= JUDGEMENTS:
            self._add_judgements(scored)

    def _add_judgements(self, scored: Scored) -> None:
        for row in judgement_rows(scored):
            if self.judgements.row == JUDGEMENTS:
                row = {"question": f"Only the first {JUDGEMENTS:,} are here; all are in details.jsonl."}
            self.judgements.add([row.get(column) for column in self.judgements.columns])
            if self.judgements.row > JUDGEMENTS:
                return

    def finish(self) -> None:
        add_summary(self.front, self.formats, self.summary)
        for metric in self.heading.metrics:
            place = list(self.heading.columns).index(metric)
            self.scores.colour(place, 1, self.scores.row, self.summary.scale(metric))
        self.scores.finish()
        self.judgements.finish()


def new_worksheet(book: Any, name: str) -> Any:
    """A new sheet. Text between `<r>` and `</r>` would be taken for the file's own mark-up, and break the file."""
    worksheet = book.add_worksheet(name)
    worksheet._xml_rich_inline_string = lambda text, attributes: worksheet._xml_inline_string(text, True, attributes)
    return worksheet


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
