"""Parquet files, `datasets` folders and objects, pandas frames: tables whose columns have types."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.marks import Unwritable
from rag_evaluator.dataset.readers.record import InputRecord, joined, library_errors, numbered, read_text
from rag_evaluator.errors import DatasetError

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
    if (path / "dataset_dict.json").is_file():
        with library_errors(f"{path.name}/dataset_dict.json", "a list of splits", "Give the folder of one split."):
            refuse_splits(json.loads(read_text(path / "dataset_dict.json"))["splits"], f"{path.name}", f"{path}/{{}}")
    if not (path / "state.json").is_file():
        inside = ", ".join(sorted(entry.name for entry in path.iterdir())[:5]) or "nothing"
        raise DatasetError(
            f"{path.name}: expected a folder saved by `Dataset.save_to_disk`, received one without state.json (in it: "
            f"{inside}). Give the path of a data file or of such a folder."
        )
    import datasets  # type: ignore[import-untyped,unused-ignore]

    with library_errors(path.name, "a `datasets` folder", "Save it again with `Dataset.save_to_disk`."):
        rows = dataset_rows(datasets.load_from_disk(str(path)))
    return numbered(rows, f"{path.name}, ")


def dataset_rows(dataset: Any) -> list[dict[Any, Any]]:
    """As Arrow: whatever format was set; images and audio are not decoded; a selection or shuffle is respected."""
    return _arrow_rows(dataset.with_format("arrow")[:])


def frame_rows(frame: Any) -> list[dict[Any, Any]]:
    return _rows(frame.columns, [frame.iloc[:, place].tolist() for place in range(len(frame.columns))])


def refuse_splits(splits: Iterable[str], name: str = "DatasetDict", example: str = "dataset['{}']") -> list[Any]:
    names = list(splits)
    raise DatasetError(
        f"{name}: expected one dataset, received a DatasetDict with the splits {', '.join(names)}. Give one of them: "
        f"{' or '.join(map(example.format, names))}."
    )


def _arrow_rows(table: Any) -> list[dict[Any, Any]]:
    return _rows(table.column_names, [_arrow_values(column) for column in table.columns])


def _arrow_values(column: Any) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist()
    except Exception as error:  # a date after the year 9999, for instance: it matters only where a metric needs it
        reason = f"values of type {column.type} that cannot be read ({error})"
        values = [Unwritable(f"<{column.type}>", reason)] * len(column)
    return values


def _rows(names: Sequence[Any], columns: Sequence[Sequence[Any]]) -> list[dict[Any, Any]]:
    return [joined(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
