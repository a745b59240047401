"""Parquet files, `datasets` folders and objects, pandas frames: tables whose columns have types."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rag_evaluator.dataset.record import Record, library_errors, numbered, read_text
from rag_evaluator.errors import DatasetError

# Any in this module: objects of pyarrow, datasets and pandas, which are imported only when needed.


def read_parquet(path: Path) -> Iterator[Record]:
    """Integers stay integers, where pandas would make them floats beside a missing value."""
    import pyarrow.parquet  # type: ignore[import-untyped,unused-ignore]

    advice = "Write it again, or convert it to .jsonl."
    with library_errors(path.name, "a Parquet file", advice), pyarrow.parquet.ParquetFile(path) as file:
        rows = _arrow_rows(file.read(), path.name)
    return numbered(rows, f"{path.name}, ")


def read_folder(path: Path) -> Iterator[Record]:
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
        rows = dataset_rows(datasets.load_from_disk(str(path)), path.name)
    return numbered(rows, f"{path.name}, ")


def dataset_rows(dataset: Any, name: str = "Dataset") -> list[dict[str, Any]]:
    """As Arrow: whatever format was set; images and audio are not decoded; a selection or shuffle is respected."""
    return _arrow_rows(dataset.with_format("arrow")[:], name)


def frame_rows(frame: Any) -> list[dict[str, Any]]:
    _check_names(frame.columns, "DataFrame")
    rows: list[dict[str, Any]] = frame.to_dict("records")
    return rows


def refuse_splits(splits: Iterable[str], name: str = "DatasetDict", example: str = "dataset['{}']") -> list[Any]:
    names = list(splits)
    raise DatasetError(
        f"{name}: expected one dataset, received a DatasetDict with the splits {', '.join(names)}. Give one of them: "
        f"{' or '.join(map(example.format, names))}."
    )


def _arrow_rows(table: Any, name: str) -> list[dict[str, Any]]:
    _check_names(table.column_names, name)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _check_names(names: Iterable[Any], source: str) -> None:
    """Names are text and each is there once; else a row, being a dict, would lose values."""
    for name, count in Counter(names).items():
        if count > 1:
            raise DatasetError(f"{source}: expected every column once, received {name!r} {count} times. Rename one.")
        if not isinstance(name, str):
            raise DatasetError(
                f"{source}: expected text as column name, received {name!r}. Rename the columns "
                "(pandas: frame.columns = frame.columns.astype(str))."
            )
