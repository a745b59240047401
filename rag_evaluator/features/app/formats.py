"""Rows written as a dataset, in the format that the name of the file says: `WRITERS`."""

import csv
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any  # rows hold whatever the user's columns hold; xlsxwriter and pyarrow have no types

from rag_evaluator.dataset.readers.spreadsheets import harmless_cell
from rag_evaluator.files.jsonl import json_line

LINES = (".jsonl", ".ndjson")
MARK = b"\xef\xbb\xbf"  # of UTF-8, at the beginning of a file


@dataclass(frozen=True)
class RowToWrite:
    """A row of the new dataset.

    Attributes:
        place: in the dataset that it comes from.
        values: by the user's own names of columns.
        changed: the columns that somebody has corrected.
    """

    place: int
    values: Mapping[str, Any]
    changed: Collection[str]


@dataclass(frozen=True)
class OldDataset:
    """The dataset that is revised.

    Attributes:
        path: None where the rows came from Python.
        names: every column of any row, in order.
        as_lines: whether each line of the file is one row.
    """

    path: Path | None
    names: Sequence[str]
    as_lines: bool


Write = Callable[[Path, Iterable[RowToWrite], OldDataset], None]


def _lines(path: Path, rows: Iterable[RowToWrite], source: OldDataset) -> None:
    """Rows that nobody has corrected stay the same bytes, if they came from such a file."""
    old = _old_lines(source.path) if source.path and source.as_lines else None
    with path.open("wb") as file:
        for row in rows:
            kept = None if old is None else next(line for place, line in old if place == row.place)
            file.write(json_line(row.values) if row.changed or kept is None else kept)


def _old_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        first = file.readline().removeprefix(MARK)
        for place, line in enumerate(line for line in chain([first], file) if line.strip()):
            yield place, line if line.endswith(b"\n") else line + b"\n"


def _json(path: Path, rows: Iterable[RowToWrite], source: OldDataset) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        between = "[\n"
        for row in rows:
            file.write(between + json.dumps(row.values, ensure_ascii=False))
            between = ",\n"
        file.write("\n]\n")


def _csv(path: Path, rows: Iterable[RowToWrite], source: OldDataset) -> None:
    _separated(path, rows, source, harmless_cell, ",")


def _tsv(path: Path, rows: Iterable[RowToWrite], source: OldDataset) -> None:
    _separated(path, rows, source, str, "\t")


def _separated(
    path: Path, rows: Iterable[RowToWrite], source: OldDataset, shown: Callable[[str], str], delimiter: str
) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, delimiter=delimiter, lineterminator="\r\n")
        lines.writerow(map(shown, source.names))
        for row in rows:
            cells = _cells(row, source.names)
            lines.writerow(shown(cell) if isinstance(cell, str) else cell for cell in cells)


def _xlsx(path: Path, rows: Iterable[RowToWrite], source: OldDataset) -> None:
    import xlsxwriter

    book = xlsxwriter.Workbook(str(path), {"constant_memory": True, "tmpdir": str(path.parent)})
    sheet = book.add_worksheet("rows")
    for line, cells in enumerate(chain([source.names], (_cells(row, source.names) for row in rows))):
        for place, cell in enumerate(cells):
            _write_cell(sheet, line, place, cell)
    book.close()


def _write_cell(sheet: Any, line: int, place: int, cell: Any) -> None:
    """Texts are texts: no cell is a formula or a link."""
    if isinstance(cell, bool):
        sheet.write_boolean(line, place, cell)
    elif isinstance(cell, int | float):
        sheet.write_number(line, place, cell)
    elif cell is not None:
        sheet.write_string(line, place, str(cell))


def _parquet(path: Path, rows: Iterable[RowToWrite], source: OldDataset) -> None:
    """What nobody has corrected stays as it is, dates and bytes included, if it came from such a file."""
    import pyarrow
    import pyarrow.parquet

    kept = list(rows)
    if source.path is None or source.path.suffix.lower() != ".parquet":
        values = [{name: row.values.get(name) for name in source.names} for row in kept]
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(values), path)
        return
    table = pyarrow.parquet.read_table(source.path).take([row.place for row in kept])
    for name in dict.fromkeys(name for row in kept for name in row.changed):
        at = table.schema.get_field_index(name)  # -1: a column that was not there
        old = [None] * len(kept) if at < 0 else table[at].to_pylist()
        new = [row.values.get(name) if name in row.changed else cell for row, cell in zip(kept, old, strict=True)]
        column = pyarrow.array(new, None if at < 0 else table.schema.field(at).type)
        table = table.append_column(name, column) if at < 0 else table.set_column(at, table.schema.field(at), column)
    pyarrow.parquet.write_table(table, path)


def _cells(row: RowToWrite, names: Sequence[str]) -> list[Any]:
    return [_cell(row.values.get(name)) for name in names]


def _cell(value: Any) -> Any:
    """Lists and objects as JSON, as the readers of cells expect them back."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


WRITERS: Mapping[str, Write] = {
    ".jsonl": _lines,
    ".ndjson": _lines,
    ".json": _json,
    ".csv": _csv,
    ".tsv": _tsv,
    ".parquet": _parquet,
    ".xlsx": _xlsx,
}
