"""Thresholds from labels: of a verifier's probabilities by labels of sentences, of its scores by labels of rows.

A threshold of sentences never comes from labels of rows: a row may be rejected for any one of its sentences.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rag_evaluator.features.certify.agreement import balanced, cross_fitted
from rag_evaluator.features.certify.certification import LabelSource, by_metric
from rag_evaluator.features.certify.coefficients import Coefficient, pairs_of
from rag_evaluator.features.certify.sheet import DrawRecord
from rag_evaluator.features.certify.table import Label
from rag_evaluator.features.certify.verdict import LEAST, LEAST_RARER
from rag_evaluator.metrics.metric import SUPPORT
from rag_evaluator.results.run import ScoredRows
from rag_evaluator.results.summary import reporting_of, unit_of
from rag_evaluator.results.verified import ROWS, SENTENCES, parts_of_verifier, probabilities_of

HALF = 0.5  # what counts without labels


@dataclass(frozen=True)
class FoundThreshold:
    """A threshold that was chosen on labels.

    Attributes:
        threshold: the best one for all labels; of several the nearest to 0.5.
        labels, units: how many labels there are, of how many rows (or clusters).
        held_out: balanced accuracy of each label by the threshold that the other folds chose.
        at_half: balanced accuracy of 0.5, which nobody chose.
    """

    threshold: float
    labels: int
    units: int
    held_out: Coefficient
    at_half: Coefficient


def find_threshold(
    values: ArrayLike,
    labels: ArrayLike,
    units: Sequence[Hashable],
    weights: ArrayLike | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> FoundThreshold | None:
    """The threshold with the highest balanced accuracy, and how good it is on labels that did not choose it.

    Args:
        values: probabilities or scores in [0, 1], higher for what people accept. NaN: none.
        labels: 0 or 1. NaN: none.
        units: row or cluster of each value; a unit is in one fold.
        weights: how many rows each value speaks for.
        seed: of the folds.

    None where nothing can be chosen: fewer than `LEAST` labels, or `LEAST_RARER` of the rarer class, or equal values.
    """
    rows = pairs_of(values, labels, list(units), weights)
    accepted = int(rows.labels.sum())
    rarer = min(accepted, len(rows.labels) - accepted)
    if len(rows.labels) < LEAST or rarer < LEAST_RARER or np.ptp(rows.scores) == 0:
        return None
    fitted = cross_fitted(*rows, seed=seed, near=HALF)
    sides = (np.asarray(side == (rows.labels == 1), np.float64) for side in (fitted.verdicts, rows.scores >= HALF))
    held_out, at_half = (balanced(rows, right, level) for right in sides)
    return FoundThreshold(fitted.threshold, len(rows.labels), len(set(rows.clusters or ())), held_out, at_half)


def thresholds_of(run: ScoredRows, sources: Sequence[LabelSource], level: float) -> dict[str, dict[str, Any]]:
    """Metric of a verifier -> its threshold, as the certificate has it; Any: JSON.

    `by` is `sentences` where sentences with a verifier's probability have labels, else `rows`. Metrics without enough
    labels are not there.
    """
    reporting = reporting_of(run.manifest)
    units = [unit_of(sample, reporting) for sample in run.samples]
    found = {}
    for metric, (source, labels) in by_metric(sources).items():
        kinds = {SENTENCES: _of_sentences(run, metric, labels)}
        if metric in SUPPORT:
            kinds[ROWS] = _of_rows(run, metric, labels)
        for by, values in kinds.items():
            if metric not in found and (threshold := _find(list(values), units, source.draw, level)) is not None:
                signature = (run.manifest.get("signatures") or {}).get(metric, "")
                found[metric] = {**_json(threshold, by), "signature": parts_of_verifier(signature)}
    return found


Labelled = tuple[int, float, float]  # row, probability or score, label


def _find(
    values: Sequence[Labelled], units: Sequence[str], draw: DrawRecord | None, level: float
) -> FoundThreshold | None:
    """Of rows that were drawn, each as much as its probability says; without a draw of all alike."""
    drawn = None if draw is None else draw.drawn()
    counting = [value for value in values if drawn is None or drawn[value[0]]]
    weights = None if draw is None else [1 / draw.probabilities[row] for row, *_ in counting]
    rows = [units[row] for row, *_ in counting]
    return find_threshold([value for _, value, _ in counting], [label for *_, label in counting], rows, weights, level)


def _of_sentences(run: ScoredRows, metric: str, labels: Sequence[Label]) -> Iterator[Labelled]:
    votes = _votes([label for label in labels if label.statement is not None])
    records = run.records({(row, metric) for row, _ in votes})
    for (row, text), label in votes.items():
        lines = records.get((row, metric), ())
        probabilities = probabilities_of(lines[0]) if lines else {}
        if text in probabilities:
            yield row, probabilities[text], label


def _of_rows(run: ScoredRows, metric: str, labels: Sequence[Label]) -> Iterator[Labelled]:
    """Labels of 0 and 1; grades say of no row that it is accepted."""
    whole = [label for label in labels if label.statement is None]
    if all(label.value in (0.0, 1.0) for label in whole if label.value == label.value):
        for (row, _), label in _votes(whole).items():
            yield row, float(run.scores[metric][row]), label


def _votes(labels: Sequence[Label]) -> dict[tuple[int, str | None], float]:
    """What most annotators say of a row or sentence; where as many say 0 as 1 it is left out."""
    votes: dict[tuple[int, str | None], list[float]] = {}
    for label in labels:
        if label.value == label.value:
            votes.setdefault((label.row, label.statement), []).append(label.value)
    means = {key: sum(values) / len(values) for key, values in votes.items()}
    return {key: float(round(mean)) for key, mean in means.items() if mean != 0.5}


def _json(found: FoundThreshold, by: str) -> Mapping[str, Any]:
    return {
        "threshold": found.threshold,
        "by": by,
        "labels": found.labels,
        "rows": found.units,
        "balanced_accuracy": asdict(found.held_out),
        "at_half": asdict(found.at_half),
    }
