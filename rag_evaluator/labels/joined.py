"""The labels of one metric, row by row: those of several annotators put together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.labels.draw import DrawRecord
from rag_evaluator.labels.scale import LabelScale
from rag_evaluator.labels.table import Label
from rag_evaluator.trust.formulas import Array


@dataclass(frozen=True, eq=False)
class JoinedLabels:
    """Labels of all rows of a run.

    Attributes:
        ratings: of each annotator; NaN: none. *Shape:* (annotators, rows).
        annotators: their names, in order.
        means: of the annotators of each row; NaN: no label.
        votes: the grade that most annotators chose, for binary labels; NaN also where as many say 0 as 1. Of graded
            labels the same as `means`.
        drawn: whether the row was drawn; None where no draw is known.
    """

    ratings: Array
    annotators: Sequence[str]
    means: Array
    votes: Array
    drawn: NDArray[np.bool_] | None

    @property
    def labelled(self) -> NDArray[np.bool_]:
        return np.asarray(~np.isnan(self.means))

    @property
    def tied(self) -> int:
        """Rows that count nowhere in the comparison: as many annotators accept as reject."""
        return int(np.count_nonzero(np.isnan(self.votes) & self.labelled))

    def counting(self, values: Array) -> Array:
        """Labels of rows that were drawn; of others NaN: they may be read, but say nothing of all rows."""
        return values if self.drawn is None else np.where(self.drawn, values, np.nan)


def joined(labels: Sequence[Label], rows: int, scale: LabelScale, draw: DrawRecord | None) -> JoinedLabels:
    """Labels of whole rows by annotator."""
    whole = [label for label in labels if label.statement is None and label.value == label.value]
    annotators = sorted({label.annotator for label in whole})
    ratings = np.full((len(annotators), rows), np.nan)
    for label in whole:
        ratings[annotators.index(label.annotator), label.row] = label.value
    counts = np.count_nonzero(~np.isnan(ratings), axis=0)
    means = np.where(counts > 0, np.nansum(ratings, axis=0) / np.maximum(counts, 1), np.nan)
    votes = means
    if scale.kind == "binary":
        votes = np.where(np.isnan(means) | (means == 0.5), np.nan, np.round(means))
    return JoinedLabels(ratings, annotators, means, votes, None if draw is None else draw.drawn())
