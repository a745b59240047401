"""The workbook of a test set, for those who tune it by hand."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.files.atomic import write_whole
from rag_evaluator.results.sheet import LINES, Sheet, formats_of
from rag_evaluator.results.xlsx import OPTIONS, XLSX_DATE, new_worksheet

NAME = "testset"


def write_sheet(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the rows as a workbook that `dataset` can be. Lists are JSON in a cell; no cell is a formula."""
    write_whole(path, lambda to: _write(to, rows))


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    import xlsxwriter

    book = xlsxwriter.Workbook(str(path), {**OPTIONS, "tmpdir": str(path.parent)})
    book.set_properties({"created": XLSX_DATE})
    columns = list(dict.fromkeys(name for row in rows for name in row))
    sheet = Sheet(new_worksheet(book, NAME), formats_of(book), columns, {}, lines=LINES)
    for row in rows:
        sheet.add([_cell(row.get(column)) for column in columns])
    sheet.finish(frozen=1)
    book.close()


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict | bool) else value
