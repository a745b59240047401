"""Thresholds of a verifier's probabilities, from labels of sentences.

A threshold of sentences never comes from labels of rows: a row may be rejected for any one of its sentences.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import NamedTuple

import numpy as np

from rag_evaluator.files import Json, JsonDict
from rag_evaluator.results import (
    SENTENCES,
    ScoredRows,
    parts_of_verifier,
    probabilities_of,
    units_of,
)
from rag_evaluator.statistics import ScoredLabels, balanced, cross_fitted, pairs_of

from .table import LabelTable, votes_of
from .verdict import LEAST, LEAST_RARER

HALF = 0.5  # what counts without labels


def find_threshold(rows: ScoredLabels, level: float = 0.95) -> JsonDict | None:
    """The threshold with the highest balanced accuracy, and how good it is on labels that did not choose it.

    Args:
        rows: scores are probabilities in [0, 1], higher for what people accept; labels are 0 or 1; a cluster, the row
            of several sentences or more, is in one fold.

    Returns:
        `threshold`: the best one for all labels, of several the nearest to 0.5; the number of `labels` and of their
        `rows`; `balanced_accuracy` of each label by the threshold that the other folds chose; `at_half`: that of 0.5,
        which nobody chose. None where nothing can be chosen: fewer than `LEAST` labels, or `LEAST_RARER` of the rarer
        class, or equal values.
    """
    accepted = int(rows.labels.sum())
    rarer = min(accepted, len(rows.labels) - accepted)
    if len(rows.labels) < LEAST or rarer < LEAST_RARER or np.ptp(rows.scores) == 0:
        return None
    threshold, verdicts = cross_fitted(*rows, near=HALF)
    sides = (np.asarray(side == (rows.labels == 1), np.float64) for side in (verdicts, rows.scores >= HALF))
    held_out, at_half = (asdict(balanced(rows, right, level)) for right in sides)
    return {
        "threshold": threshold,
        "labels": len(rows.labels),
        "rows": len(set(rows.clusters or ())),
        "balanced_accuracy": held_out,
        "at_half": at_half,
    }


class LabelledSentences(NamedTuple):
    """Sentences with a label.

    Attributes:
        labels: (row, text) -> 1 where people accept the sentence, else 0.
        units: of each, the key of what it depends on.
        weights: how many sentences each one speaks for; None: all alike.
    """

    labels: Mapping[tuple[int, str], int]
    units: Sequence[str]
    weights: Sequence[float] | None


def labelled_sentences(run: ScoredRows, table: LabelTable, known: Collection[tuple[int, str]]) -> LabelledSentences:
    """The known sentences on which annotators are not divided; where rows were drawn, those of drawn rows."""
    draw = table.draw
    means = {key: fmean(label.value for label in given) for key, given in votes_of(table.labels).items()}
    labels = {
        key: round(mean)
        for key, mean in means.items()
        if mean != 0.5 and key in known and (draw is None or key[0] in draw.rows)
    }
    units = units_of(run)
    weights = None if draw is None else [1 / draw.probabilities[row] for row, _ in labels]
    return LabelledSentences(labels, [units[row] for row, _ in labels], weights)


def threshold_of(
    run: ScoredRows, metric: str, table: LabelTable, records: Mapping[int, Sequence[Json]], level: float
) -> JsonDict | None:
    """The threshold of a verifier by labels of its sentences, as the certificate has it.

    Of rows that were drawn each counts as much as its probability says, without a draw all alike. None where there are
    not enough labels of sentences that have a verifier's probability.

    Args:
        records: row -> its details of the metric, one for each repeat.
    """
    probabilities = {row: probabilities_of(lines[0]) for row, lines in records.items() if lines}
    known = {(row, text) for row, of_row in probabilities.items() for text in of_row}
    labelled = labelled_sentences(run, table, known)
    values = [probabilities[row][text] for row, text in labelled.labels]
    wanted = list(labelled.labels.values())
    if threshold := find_threshold(pairs_of(values, wanted, labelled.units, labelled.weights), level):
        signature = (run.manifest.get("signatures") or {}).get(metric, "")
        return {"by": SENTENCES, **threshold, "signature": parts_of_verifier(signature)}
    return None
