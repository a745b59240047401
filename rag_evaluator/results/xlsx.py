"""The workbook of a run: its summary, the scored rows, the judgements; written row by row."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any  # xlsxwriter has no types

from rag_evaluator.dataset import SCORES, SUMMARY
from rag_evaluator.files import Json, JsonDict

from .judgement import Judgement
from .overview import Figures, by_stage, interval, mean_heading, shortened
from .rows import DETAILS, Heading, Row, cells_of
from .summary import Summary, flat_rows

XLSX_CELL = 32_767  # UTF-16 code units, a limit of the file format
XLSX_INTEGER = 10**15  # numbers have 15 digits there
XLSX_ROWS = 1_048_575  # without the heading
CUT = " … [cut: see scores.jsonl]"
# formats of numbers
GENERAL = "General"
SCORE = "0.00"
SHARE = "0 %"
# columns, in characters
NARROWEST = 6
WIDEST = 60
LINES = 3  # shown of a long text
LINE = 15  # height in points
NUMBER = 12  # characters that a number without format takes at most
FIRST = ("metric", "group_by", "group")
NUMBERS = {
    **dict.fromkeys(("coverage", "pass_mean", "pass_ci_low", "pass_ci_high"), SHARE),
    **dict.fromkeys(("ci_level", "pass_ci_level"), GENERAL),
}
XLSX_DATE = datetime(2000, 1, 1)  # in place of the time of writing: same scores, same bytes
JUDGED = "judgements"  # name of a sheet
JUDGEMENTS = 10_000  # rows of their sheet: all of a large run would take longer to write than everything else
COLUMNS = ("row", "question", "metric", "repeat", "prompt", "statement", "key", "value", "reason")
"""Of the sheet of judgements. Confidences are in the details only: they may differ by millionths between batches,
and a workbook has the same bytes whatever the batches were."""
QUESTION = 80  # characters of it that are shown
Cells = JsonDict  # column -> what it shows; Any: JSON
OPTIONS = {"strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True, "constant_memory": True}


def formats_of(book: Any) -> JsonDict:
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
        formats: Json,
        columns: Sequence[str],
        numbers: Mapping[str, str],
        other: str = GENERAL,
        lines: int = 1,
    ) -> None:
        self.worksheet = worksheet
        self.formats = formats
        self.columns = columns
        self.row = -1
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
        shown = min(len(str(cell)), NUMBER)
        style = self.formats[GENERAL]
        if isinstance(cell, str):
            shown = len(cell)
            style = self.formats["heading"] if bold else self.text
        elif isinstance(cell, float):
            style = self.numbers[position]
        self.widths[position] = max(self.widths[position], shown)
        self.worksheet.write(self.row, position, cell, style)

    def finish(self, filtered: bool = True, frozen: int = 0) -> None:
        """Widths, which are known now; headings, and so many columns, that stay in sight; a filter."""
        for position, width in enumerate(self.widths):
            self.worksheet.set_column(position, position, min(width, WIDEST) + 2)
        self.worksheet.freeze_panes(1, frozen)
        if filtered and self.columns:
            self.worksheet.autofilter(0, 0, min(self.row, XLSX_ROWS), len(self.columns) - 1)


def _fitting(value: Any) -> Any:
    """What a cell can hold: text cut where it is too long, saying so; integers that a double would round as text."""
    if isinstance(value, str) and len(text := value.encode("utf-16-le")) > 2 * XLSX_CELL:
        return text[: 2 * (XLSX_CELL - len(CUT))].decode("utf-16-le", "ignore") + CUT
    return str(value) if isinstance(value, int) and abs(value) > XLSX_INTEGER else value


def add_summary(worksheet: Any, formats: Json, by_metric: Mapping[str, Figures]) -> None:
    """Write what `summary.json` says but the reasons, and each mean with its interval as text."""
    shown = mean_heading(by_metric.values())
    names = dict.fromkeys(column for row in flat_rows(by_metric) for column in row)
    first = [column for column in FIRST if column in names]
    columns = [*first, shown, *(column for column in names if column not in first)]
    sheet = Sheet(worksheet, formats, columns, NUMBERS, SCORE)
    for stage, metrics in by_stage(by_metric):
        if stage:
            sheet.add([stage], bold=True)
        for row in flat_rows(metrics):
            sheet.add([{**row, shown: interval(row)}.get(column) for column in columns])
    sheet.finish(filtered=False, frozen=1)  # sorting would part the headings from their metrics


def write_xlsx(heading: Heading, rows: Iterable[Row], path: Path) -> None:
    """The workbook of some results with their rows in front, where a plain `pandas.read_excel` finds them."""
    summary = Summary(heading.metrics, heading.manifest)
    with run_workbook(path, heading, summary, (SCORES, SUMMARY, JUDGED)) as add:
        for scored in rows:
            summary.add(scored)
            add(scored, cells_of(scored, heading.columns))


@contextmanager
def run_workbook(
    path: Path, heading: Heading, summary: Summary, names: Sequence[str] = (SUMMARY, SCORES, JUDGED)
) -> Iterator[Callable[[Row, Sequence[Any]], None]]:
    """A workbook to which rows are added one by one, each with its cells in the sheet of scores.

    Args:
        summary: of these rows, whose figures are written at the end.
        names: of the sheets, in order.
    """
    import xlsxwriter
    from xlsxwriter.exceptions import XlsxWriterException

    book = xlsxwriter.Workbook(path, {**OPTIONS, "tmpdir": str(path.parent)})
    book.set_properties({"created": XLSX_DATE})
    worksheets = {name: new_worksheet(book, name) for name in names}
    formats = formats_of(book)
    scores = Sheet(worksheets[SCORES], formats, heading.columns, dict.fromkeys(heading.metrics, SCORE), lines=LINES)
    is_repeated = heading.manifest.get("config", {}).get("repeats", 1) > 1
    columns = [column for column in COLUMNS if is_repeated or column != "repeat"]
    judgements = Sheet(worksheets[JUDGED], formats, columns, {}, lines=LINES)

    def add(scored: Row, cells: Sequence[Any]) -> None:
        scores.add(cells)
        for row in judgement_rows(scored) if judgements.row <= JUDGEMENTS else ():
            if judgements.row == JUDGEMENTS:
                row = {"question": f"Only the first {JUDGEMENTS:,} are here; all are in {DETAILS}."}
            judgements.add([row.get(column) for column in columns])
            if judgements.row > JUDGEMENTS:
                return

    yield add
    add_summary(worksheets[SUMMARY], formats, summary.to_json())
    scores.finish()
    judgements.finish()
    try:
        book.close()
    except XlsxWriterException as error:
        raise OSError(f"{path.name}: {error}") from error


def judgement_rows(scored: Row) -> Iterator[Cells]:
    """What the judge answered about a row; `key` and `value` are a verdict as the answer has it: `rating`, 2."""
    question = scored.sample.asked
    text = question[: 4 * QUESTION] if isinstance(question, str) else ""
    short = shortened(" ".join(text.split()), QUESTION) or None
    for metric, score in scored.scores.items():
        for repeat, made in enumerate(score.repeated or [score]):
            about = {"row": scored.sample.index, "question": short, "metric": metric, "repeat": repeat}
            for judgement in map(Judgement.from_json, made.judgements):
                for cells in _verdict_rows(judgement):
                    yield {**about, "prompt": judgement.prompt, **cells}


def _verdict_rows(judgement: Judgement) -> list[Cells]:
    if judgement.response is None:
        return [{"reason": f"no answer: {judgement.error or 'unknown'}"}]
    rows = []
    for verdict in judgement.verdicts():
        lines = verdict.about if verdict.items is None else [text for text in verdict.items if isinstance(text, str)]
        statement = "\n".join(lines) or None
        reason = "\n".join(verdict.reasons) or None
        if verdict.items is None or statement:
            rows.append({"key": verdict.key, "value": verdict.value, "statement": statement, "reason": reason})
    return rows or [{"key": ", ".join(judgement.response)}]


def new_worksheet(book: Any, name: str) -> Any:
    """A new sheet. Text between `<r>` and `</r>` would be taken for the file's own mark-up, and break the file."""
    worksheet = book.add_worksheet(name)
    worksheet._xml_rich_inline_string = lambda text, attributes: worksheet._xml_inline_string(text, True, attributes)
    return worksheet
