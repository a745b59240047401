"""Labels in a column of the rows: 0 or 1, words, or spans that people marked in the response."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rag_evaluator.dataset import LABEL_EXPECTED, Sample, column_names, is_blank, label_of
from rag_evaluator.errors import DatasetError, did_you_mean
from rag_evaluator.statistics import Array

Span = tuple[int, int]  # of the response as it was written; the second place is behind the last letter


@dataclass(frozen=True, eq=False)
class ColumnLabels:
    """The labels of a metric.

    Attributes:
        rows: 1 for what people accept, 0 for what they do not; NaN: no label.
        spans: what people marked in each row, where labels are spans: a row without one is accepted. None: they are
            not; so of a single row without a label.
    """

    rows: Array
    spans: Sequence[Sequence[Span] | None] | None


def labels_in(samples: Sequence[Sample], metric: str, column: str) -> ColumnLabels:
    """Read the labels of a metric. Raises `DatasetError` for a column without labels of two kinds."""
    option = f"--label {metric}={column}"
    if not any(column in sample.row for sample in samples):
        hint = did_you_mean(column, column_names(sample.row for sample in samples))
        raise DatasetError(f"{option}: no row has this column.{hint}")
    cells = [_cell(sample, column) for sample in samples]
    has_spans = any(isinstance(cell, list) for cell in cells)
    values = [float(not cell) if isinstance(cell, list) else cell for cell in cells]
    kinds = sorted({value for value in values if value is not None})
    if kinds != [0.0, 1.0]:
        found = ", ".join(f"{kind:g}" for kind in kinds) or "none"
        raise DatasetError(
            f"{option}: expected labels of two kinds, 1 for what people accept and 0 for what they do not; received "
            f"{found}. Of grades, make a column that says which ones are accepted."
        )
    rows = np.array([np.nan if value is None else value for value in values])
    return ColumnLabels(rows, [cell if isinstance(cell, list) else None for cell in cells] if has_spans else None)


def _cell(sample: Sample, column: str) -> float | list[Span] | None:
    cell = sample.row.get(column)
    where = f"{sample.where}, column '{column}'"
    if isinstance(cell, list):
        if sample.response is not None:
            raise DatasetError(
                f"{where}: spans are places in the response as it was written. Set responses: as_written."
            )
        return [_span(mark, where) for mark in cell]
    if is_blank(cell):
        return None
    try:
        return label_of(cell)
    except ValueError:
        raise DatasetError(f"{where}: {cell!r:.60} is no label. {LABEL_EXPECTED}") from None


def _span(mark: Any, where: str) -> Span:
    """Any: JSON."""
    start, end = (mark.get(name) for name in ("start", "end")) if isinstance(mark, dict) else (None, None)
    if type(start) is not int or type(end) is not int or not start < end:
        raise DatasetError(f"{where}: {mark!r:.60} is no span. Expected start and end, places in the response.")
    return start, end


def marked(spans: Sequence[Span], begin: int, end: int) -> bool:
    """Whether people marked something of a sentence."""
    return any(first < end and last > begin for first, last in spans)


def rarer(labels: Array) -> int:
    """Labels of the rarer kind."""
    return min(int(np.sum(labels == kind)) for kind in (0, 1))
