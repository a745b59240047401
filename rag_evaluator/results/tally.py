"""The rows of a run as numbers: scores and clusters."""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.dataset import Sample
from rag_evaluator.files import Json
from rag_evaluator.statistics import Scale

from .overview import Figures, counted
from .rows import PROBABILITIES
from .summary import Clusters, cluster_of, reporting_of

Floats = NDArray[np.float64]
NOTABLE = 0.01  # share of rows that may repeat another before it is said
REPEATED = ("user_input", "retrieved_contexts", "response")


@dataclass(frozen=True, eq=False)
class Tally:
    """The rows of a run as numbers, with its manifest and summary.

    Attributes:
        scores: metric -> a number per row, NaN where it is missing.
        scales: see `scales_of`.
        clusters: of the rows; None: rows do not depend on each other.
        level: of intervals.
        repeats: see `repeated_rows`.
        means: metric whose scores are shares of sentences -> the mean probability of each row's sentences, by which
            rows are ranked; NaN where there is none.
    """

    manifest: Json
    summary: Mapping[str, Figures]
    scores: Mapping[str, Floats]
    scales: Mapping[str, Scale]
    clusters: Clusters | None
    level: float
    repeats: str
    means: Mapping[str, Floats]


def tally_of(
    manifest: Json,
    summary: Mapping[str, Figures],
    scores: Mapping[str, Sequence[float]],
    samples: Sequence[Sample],
    probabilities: Iterable[Mapping[str, Json]],
) -> Tally:
    """The tally of rows; of their texts only a hash is kept, so that a million rows fit.

    Args:
        probabilities: of each row, see `row_probabilities`.
    """
    reporting = reporting_of(manifest)
    clusters = [cluster_of(sample, reporting) for sample in samples]
    scales = scales_of(manifest, summary)
    shares = [metric for metric, row in summary.items() if PROBABILITIES in row and scales[metric].kind != "continuous"]
    means = {metric: array("d") for metric in shares}
    for row in probabilities if shares else ():
        for metric, values in means.items():
            values.append(row.get(metric, {}).get("mean", math.nan))
    return Tally(
        manifest,
        summary,
        {metric: np.array(values, np.float64) for metric, values in scores.items()},
        scales,
        clusters if reporting.cluster else None,
        reporting.ci_level,
        repeated_rows(samples, clusters, ""),
        {metric: np.array(values) for metric, values in means.items()},
    )


def repeated_rows(samples: Sequence[Sample], clusters: Clusters | None, of: str) -> str:
    """The words about rows that intervals count as independent, and that repeat earlier ones; empty: hardly any do.

    Args:
        clusters: in which the rows are; a row of none, None, is in one of its own.
        of: the run, ` of results/demo`.
    """
    texts = array("q")
    apart = array("q")
    for place, (sample, cluster) in enumerate(zip(samples, clusters or [None] * len(samples), strict=True)):
        if sample.columns.get(REPEATED[0]) is not None:  # a row without a question is no repeat
            text = repr([sample.columns.get(name) for name in REPEATED])
            texts.append(hash(text))
            apart.append(hash((text, place if cluster is None else cluster)))
    count = len(np.unique(apart)) - len(np.unique(texts))
    if not count or count < NOTABLE * len(samples):
        return ""
    return (
        f"{count:,} of {counted(len(samples), 'row')}{of} {'has' if count == 1 else 'have'} the question, contexts and "
        "response of an earlier row, and intervals count them as independent: put them together with a cluster, such "
        "as cluster: question"
    )


def scales_of(manifest: Json, summary: Mapping[str, Figures]) -> dict[str, Scale]:
    """The scale of each metric; one that no manifest describes, as those of old versions, is taken for 0 to 1."""
    known = reporting_of(manifest).scales
    return {metric: known.get(metric, Scale()) for metric in summary}
