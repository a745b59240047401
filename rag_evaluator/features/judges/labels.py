"""Labels in a column of the rows: 0 or 1, words, or spans that people marked in the response."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag_evaluator.config import Language
from rag_evaluator.dataset import LABEL_EXPECTED, Sample, column_names, is_blank, label_of
from rag_evaluator.errors import DatasetError, did_you_mean
from rag_evaluator.statistics import Array
from rag_evaluator.verifiers import labels_by_spans

Sentences = Mapping[str | None, int | None]  # of a row, by text, see `labels_by_spans`


@dataclass(frozen=True, eq=False)
class ColumnLabels:
    """The labels of a metric.

    Attributes:
        rows: 1 for what people accept, 0 for what they do not; NaN: no label.
        sentences: labels of the sentences of each row, where labels are spans that people marked; None: they are not;
            so of a single row without a label.
    """

    rows: Array
    sentences: Sequence[Sentences | None] | None


def labels_in(samples: Sequence[Sample], metric: str, column: str, language: Language) -> ColumnLabels:
    """Read the labels of a metric. Raises `DatasetError` for a column without labels of two kinds."""
    option = f"--label {metric}={column}"
    if not any(column in sample.row for sample in samples):
        hint = did_you_mean(column, column_names(sample.row for sample in samples))
        raise DatasetError(f"{option}: no row has this column.{hint}")
    cells = [_cell(sample, column, language) for sample in samples]
    has_spans = any(isinstance(cell, Mapping) for cell in cells)
    values = [_of_row(cell) if isinstance(cell, Mapping) else cell for cell in cells]
    kinds = sorted({value for value in values if value is not None})
    if kinds != [0.0, 1.0]:
        found = ", ".join(f"{kind:g}" for kind in kinds) or "none"
        raise DatasetError(
            f"{option}: expected labels of two kinds, 1 for what people accept and 0 for what they do not; received "
            f"{found}. Of grades, make a column that says which ones are accepted."
        )
    rows = np.array([np.nan if value is None else value for value in values])
    return ColumnLabels(rows, [cell if isinstance(cell, Mapping) else None for cell in cells] if has_spans else None)


def _cell(sample: Sample, column: str, language: Language) -> float | Sentences | None:
    cell = sample.row.get(column)
    if isinstance(cell, list):
        return labels_by_spans(sample, column, language)
    if is_blank(cell):
        return None
    try:
        return label_of(cell)
    except ValueError:
        where = f"{sample.where}, column '{column}'"
        raise DatasetError(f"{where}: {cell!r:.60} is no label. {LABEL_EXPECTED}") from None


def _of_row(sentences: Sentences) -> float | None:
    """A row is accepted if each of its sentences is."""
    found = set(sentences.values())
    return 0.0 if 0 in found else None if None in found else 1.0


def rarer(labels: Array) -> int:
    """Labels of the rarer kind."""
    return min(int(np.sum(labels == kind)) for kind in (0, 1))
