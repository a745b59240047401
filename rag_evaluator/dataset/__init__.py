"""The input rows: `load_dataset` turns a file, folder or Python object into samples with ragas' column names.

Where the parts live: `readers` (a table of file formats), `columns` (aliases), `fields` (types), `plain` (JSON values),
`spool` (samples kept on disk).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.dataset.columns import (
    ALIASES,
    accepted_names,
    canonical_columns,
    check_mapping,
    column_names,
    is_retrieval_log,
)
from rag_evaluator.dataset.fields import EMPTY
from rag_evaluator.dataset.readers import READERS, read_records
from rag_evaluator.dataset.sample import Sample
from rag_evaluator.dataset.spool import Spool
from rag_evaluator.errors import DatasetError

if TYPE_CHECKING:
    import datasets  # type: ignore[import-untyped,unused-ignore]
    import pandas

__all__ = ["ALIASES", "READERS", "Sample", "Spool", "check_columns", "load_dataset", "open_dataset", "row_names"]


def load_dataset(
    source: str | Path | Sequence[Mapping[str, Any]] | pandas.DataFrame | datasets.Dataset,
    columns: Mapping[str, str] | None = None,
) -> list[Sample]:
    """Samples in the order of the input, at least one.

    `columns` maps the user's column names to canonical ones and wins over canonical names and aliases. Raises
    DatasetError, with the place and the way out, for everything that cannot be read without guessing.
    """
    name, records = read_records(source)
    mapping = dict(columns or {})
    check_mapping(mapping, records, name)
    is_log = is_retrieval_log(records, mapping)
    return [
        Sample(index, record.row, canonical_columns(record, mapping, is_log), record.where)
        for index, record in enumerate(records)
    ]


def open_dataset(source: Any, columns: Mapping[str, str] | None = None) -> Sequence[Sample]:
    """The samples of `load_dataset`; those of a file stay on disk and are read again whenever they are asked for."""
    if isinstance(source, str | Path):
        return Spool(Path(source), columns or {})
    return load_dataset(source, columns)


def row_names(samples: Sequence[Sample]) -> list[str]:
    """Every column of any row, in order of first appearance."""
    return list(samples.names) if isinstance(samples, Spool) else column_names(sample.row for sample in samples)


def check_columns(samples: Sequence[Sample], needed: Mapping[str, Sequence[str]], source_name: str) -> None:
    """DatasetError when a canonical column that a metric needs is in no sample at all.

    `needed`: metric name -> its columns. Single rows without the column are fine: their score will be NaN.
    """
    if isinstance(samples, Spool):
        there = samples.present
    else:
        there = {column for sample in samples for column in sample.columns}
    missing: dict[str, list[str]] = {}
    for metric, columns in needed.items():
        for column in columns:
            if column not in there:
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
    for name in accepted_names(column):
        values = [sample.row[name] for sample in samples if name in sample.row]
        if any(value not in EMPTY for value in values):
            return f" '{name}' was read as another column: by your `columns`, or as a retrieval log."
        if values:
            return f" '{name}' is empty in every row."
    return ""
