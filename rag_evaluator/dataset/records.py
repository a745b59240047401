"""`read_records`: a file, folder or Python object -> records. One row of `READERS` per file suffix."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.errors import DatasetError
from rag_evaluator.files import Json

from .json_values import EMPTY, Several, plain
from .readers.json_files import (
    InputRecord,
    joined,
    library_errors,
    numbered,
    read_json,
    read_jsonl,
    rows_of,
    suffix_of,
)
from .readers.published import as_rows
from .readers.spreadsheets import read_csv, read_tsv, read_xlsx, sheets_of
from .turns import rows_of_conversations

# Any in this module: objects of pyarrow, datasets and pandas, which are imported only when needed.


def read_parquet(path: Path) -> Iterator[InputRecord]:
    """Integers stay integers, where pandas would make them floats beside a missing value."""
    import pyarrow.parquet  # type: ignore[import-untyped,unused-ignore]

    advice = "Write it again, or convert it to .jsonl."
    with library_errors(path.name, "a Parquet file", advice), pyarrow.parquet.ParquetFile(path) as file:
        rows = _arrow_rows(file.read())
    return numbered(rows, f"{path.name}, ")


def read_folder(path: Path) -> Iterator[InputRecord]:
    """A folder written by `Dataset.save_to_disk`."""
    import datasets  # type: ignore[import-untyped,unused-ignore]

    with library_errors(path.name, "a folder saved by `Dataset.save_to_disk`", "Give its path, or that of a file."):
        dataset = datasets.load_from_disk(str(path))
        if isinstance(dataset, datasets.DatasetDict):
            refuse_splits(dataset, path.name, f"{path}/{{}}")
        rows = dataset_rows(dataset)
    return numbered(rows, f"{path.name}, ")


def dataset_rows(dataset: Any) -> list[dict[Any, Any]]:
    """As Arrow: whatever format was set; images and audio are not decoded; a selection or shuffle is respected."""
    return _arrow_rows(dataset.with_format("arrow")[:])


def refuse_splits(splits: Json, name: str = "DatasetDict", example: str = "dataset['{}']") -> list[Any]:
    examples = " or ".join(map(example.format, splits))
    raise DatasetError(
        f"{name}: expected one dataset, received a DatasetDict with the splits {', '.join(splits)}. Give one of them: "
        f"{examples}."
    )


def _arrow_rows(table: Any) -> list[dict[Any, Any]]:
    return _rows(table.column_names, [column.to_pylist() for column in table.columns])


def _rows(names: Sequence[Any], columns: Sequence[Sequence[Any]]) -> list[dict[Any, Any]]:
    return [joined(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


READERS: Mapping[str, Callable[[Path], Iterable[InputRecord]]] = {
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_json,
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".parquet": read_parquet,
    ".xlsx": read_xlsx,
}

# By the names of package and class, so that no library is imported to find out. Any: the libraries' objects.
_OBJECTS: Mapping[str, Callable[[Any], list[Any]]] = {
    "builtins.list": list,
    "builtins.tuple": list,
    "builtins.dict": lambda columns: rows_of(dict(zip(columns, map(_as_list, columns.values()), strict=True)), "dict"),
    "pandas.DataFrame": lambda frame: _rows(frame.columns, [column.tolist() for _, column in frame.items()]),
    "polars.DataFrame": lambda frame: _rows(frame.columns, [column.to_list() for column in frame.get_columns()]),
    "datasets.Dataset": dataset_rows,
    "datasets.IterableDataset": list,
    "datasets.DatasetDict": refuse_splits,
    "datasets.IterableDatasetDict": refuse_splits,
    "ragas.EvaluationDataset": list,
    "ragas.Testset": lambda testset: testset.to_list(),
}


def _as_list(column: Any) -> Any:
    """A column of numpy, pandas or pyarrow as a list; anything else as it is."""
    return list(column) if hasattr(column, "__array__") or isinstance(column, list | tuple) else column


def read_records(source: Any) -> tuple[str, Iterator[InputRecord]]:
    """The source's name for messages, and its records in order as they are read, at least one, with plain JSON values.

    Raises `DatasetError`, also while they are read.
    """
    name, records = _read_path(Path(source)) if isinstance(source, str | Path) else _read_object(source)
    return name, rows_of_conversations(_plain_records(source, name, records))


def _plain_records(source: Any, name: str, records: Iterable[InputRecord]) -> Iterator[InputRecord]:
    is_empty = True
    for record in as_rows(source, records):
        is_empty = False
        row = joined((str(plain(str(name))), value) for name, value in record.row.items())
        yield InputRecord(record.where, {name: _value(value) for name, value in row.items()}, record.is_cells)
    if is_empty:
        advice = sheets_of(source) or "Check that it is the right dataset"
        raise DatasetError(f"{name}: expected at least one row, received none. {advice}.")


def _value(value: Any) -> Any:
    """A plain value; of a column that is there several times the one value, if it has no other but empty ones."""
    if not isinstance(value, Several):
        return plain(value)
    values = [plain(item) for item in value]
    nonempty = [item for item in values if item not in EMPTY] or values[:1]
    if all(item == nonempty[0] for item in nonempty):
        return nonempty[0]
    several = Several(values)
    several.reason = (
        f"expected every column once, received it {len(values)} times: "
        f"{', '.join(f'{item!r:.40}' for item in values)}. Rename or delete one of them."
    )
    return several


def existing(source: Path) -> Path:
    """The whole path of a dataset. Raises `DatasetError` where nothing is."""
    path = source.expanduser().absolute()
    if not path.exists():
        names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        near = " or ".join(map(repr, difflib.get_close_matches(path.name, names)))
        advice = f" Did you mean {near}?" if near else ""
        raise DatasetError(f"{path}: no such file or folder.{advice} Correct the path.")
    return path


def _read_path(source: Path) -> tuple[str, Iterable[InputRecord]]:
    path = existing(source)
    if path.is_dir():
        return path.name, read_folder(path)
    reader = READERS.get(suffix_of(path))
    if reader is None:
        raise DatasetError(
            f"{path.name}: expected one of {', '.join(READERS)}, also as .gz where it is text, or a folder saved by "
            f"`datasets`, received the suffix '{path.suffix}'. Convert the file, or rename it if only its name is "
            "wrong."
        )
    if path.stat().st_size == 0:
        raise DatasetError(f"{path.name}: expected rows, received an empty file (0 bytes). Write the dataset again.")
    return path.name, reader(path)


def _read_object(source: Any) -> tuple[str, Iterable[InputRecord]]:
    for kind in type(source).__mro__:
        rows_of = _OBJECTS.get(f"{kind.__module__.partition('.')[0]}.{kind.__name__}")
        if rows_of:
            return kind.__name__, numbered(rows_of(source), "")
    raise DatasetError(
        "dataset: expected a path, a list of dicts, a dict of lists, a pandas DataFrame, a datasets.Dataset or a ragas "
        f"EvaluationDataset, received {type(source).__name__}. Convert it first."
    )
