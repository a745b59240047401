"""The input rows: `load_dataset` turns a file, folder or Python object into samples with ragas' column names.

A row is read (`readers`, `json_values`), lines of a log are joined (`retrieval_log`), columns are renamed and checked
(`columns`, `values`), samples are kept (`sample`, `on_disk`), and checked for a run, which may take some (`checked`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.dataset.columns import (
    ALIASES,
    TEXTS,
    ColumnNames,
    accepted_names,
)
from rag_evaluator.dataset.json_values import EMPTY, as_text, is_blank, plain
from rag_evaluator.dataset.on_disk import Samples, samples_of, surveyed
from rag_evaluator.dataset.readers import READERS, iterate_records
from rag_evaluator.dataset.sample import Sample
from rag_evaluator.errors import DatasetError
from rag_evaluator.facades import facade
from rag_evaluator.files.progress import ACTIVITY

if TYPE_CHECKING:
    import datasets  # type: ignore[import-untyped,unused-ignore]
    import pandas

__all__ = [
    "ALIASES",
    "READERS",
    "Sample",
    "Samples",
    "as_text",
    "check_columns",
    "check_readable",
    "is_blank",
    "load_dataset",
    "open_dataset",
    "plain",
    "present_columns",
    "row_names",
]


def load_dataset(
    source: str | Path | Mapping[str, Sequence[Any]] | Sequence[Any] | pandas.DataFrame | datasets.Dataset,
    columns: Mapping[str, str] | None = None,
) -> list[Sample]:
    """Samples in the order of the input, at least one.

    `columns` maps the user's column names to canonical ones and wins over canonical names and aliases. Raises
    DatasetError, with the place and what to do, for texts that cannot be read without guessing. Ids, scores,
    `answerable` and `rubrics` may be columns of the user's own: what is wrong with them is in `Sample.wrong`.
    """
    samples = open_dataset(source, columns)
    check_readable(samples, TEXTS)
    return list(samples)


def open_dataset(source: Any, columns: Mapping[str, str] | None = None) -> Samples:
    """The samples of `load_dataset`, kept on disk.

    A canonical column that cannot be read is no error yet: `check_columns` raises it for columns that are needed.
    """
    name, records = iterate_records(source)
    with ACTIVITY.phase(f"reading {name}") if isinstance(source, str | Path) else nullcontext():
        return samples_of(name, records, ColumnNames(columns or {}))


def row_names(samples: Sequence[Sample]) -> list[str]:
    """Every column of any row, in order of first appearance."""
    return list(surveyed(samples).names)


def present_columns(samples: Sequence[Sample]) -> Collection[str]:
    """The canonical columns that some sample has something in."""
    return surveyed(samples).present


def check_readable(samples: Sequence[Sample], columns: Collection[str]) -> None:
    """DatasetError, with the first reason, when one of these canonical columns cannot be read in some sample."""
    for column, reason in surveyed(samples).wrong.items():
        if column in columns:
            raise DatasetError(reason)


def check_columns(samples: Sequence[Sample], needed: Mapping[str, Sequence[str]], source_name: str) -> None:
    """DatasetError when a canonical column that a metric needs cannot be read, or is missing in all samples.

    `needed`: metric name -> its columns. Single rows without the column are fine: their score will be NaN.
    """
    check_readable(samples, {column for columns in needed.values() for column in columns})
    present = present_columns(samples)
    missing: dict[str, list[str]] = {}
    for metric, columns in needed.items():
        for column in columns:
            if column not in present:
                missing.setdefault(column, []).append(metric)
    if missing:
        lines = [_missing_column(samples, column, metrics) for column, metrics in missing.items()]
        raise DatasetError("\n".join(f"{source_name}: {line}" for line in lines))


def _missing_column(samples: Sequence[Sample], column: str, metrics: Sequence[str]) -> str:
    listed = ", ".join(metrics)
    names = row_names(samples)
    return (
        f"expected the column '{column}', which {listed} need{'s' if len(metrics) == 1 else ''} (accepted names: "
        f"{', '.join(accepted_names(column))}), received the columns {', '.join(map(repr, names))}."
        f"{_unused(samples, column)} Rename a column, map it with columns: {{<your column>: {column}}}, or leave out "
        f"{listed}."
    )


def _unused(samples: Sequence[Sample], column: str) -> str:
    """Why a column with an accepted name does not count."""
    if any(column in sample.columns for sample in samples):
        return " It is there, but blank in every row."
    if column == "retrieved_contexts" and "reference" in (wrong := surveyed(samples).wrong):
        return f" {wrong['reference']}"
    for name in accepted_names(column):
        values = [sample.row[name] for sample in samples if name in sample.row]
        if any(value not in EMPTY for value in values):
            return f" '{name}' was read as another column: by your `columns`, or as a retrieval log."
        if values:
            return f" '{name}' is empty in every row."
    error = samples[0].row.get("error")  # of a system that `collect` has asked
    return f" The first row has an error: '{error}'." if isinstance(error, str) else ""


__getattr__, *_ = facade(
    __name__,
    {
        "checked": "TaskColumns checked_rows rows_again",
        "doubts": "doubts_of",
        "json_values": "Unwritable",
        "readers": "read_records",
        "readers.spreadsheets": "harmless is_harmless original",
        "sample": "RowChoice",
    },
)
