"""The input rows: `load_dataset` turns a file, folder or Python object into samples with ragas' column names.

The parts: `readers` (file formats), `columns` (names of columns), `values` (types), `json_values`, `on_disk` (samples
kept on disk, lines of a retrieval log as rows), `sample` (a row, and which rows are taken), `checked` (the step that
every start uses).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.dataset.columns import (
    ALIASES,
    TEXTS,
    ColumnNames,
    accepted_names,
    column_names,
)
from rag_evaluator.dataset.json_values import EMPTY, as_text, is_blank, plain
from rag_evaluator.dataset.on_disk import OnDiskSamples, rows_of_log
from rag_evaluator.dataset.readers import READERS, read_records
from rag_evaluator.dataset.readers.json_files import InputRecord
from rag_evaluator.dataset.sample import Sample, whole_of
from rag_evaluator.errors import DatasetError
from rag_evaluator.facades import facade

if TYPE_CHECKING:
    import datasets  # type: ignore[import-untyped,unused-ignore]
    import pandas

__all__ = [
    "ALIASES",
    "READERS",
    "OnDiskSamples",
    "Sample",
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
    return load_records(*read_records(source), columns or {}, TEXTS)


def open_dataset(source: Any, columns: Mapping[str, str] | None = None) -> Sequence[Sample]:
    """The samples of `load_dataset`; those of a file stay on disk and are read again whenever they are used.

    A canonical column that cannot be read is no error yet: `check_columns` raises it for columns that are needed.
    """
    if isinstance(source, str | Path):
        return OnDiskSamples(Path(source), ColumnNames(columns or {}))
    return load_records(*read_records(source), columns or {}, ())


def load_records(
    name: str, records: Sequence[InputRecord], columns: Mapping[str, str], readable: Collection[str]
) -> list[Sample]:
    """The samples of records that were read already.

    Args:
        name: of their source, for messages.
        readable: canonical columns that must be readable in all of them.
    """
    names, present = ColumnNames(columns), column_names(record.row for record in records)
    names.check(present, name)
    is_log = names.is_log(present)
    if is_log:
        records = list(rows_of_log(records, names))
    samples = [names.sample(index, record, is_log) for index, record in enumerate(records)]
    check_readable(samples, readable)
    return samples


def row_names(samples: Sequence[Sample]) -> list[str]:
    """Every column of any row, in order of first appearance."""
    samples = whole_of(samples)
    return list(samples.names) if isinstance(samples, OnDiskSamples) else column_names(sample.row for sample in samples)


def check_readable(samples: Sequence[Sample], columns: Collection[str]) -> None:
    """DatasetError, with the first reason, when one of these canonical columns cannot be read in some sample."""
    wrong = _wrong(samples)
    for column in wrong:
        if column in columns:
            raise DatasetError(wrong[column])


def _wrong(samples: Sequence[Sample]) -> Mapping[str, str]:
    """Canonical column -> why it cannot be read in the first sample where it cannot, in order of these samples."""
    if isinstance(samples, OnDiskSamples):
        return samples.wrong
    reasons: dict[str, str] = {}
    for sample in samples:
        for column, reason in sample.wrong.items():
            reasons.setdefault(column, reason)
    return reasons


def present_columns(samples: Sequence[Sample]) -> Collection[str]:
    """The canonical columns that some sample has something in."""
    if isinstance(samples, OnDiskSamples):
        return samples.present
    return {column for sample in samples for column in sample.columns if sample.has(column)}


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
        _refuse_errors_alone(samples, source_name)
        lines = [_missing_column(samples, column, metrics) for column, metrics in missing.items()]
        raise DatasetError("\n".join(f"{source_name}: {line}" for line in lines))


def _refuse_errors_alone(samples: Sequence[Sample], source_name: str) -> None:
    """DatasetError for rows of `collect` where the system has failed for all questions."""
    errors = [sample.row.get("error") for sample in samples]
    if all(isinstance(error, str) for error in errors) and "response" not in present_columns(samples):
        count = f"{len(errors)} of {len(errors)} questions have no answer"
        raise DatasetError(f"{source_name}: {count}: {errors[0]}. Correct the system that was asked.")


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
    if column == "retrieved_contexts" and "reference" in _wrong(samples):
        return f" {_wrong(samples)['reference']}"
    for name in accepted_names(column):
        values = [sample.row[name] for sample in samples if name in sample.row]
        if any(value not in EMPTY for value in values):
            return f" '{name}' was read as another column: by your `columns`, or as a retrieval log."
        if values:
            return f" '{name}' is empty in every row."
    return ""


__getattr__, *_ = facade(
    __name__,
    {
        "checked": "TaskColumns checked_rows rows_again",
        "doubts": "doubts_of",
        "json_values": "Unwritable",
        "readers.spreadsheets": "harmless is_harmless original",
        "sample": "RowChoice",
    },
)
