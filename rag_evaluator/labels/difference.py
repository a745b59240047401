"""The difference between two runs by people's labels, from rows that have a label in both."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rag_evaluator.results.aligned import Aligned
from rag_evaluator.results.comparison import LabelDifference
from rag_evaluator.results.kept_labels import KeptLabels, kept_labels
from rag_evaluator.results.matching import keys_of
from rag_evaluator.results.reporting import reporting_of, unit_of
from rag_evaluator.results.saved import run_weights
from rag_evaluator.trust.counted_labels import with_clusters, with_weights
from rag_evaluator.trust.formulas import Array
from rag_evaluator.trust.ppi import LabelMean, label_difference
from rag_evaluator.trust.scale import Scale


def labelled_differences(
    a: Aligned, b: Aligned, level: float, cluster: str | None = None, weight: str | None = None
) -> Iterator[LabelDifference]:
    """For each metric with labels in both runs the mean label of the second minus that of the first.

    Rows whose key is there twice in a run are left out. `cluster` and `weight` are columns of the first run.
    """
    first, second = kept_labels(a.run.folder), kept_labels(b.run.folder)
    places = [place for place in range(len(a.keys)) if len(a.rows(place)) == len(b.rows(place)) == 1]
    rows = [[side.rows(place)[0] for place in places] for side in (a, b)]
    counts = np.asarray(run_weights(a.run, weight), np.float64)[rows[0]] if weight else None
    clusters = keys_of([a.run.samples[row] for row in rows[0]], cluster) if cluster else None
    reporting = replace(reporting_of(a.run.manifest), cluster=cluster)
    units = [unit_of(a.run.samples[row], reporting) for row in rows[0]]
    for metric in first:
        if metric in second:
            pair = first[metric], second[metric]
            yield _difference(b.run.name, metric, pair, rows, units, level, clusters, counts)


def _difference(
    run: str,
    metric: str,
    pair: tuple[KeptLabels, KeptLabels],
    rows: Sequence[Sequence[int]],
    units: Sequence[str],
    level: float,
    clusters: Sequence[str | None] | None,
    counts: Array | None,
) -> LabelDifference:
    a, b = pair
    labels = tuple(_of(kept.labels, own) for kept, own in zip((a, b), rows, strict=True))
    both = int(np.count_nonzero(~np.isnan(labels[0] + labels[1])))
    reason = _reason(a, b)
    if reason:
        return LabelDifference(run, metric, both, None, reason)
    scores = tuple(_of(kept.scores, own) for kept, own in zip((a, b), rows, strict=True))
    drawn, own = (a, rows[0]) if a.draw is not None else (b, rows[1])
    design: dict[str, Any] = {}
    if drawn.probabilities is not None and drawn.strata is not None and drawn.drawn is not None:
        design = {
            "probabilities": [drawn.probabilities[row] for row in own],
            "strata": [drawn.strata[row] for row in own],
            "drawn": [drawn.drawn[row] for row in own],
        }
    wide = Scale(a.low - a.high, a.high - a.low)
    gains, changes = labels[1] - labels[0], scores[1] - scores[0]
    kept = np.where(design.get("drawn", True), gains, np.nan)

    def estimate(changes: Array, gains: Array, scale: Scale) -> LabelMean:
        """Of differences alone, each as two sides of which the worse one is 0."""
        judged, given = ((np.maximum(-values, 0), np.maximum(values, 0)) for values in (changes, gains))
        most = Scale(0.0, max(-scale.low, scale.high))
        return label_difference(judged, given, most, **design, level=level, units=units, plain_labels=kept)

    figures = with_weights(estimate, changes, kept, wide, counts)
    chances = None if "probabilities" not in design else np.asarray(design["probabilities"])
    figures = with_clusters(figures, changes, kept, wide, clusters, counts, chances)
    return LabelDifference(run, metric, both, figures, None)


def _reason(a: KeptLabels, b: KeptLabels) -> str | None:
    """Why the labels of two runs say nothing of their difference; None if they do."""
    if (a.low, a.high) != (b.low, b.high):
        return f"labels go from {a.low:g} to {a.high:g} in one run, from {b.low:g} to {b.high:g} in the other"
    if a.draw is not None and b.draw is not None and (a.like or a.draw) != (b.like or b.draw):
        return "their rows were drawn separately: 'certify sheet --like' draws the rows of another run"
    if "unknown" in (a.chosen, b.chosen):
        return "how the labelled rows were chosen is not known"
    return None


def _of(values: Sequence[float | None], rows: Sequence[int]) -> Array:
    return np.array([np.nan if values[row] is None else values[row] for row in rows], dtype=np.float64)
