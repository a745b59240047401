"""The dataset that was reviewed, and its rows written again in the format that the name of a file says: `WRITERS`."""

import csv
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any  # rows hold whatever the user's columns hold; xlsxwriter and pyarrow have no types

from rag_evaluator.dataset import row_names
from rag_evaluator.dataset.columns import ColumnNames, accepted_names
from rag_evaluator.dataset.readers.json_files import InputRecord
from rag_evaluator.dataset.readers.spreadsheets import harmless_cell, is_cells
from rag_evaluator.dataset.sample import Sample
from rag_evaluator.files.jsonl import json_line

LINES = (".jsonl", ".ndjson")
MARK = b"\xef\xbb\xbf"  # of UTF-8, at the beginning of a file


@dataclass(frozen=True)
class Dataset:
    """The dataset that the reviews are about.

    Attributes:
        name: for messages.
        path: None where its rows came from Python; they are those that the run has kept.
        samples: its rows.
        mapping: the user's names of columns, `columns` of the configuration.
    """

    name: str
    path: Path | None
    samples: Sequence[Sample]
    mapping: Mapping[str, str]

    @property
    def is_cells(self) -> bool:
        return self.path is not None and is_cells(self.path)

    @property
    def is_log(self) -> bool:
        return ColumnNames(self.mapping).is_log(row_names(self.samples))

    def column_of(self, canonical: str, sample: Sample) -> list[str]:
        """The user's columns that hold a canonical one in a row; where there is none yet, the one to write."""
        mapping = {**self.mapping, "reference": "retrieved_contexts"} if self.is_log else self.mapping
        filled = ColumnNames(mapping).names_of(canonical, InputRecord(sample.where, sample.row, self.is_cells))
        mapped = [name for name, target in mapping.items() if target == canonical]
        free = [name for name in accepted_names(canonical) if name not in mapping]
        present = [name for name in free if name in row_names(self.samples)]
        return filled or (mapped or present or free)[:1]

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Place and bytes of each row, of a file with a row on each line; of others nothing."""
        if self.path is None or self.path.suffix.lower() not in LINES or self.is_log:
            return
        with self.path.open("rb") as file:
            first = file.readline().removeprefix(MARK)
            for place, line in enumerate(line for line in chain([first], file) if line.strip()):
                yield place, line if line.endswith(b"\n") else line + b"\n"


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


Write = Callable[[Path, Iterable[RowToWrite], Sequence[str], Dataset], None]
"""Takes the file, its rows, every column of any row in order, and the dataset that is revised."""


def _lines(path: Path, rows: Iterable[RowToWrite], names: Sequence[str], source: Dataset) -> None:
    """Rows that nobody has corrected stay the same bytes, if they came from such a file."""
    old = source.lines()
    with path.open("wb") as file:
        for row in rows:
            kept = next((line for place, line in old if place == row.place), None)
            file.write(json_line(row.values) if row.changed or kept is None else kept)


def _json(path: Path, rows: Iterable[RowToWrite], names: Sequence[str], source: Dataset) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        between = "[\n"
        for row in rows:
            file.write(between + json.dumps(row.values, ensure_ascii=False))
            between = ",\n"
        file.write("\n]\n")


def _separated(
    path: Path,
    rows: Iterable[RowToWrite],
    names: Sequence[str],
    source: Dataset,
    shown: Callable[[str], str],
    delimiter: str,
) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, delimiter=delimiter, lineterminator="\r\n")
        lines.writerow(map(shown, names))
        for row in rows:
            lines.writerow(shown(cell) if isinstance(cell, str) else cell for cell in _cells(row, names))


def _xlsx(path: Path, rows: Iterable[RowToWrite], names: Sequence[str], source: Dataset) -> None:
    import xlsxwriter

    book = xlsxwriter.Workbook(str(path), {"constant_memory": True, "tmpdir": str(path.parent)})
    sheet = book.add_worksheet("rows")
    for line, cells in enumerate(chain([names], (_cells(row, names) for row in rows))):
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


def _parquet(path: Path, rows: Iterable[RowToWrite], names: Sequence[str], source: Dataset) -> None:
    """What nobody has corrected stays as it is, dates and bytes included, if it came from such a file."""
    import pyarrow
    import pyarrow.parquet

    kept = list(rows)
    if source.path is None or source.path.suffix.lower() != ".parquet":
        values = [{name: row.values.get(name) for name in names} for row in kept]
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
    """Lists and objects as JSON, as the readers of cells expect them back."""
    values = [row.values.get(name) for name in names]
    return [json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value for value in values]


WRITERS: Mapping[str, Write] = {
    ".jsonl": _lines,
    ".ndjson": _lines,
    ".json": _json,
    ".csv": partial(_separated, shown=harmless_cell, delimiter=","),
    ".tsv": partial(_separated, shown=str, delimiter="\t"),
    ".parquet": _parquet,
    ".xlsx": _xlsx,
}
