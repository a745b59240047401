"""Refusals of runs: their difference, what it leaves of others, and their share where questions have an answer."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from rag_evaluator.config import find_language
from rag_evaluator.metrics import JUDGED, METRICS
from rag_evaluator.results import (
    REFUSED,
    Aligned,
    RefusalDifference,
    ScoredRows,
    align,
    common_metrics,
    counted,
    paired,
)
from rag_evaluator.statistics import PASS, Floats, Paired, Scale, difference_interval, mean_interval
from rag_evaluator.tasks import is_answerable

from .gate_verdicts import Measured

Labels = Sequence[str | None] | None  # of clusters


def refusal_difference(
    a: Aligned, b: Aligned, pairs: Iterable[Paired], labels: Labels, weights: Floats | None, level: float
) -> Iterator[RefusalDifference]:
    """Yield how much more often the second run refuses, and the differences where both answer; nothing where none does.

    Args:
        pairs: the scores of both, by metric.
        labels, weights: of each key.
    """
    shares = [_by_key(side) for side in (a, b)]
    if not np.nansum(shares):
        return
    both = (shares[0] == 0) & (shares[1] == 0)
    yield RefusalDifference(
        b.run.name,
        difference_interval(shares[1] - shares[0], PASS, level, labels, weights),
        int(np.count_nonzero(both)),
        {
            pair.metric: difference_interval(
                np.where(both, pair.b - pair.a, np.nan), pair.scale, level, labels, weights
            )
            for pair in pairs
            if is_about_responses(pair.metric)
        },
    )


def refusals_beside(
    baseline: ScoredRows,
    run: ScoredRows,
    scales: Mapping[str, Scale],
    on: str | None,
    cluster: str | None,
    level: float,
) -> Iterator[str]:
    """Yield the same in a sentence, for a run that is aligned with its baseline."""
    on, (a, b), _, labels, weights, _ = align([baseline, run], on, cluster)
    pairs = [paired(a, b, metric, scales[metric]) for metric in common_metrics(a, b, on)]
    for line in refusal_difference(a, b, pairs, labels, weights, level):
        yield line.words(run.name, baseline.name)


def is_about_responses(metric: str) -> bool:
    """Whether a refusal may have another score; of a metric of somebody's own it is not known, and taken so."""
    return metric not in METRICS or METRICS[metric].judges_response


def _by_key(side: Aligned) -> Floats:
    """The share of refusals among the rows of each key; NaN where there is no row."""
    refused = [bool(sample.row.get(REFUSED)) for sample in side.run.samples]
    rows = [side.rows(place) for place in range(len(side.keys))]
    return np.array([np.mean([refused[at] for at in own]) if own else np.nan for own in rows], np.float64)


def measured_refusals(run: ScoredRows, labels: Labels, level: float) -> Measured:
    """The share of refusals among rows whose questions can be answered; where nobody says which, among all rows."""
    language = find_language(run.config.get("language") or "english")
    refused = np.array([bool(sample.row.get(REFUSED)) for sample in run.samples], np.float64)
    right = np.asarray(run.scores.get(JUDGED, np.full(len(refused), np.nan)), np.float64)
    judged = [
        None if np.isnan(score) else (score == 1) != refuses for score, refuses in zip(right, refused, strict=True)
    ]
    known = [is_answerable(sample, language, can) for sample, can in zip(run.samples, judged, strict=True)]
    notes = ["all rows count: nobody says which questions can be answered"]
    if any(can is not None for can in known):
        asked = np.array([can is True for can in known])
        refused[~asked] = np.nan
        left_out = counted(int(np.count_nonzero(~asked)), "row")
        notes = [] if asked.all() else [f"{left_out} left out, whose question cannot be answered, or nobody says it"]
    return Measured(PASS._replace(better="lower"), mean_interval(refused, PASS, level, labels), 1.0, tuple(notes))
