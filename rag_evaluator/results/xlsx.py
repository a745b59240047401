"""The workbook of a run: its summary, the scored rows, the judgements; written row by row."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.readers.spreadsheets import SCORES, SUMMARY
from rag_evaluator.results.details import DETAILS
from rag_evaluator.results.judgement import JudgedVerdict, Judgement
from rag_evaluator.results.overview import Figures, by_stage, interval, mean_heading
from rag_evaluator.results.reporting import reporting_of
from rag_evaluator.results.rows import Add, Heading, Scored, Table, cells_of, heading_of
from rag_evaluator.results.sheet import GENERAL, LINES, SCORE, SHARE, Sheet, formats_of
from rag_evaluator.results.summary import Summary, flat_rows

FIRST = ("metric", "group_by", "group")
NUMBERS = {
    **dict.fromkeys(("coverage", "pass_mean", "pass_ci_low", "pass_ci_high"), SHARE),
    **dict.fromkeys(("ci_level", "pass_ci_level"), GENERAL),
}


def add_summary(worksheet: Any, formats: Mapping[str, Any], summary: Summary) -> None:
    """Write what `summary.json` says but the reasons, and each mean with its interval as text."""
    by_metric = summary.to_json()
    shown = mean_heading(by_metric.values())
    columns = _columns(by_metric, shown)
    sheet = Sheet(worksheet, formats, columns, NUMBERS, SCORE)
    for stage, metrics in by_stage(by_metric):
        if stage:
            sheet.add([stage], bold=True)
        for metric, figures in metrics.items():
            first = sheet.row + 1
            for row in flat_rows({metric: figures}):
                sheet.add([{**row, shown: interval(row)}.get(column) for column in columns])
            sheet.colour(columns.index("mean"), first, sheet.row, summary.scale(metric))
    sheet.finish(filtered=False, frozen=1)  # sorting would part the headings from their metrics


def _columns(summary: Mapping[str, Figures], shown: str) -> Sequence[str]:
    columns = dict.fromkeys(column for row in flat_rows(summary) for column in row)
    first = [column for column in FIRST if column in columns]
    return [*first, shown, *(column for column in columns if column not in first)]


XLSX_DATE = datetime(2000, 1, 1)  # in place of the time of writing: same scores, same bytes
JUDGED = "judgements"  # name of a sheet
JUDGEMENTS = 10_000  # rows of their sheet: all of a large run would take longer to write than everything else
COLUMNS = ("row", "question", "metric", "repeat", "prompt", "statement", "key", "value", "reason")
"""Of the sheet of judgements. Confidences are in the details only: they may differ by millionths between batches,
and a workbook has the same bytes whatever the batches were."""
QUESTION = 80  # characters of it that are shown
Cells = dict[str, Any]  # column -> what it shows; Any: JSON
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
                row = {"question": f"Only the first {JUDGEMENTS:,} are here; all are in {DETAILS}."}
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


def judgement_rows(scored: Scored) -> Iterator[Cells]:
    """What the judge answered about a row; `key` and `value` are a verdict as the answer has it: `rating`, 2."""
    about = {"row": scored.sample.index, "question": _short(scored.sample.columns.get("user_input"))}
    for metric, score in scored.judged_scores().items():
        for repeat, made in enumerate(score.repeated or [score]):
            for judgement in map(Judgement.from_json, made.judgements):
                for cells in _verdict_rows(judgement):
                    yield {**about, "metric": metric, "repeat": repeat, "prompt": judgement.prompt, **cells}


def _verdict_rows(judgement: Judgement) -> list[Cells]:
    if judgement.response is None:
        return [{"reason": f"no answer: {judgement.error or 'unknown'}"}]
    rows = [cells for verdict in judgement.verdicts() if (cells := _verdict_cells(verdict))]
    return rows or [{"key": ", ".join(judgement.response)}]


def _verdict_cells(verdict: JudgedVerdict) -> Cells:
    """Empty for a list without texts."""
    if verdict.items is not None:
        lines = [line for line in verdict.items if isinstance(line, str)]
        return {"key": verdict.key, "statement": "\n".join(lines)} if lines else {}
    texts = dict(verdict.texts)
    cells = {"reason": texts.pop("reason", None), "statement": "\n".join(texts.values()) or None}
    return {**cells, "key": verdict.key, "value": verdict.value}


def _short(text: Any) -> str | None:
    """A question on one line, cut where it is long; None if there is none."""
    if not isinstance(text, str):
        return None
    line = " ".join(text[: 4 * QUESTION].split())
    return line if len(line) <= QUESTION else f"{line[: QUESTION - 1]}…"


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
