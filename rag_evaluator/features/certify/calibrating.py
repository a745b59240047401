"""Calibration: weights of a judge's probability and of counted words by labels of sentences, and what they are worth.

The weights are shrunk towards a combination that needs no labels: beside the labelled sentences `PSEUDO` of its own
verdicts count, spread over the same sentences (a catalytic prior, Huang, Stein, Rubin and Kou 2020), after its
intercept was fitted to the share of supported ones. So few labels move the share, many also the weights.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from rag_evaluator.config import find_language
from rag_evaluator.dataset import Sample, as_key
from rag_evaluator.errors import DatasetError
from rag_evaluator.files import Json, JsonDict, short_digest
from rag_evaluator.metrics import METRICS
from rag_evaluator.prompts import ENGLISH
from rag_evaluator.results import PROGRAM, ScoredRows, verified
from rag_evaluator.statistics import Array, cluster_numbers, dealt, label_auc, pairs_of
from rag_evaluator.verifiers import UNLABELLED, Combination, calibrated_parts, logit, shares_of_words

from .table import LabelTable
from .thresholds import labelled_sentences
from .verdict import LEAST_RARER

PSEUDO = 40.0  # sentences
BINS = 5  # of a reliability diagram
FAR = 50.0  # log-odds, beyond which no intercept is looked for


class LabelledFigures(NamedTuple):
    """Labelled sentences with both figures.

    Attributes:
        figures: (sentences, 2): log-odds of the judge's probability, share of words.
        labels: 1 where people call the sentence supported, else 0.
        weights: how many sentences each one speaks for, above 0.
        clusters: sentences of one depend on each other.
    """

    figures: Array
    labels: Array
    weights: Array
    clusters: Sequence[Hashable]

    @classmethod
    def of(
        cls,
        judged: Sequence[float],
        shares: Sequence[float],
        labels: Sequence[int],
        clusters: Sequence[Hashable],
        weights: Sequence[float] | None = None,
    ) -> "LabelledFigures":
        """From probabilities and shares; without weights all count alike."""
        figures = np.array([[logit(probability), share] for probability, share in zip(judged, shares, strict=True)])
        return cls(figures, np.array(labels), np.ones(len(labels)) if weights is None else np.array(weights), clusters)

    def part(self, places: NDArray[np.intp]) -> "LabelledFigures":
        """Those at some places."""
        return LabelledFigures(
            self.figures[places], self.labels[places], self.weights[places], [self.clusters[at] for at in places]
        )

    @property
    def rarer(self) -> int:
        """Labels of the rarer class."""
        return int(min(self.labels.sum(), len(self.labels) - self.labels.sum()))


def fitted(rows: LabelledFigures, prior: Combination) -> Combination:
    """Return the weights by labels, shrunk towards `prior`; both classes must be there."""
    masses = rows.weights * len(rows.weights) / rows.weights.sum()
    odds = rows.figures @ np.array([prior.judge, prior.words]) + prior.intercept
    moved = brentq(lambda by: float(np.sum(masses * (expit(odds + by) - rows.labels))), -FAR, FAR)
    expected = expit(odds + moved)
    pseudo = masses * PSEUDO / len(masses)
    model = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000)
    model.fit(
        np.vstack([rows.figures] * 3),
        np.concatenate([rows.labels, np.ones(len(masses)), np.zeros(len(masses))]),
        np.concatenate([masses, pseudo * expected, pseudo * (1 - expected)]),
    )
    judge, words = model.coef_[0].tolist()
    return Combination(float(model.intercept_[0]), judge, words)


def predicted(rows: LabelledFigures, combination: Combination) -> Array:
    """Return the probability of each sentence, (sentences,)."""
    weights = np.array([combination.judge, combination.words])
    return np.asarray(expit(rows.figures @ weights + combination.intercept), np.float64)


def cross_fitted(rows: LabelledFigures, prior: Combination) -> Array:
    """Return the probability of each sentence by the labels of other clusters."""
    dealing = dealt(cluster_numbers(rows.clusters, len(rows.labels)))
    made = np.empty(len(rows.labels))
    for fold in np.unique(dealing):
        inside = np.flatnonzero(dealing == fold)
        outside = rows.part(np.flatnonzero(dealing != fold))
        by = fitted(outside, prior) if outside.rarer else prior
        made[inside] = predicted(rows.part(inside), by)
    return made


def calibration_of(
    run: ScoredRows, metric: str, table: LabelTable, records: Mapping[int, Sequence[Json]], level: float
) -> JsonDict:
    """Return the content of `calibration.json`: weights, what they are for, and what they are worth on held-out labels.

    Args:
        records: row -> its details of the metric, one for each repeat; of several the first counts.
        level: of intervals.

    Raises `DatasetError` where labels are too few, or none is of a sentence with a probability.
    """
    known = sentences_of(records)
    labels, units, weights = labelled_sentences(run, table, known)
    rarer = min(sum(labels.values()), len(labels) - sum(labels.values()))
    if rarer < LEAST_RARER:
        raise DatasetError(
            f"--calibrate: {metric} has {len(labels)} labelled sentences, {rarer} of the rarer kind, and needs "
            f"{LEAST_RARER} of each: label more, or take verifier.combine: words, which needs none."
        )
    language = find_language(run.config.get("language") or ENGLISH).name
    shares = [shares_of_words([text], contexts_of(run.samples[row], metric), language)[0] for row, text in labels]
    judged = [known[key].get("judged", known[key]["probability"]) for key in labels]
    rows = LabelledFigures.of(judged, shares, list(labels.values()), units, weights)
    prior = Combination(
        **next((row["combination"] for row in known.values() if row.get("combination")), asdict(UNLABELLED))
    )
    held_out = cross_fitted(rows, prior)
    before = expit(rows.figures[:, 0])
    supported = float(np.average(rows.labels, weights=rows.weights))
    signature = (run.manifest.get("signatures") or {}).get(metric, "")
    return {
        "program": PROGRAM,
        "metric": metric,
        "combination": asdict(fitted(rows, prior)),
        "signature": calibrated_parts(signature),
        "labels": len(rows.labels),
        "supported": supported,
        "clusters": sorted({short_digest(unit) for unit in units}),
        "held_out": {
            "calibration_error": calibration_error(held_out, rows.labels, rows.weights),
            "calibration_error_before": calibration_error(before, rows.labels, rows.weights),
            "auc": asdict(label_auc(pairs_of(held_out, rows.labels, units, rows.weights), level)),
            "auc_before": asdict(label_auc(pairs_of(before, rows.labels, units, rows.weights), level)),
            "reliability": reliability(held_out, rows.labels, rows.weights),
            "reliability_before": reliability(before, rows.labels, rows.weights),
        },
    }


def sentences_of(records: Mapping[int, Sequence[Json]]) -> dict[tuple[int, str], Json]:
    """Return what was said of each sentence, by row and text, with the row's `combination` where it has one."""
    known: dict[tuple[int, str], Json] = {}
    for row, lines in records.items():
        said = verified(lines[0].get("judgements") or ()) if lines else {}
        for sentence in said.get("sentences", ()):
            if text := as_key(sentence["statement"]):
                known[row, text] = {**sentence, "combination": said.get("combination")}
    return known


def contexts_of(sample: Sample, metric: str) -> list[str]:
    """Return the evidence of a metric of sentences in a row."""
    value = sample.value(METRICS[metric].columns[0])
    return [value] if isinstance(value, str) else list(value)


def reliability(probabilities: Array, labels: Array, weights: Array) -> list[JsonDict]:
    """Return the lines of a reliability diagram: mean probability and share of supported sentences of `BINS` parts of
    about as many sentences."""
    lines = []
    for places in np.array_split(np.argsort(probabilities, kind="stable"), BINS):
        if len(places):
            mean, share = (float(np.average(side[places], weights=weights[places])) for side in (probabilities, labels))
            lines.append({"sentences": len(places), "probability": mean, "supported": share})
    return lines


def calibration_error(probabilities: Array, labels: Array, weights: Array) -> float:
    """Return the mean distance of probability and share in a reliability diagram (Naeini et al. 2015), [0, 1]."""
    lines = reliability(probabilities, labels, weights)
    total = sum(line["sentences"] for line in lines)
    return float(sum(line["sentences"] * abs(line["probability"] - line["supported"]) for line in lines) / total)
