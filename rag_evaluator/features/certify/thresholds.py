"""Thresholds of a verifier's probabilities, from labels of sentences.

A threshold of sentences never comes from labels of rows: a row may be rejected for any one of its sentences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean

import numpy as np

from rag_evaluator.files import Json, JsonDict
from rag_evaluator.results import (
    SENTENCES,
    ScoredRows,
    cluster_of,
    parts_of_verifier,
    probabilities_of,
    reporting_of,
    unit_of,
)

from .agreement import balanced, cross_fitted
from .coefficients import ScoredLabels, pairs_of
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


def threshold_of(
    run: ScoredRows, metric: str, table: LabelTable, records: Mapping[int, Sequence[Json]], level: float
) -> JsonDict | None:
    """The threshold of a verifier by labels of its sentences, as the certificate has it.

    Of rows that were drawn each counts as much as its probability says, without a draw all alike. None where there are
    not enough labels of sentences that have a verifier's probability.

    Args:
        records: row -> its details of the metric, one for each repeat.
    """
    draw = table.draw
    reporting = reporting_of(run.manifest)
    drawn = set(records if draw is None else draw.rows)
    probabilities = {row: probabilities_of(lines[0]) for row, lines in records.items() if lines and row in drawn}
    counting = [
        (row, probabilities[row][text], round(mean))
        for (row, text), given in votes_of(table.labels).items()
        if (mean := fmean(label.value for label in given)) != 0.5 and text in probabilities.get(row, ())
    ]
    values, wanted = ([pair[place] for pair in counting] for place in (1, 2))
    weights = None if draw is None else [1 / draw.probabilities[row] for row, *_ in counting]
    samples = (run.samples[row] for row, *_ in counting)
    units = [unit_of(sample, cluster_of(sample, reporting)) for sample in samples]
    if threshold := find_threshold(pairs_of(values, wanted, units, weights), level):
        signature = (run.manifest.get("signatures") or {}).get(metric, "")
        return {"by": SENTENCES, **threshold, "signature": parts_of_verifier(signature)}
    return None
