"""Writes the result files from a stream of scored rows: memory does not grow with their number."""

import csv
import json
import math
import os
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from rag_evaluator.dataset import Sample
from rag_evaluator.dataset.formulas import harmless
from rag_evaluator.errors import ResultsError
from rag_evaluator.files.atomic import scratch
from rag_evaluator.files.jsonl import json_line
from rag_evaluator.files.published import sync_file, sync_folder
from rag_evaluator.results.score import Score

FILES = ("scores.jsonl", "details.jsonl", "scores.csv", "scores.xlsx", "summary.json", "prompts.json", "manifest.json")
XLSX_CELL = 32_767  # UTF-16 code units, a limit of the file format
XLSX_INTEGER = 10**15  # numbers have 15 digits there
XLSX_ROWS = 1_048_575  # without the heading
XLSX_DATE = datetime(2000, 1, 1)  # in place of the time of writing: same scores, same bytes
CUT = " … [cut: see scores.jsonl]"
DROPPED = "dropped_contexts"
PROGRAM = "rag_evaluator"
PROMPT_TEXTS = "prompt_texts"  # part of the manifest that is written to a file of its own


class Scored(Protocol):
    """One row with its scores."""

    @property
    def sample(self) -> Sample: ...

    @property
    def scores(self) -> Mapping[str, Score]: ...

    def details(self) -> Iterable[bytes]:
        """The lines of `details.jsonl`."""


class Table(Protocol):
    """What can be written: rows in the order of the input."""

    @property
    def metrics(self) -> Sequence[str]: ...

    @property
    def manifest(self) -> Mapping[str, Any]: ...

    def columns(self) -> Sequence[str]:
        """Every column of any row, input columns first."""

    def __iter__(self) -> Iterator[Scored]: ...


def details_line(sample: Sample, metric: str, score: Mapping[str, Any], signature: str | None) -> bytes:
    """A score, as `Score.to_json` has it, as its line in the journal, in a chunk and in `details.jsonl`."""
    fields = {name: score[name] for name in ("value", "reason", "contexts", "judgements")}
    key = {"row": sample.index, "sample": sample.digest, "metric": metric}
    return json_line({**key, **fields, "signature": signature})


class Summary:
    """Mean, coverage, reasons and left out contexts of each metric, from rows that come one by one."""

    def __init__(self, metrics: Iterable[str]) -> None:
        self._values = {name: array("d") for name in metrics}
        self._reasons: dict[str, Counter[str]] = {name: Counter() for name in self._values}
        self._dropped: Counter[str] = Counter()  # rows of which contexts were left out

    def add(self, sample: Sample, scores: Mapping[str, Score]) -> None:
        self._dropped.update(dropped_contexts(sample, scores).keys())
        for name, values in self._values.items():
            score = scores[name]
            if score.missing:
                self._reasons[name][score.reason or "unknown"] += 1
            else:
                values.append(score.value)

    def to_json(self) -> dict[str, dict[str, Any]]:
        return {
            name: {**self._of(values, self._reasons[name]), "dropped": self._dropped[name]}
            for name, values in self._values.items()
        }

    @staticmethod
    def _of(values: "array[float]", reasons: Counter[str]) -> dict[str, Any]:
        count = len(values) + reasons.total()
        return {
            "mean": math.fsum(values) / len(values) if values else None,
            "coverage": len(values) / count if count else 0.0,
            "scored": len(values),
            "count": count,
            "reasons": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
        }


def dropped_contexts(sample: Sample, scores: Mapping[str, Score]) -> dict[str, list[int]]:
    """Metric -> positions of the contexts that were left out, as they did not fit into the judge's window."""
    count = len(sample.columns.get("retrieved_contexts", ()))
    return {
        name: list(range(len(score.contexts), count))
        for name, score in scores.items()
        if score.contexts is not None and len(score.contexts) < count
    }


def scored_row(sample: Sample, scores: Mapping[str, Score]) -> dict[str, Any]:
    """The input row with a column added per metric, None where the score is missing, and what contexts were dropped."""
    row = {**sample.row, **{name: None if score.missing else score.value for name, score in scores.items()}}
    dropped = dropped_contexts(sample, scores)
    return {**row, DROPPED: dropped} if dropped else row


def read_summary(folder: Path) -> dict[str, dict[str, Any]]:
    """What `summary.json` says. Raises `ResultsError` if it cannot be read, or is not what is written there."""
    path = folder / "summary.json"
    try:
        summary: dict[str, dict[str, Any]] = json.loads(path.read_bytes())
        whole = bool(summary) and all(map(_is_summary, summary.values()))
    except (OSError, ValueError, AttributeError) as error:
        raise ResultsError(f"{path}: cannot be read: {error}.") from error
    if not whole:
        raise ResultsError(f"{path}: damaged. 'rag-evaluator merge' writes it again.")
    return summary


def _is_summary(row: Any) -> bool:
    """Whether it says of a metric what is shown of it. Any: JSON."""
    return (
        isinstance(row, dict)
        and isinstance(row.get("mean", ""), int | float | None)
        and all(type(row.get(name)) is int for name in ("scored", "count"))
        and isinstance(row.get("reasons"), dict)
    )


def refuse_foreign(folder: Path, files: Sequence[str] = FILES) -> None:
    """Raises `ResultsError` if a folder holds files under the names of results that this program has not written."""
    there = [name for name in files if (folder / name).exists()]
    if there and not _is_ours(folder):
        raise ResultsError(
            f"{folder} holds {there[0]}, which this program did not write, and would replace it. Choose another name "
            "or output_dir, or move the file away."
        )


def _is_ours(folder: Path) -> bool:
    """Whether results were written here: then there is a manifest, or a journal, in which there is one too."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError):
        manifest = None
    known = isinstance(manifest, dict) and ("program" in manifest or "signatures" in manifest)
    journals = [folder / "journal" / "manifest.json", *(folder / "journal").glob("*.*/manifest.json")]
    return known or any(path.is_file() for path in journals)


def write_table(table: Table, folder: Path) -> dict[str, dict[str, Any]]:
    """Write all files into a folder, or leave all as they were; returns the summary.

    Raises `ResultsError` if they cannot be written, or would replace files of somebody else.
    """
    refuse_foreign(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with scratch(folder) as written:
            summary = _write(table, written)
            for file in reversed(FILES):  # the manifest, by which they are known as ours, comes first
                sync_file(written / file)
                (written / file).replace(folder / file)
            sync_folder(folder)
    except OSError as error:
        raise ResultsError(f"{folder}: cannot be written: {error}. Free space or choose another output_dir.") from error
    return summary


def _write(table: Table, folder: Path) -> dict[str, dict[str, Any]]:
    columns, summary = list(table.columns()), Summary(table.metrics)
    with ExitStack() as stack:
        scores = stack.enter_context(_synced(folder / "scores.jsonl"))
        details = stack.enter_context(_synced(folder / "details.jsonl"))
        text = stack.enter_context((folder / "scores.csv").open("w", encoding="utf-8", newline=""))
        lines = csv.writer(text, lineterminator="\r\n")  # RFC 4180; a lone \r is quoted only so
        lines.writerow(map(_harmless, columns))
        sheet = stack.enter_context(_sheet(folder / "scores.xlsx", columns))
        for scored in table:
            row = scored_row(scored.sample, scored.scores)
            scores.write(json_line(row))
            for line in scored.details():
                details.write(line)
            cells = [_as_text(row.get(column)) for column in columns]
            lines.writerow(map(_harmless, cells))
            sheet.add(cells)
            summary.add(scored.sample, scored.scores)
    numbers = summary.to_json()
    _write_json(folder / "summary.json", numbers)
    manifest = dict(table.manifest)
    _write_json(folder / "prompts.json", manifest.pop(PROMPT_TEXTS, {}))
    _write_json(folder / "manifest.json", {"program": PROGRAM, **manifest})
    return numbers


def write_xlsx(table: Table, path: Path) -> None:
    """The scored rows as a spreadsheet."""
    columns = list(table.columns())
    with _sheet(path, columns) as sheet:
        for scored in table:
            row = scored_row(scored.sample, scored.scores)
            sheet.add([_as_text(row.get(column)) for column in columns])


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


@contextmanager
def _sheet(path: Path, columns: Sequence[str]) -> Iterator[_Sheet]:
    import xlsxwriter
    from xlsxwriter.exceptions import XlsxWriterException

    as_text = {"strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}
    with path.open("wb", buffering=0) as opened:
        target = _Target(opened)
        book = xlsxwriter.Workbook(target, {**as_text, "constant_memory": True, "tmpdir": str(path.parent)})
        book.set_properties({"created": XLSX_DATE})
        worksheet = book.add_worksheet("scores")
        try:
            yield _Sheet(worksheet, columns, book.add_format({"bold": True}))
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


@contextmanager
def _synced(path: Path) -> Iterator[Any]:
    with path.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _as_text(value: Any) -> Any:
    """Lists and objects as JSON, as the readers of CSV and XLSX expect them back."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _harmless(value: Any) -> Any:
    return harmless(value) if isinstance(value, str) else value


def _fitting(value: Any) -> Any:
    """What a cell can hold: text cut where it is too long, saying so; integers that a double would round as text."""
    if isinstance(value, str) and len(text := value.encode("utf-16-le")) > 2 * XLSX_CELL:
        return text[: 2 * (XLSX_CELL - len(CUT))].decode("utf-16-le", "ignore") + CUT
    return str(value) if isinstance(value, int) and abs(value) > XLSX_INTEGER else value
