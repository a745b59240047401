"""Whether labels show that a judge is useful, and whether it is right as often as its confidences say."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rag_evaluator.features.certify.coefficients import (
    Coefficient,
    ScoredLabels,
    auc,
    class_units,
    concordance,
    newcombe_interval,
    pairs_of,
)
from rag_evaluator.statistics.formulas import Array, Estimate
from rag_evaluator.statistics.intervals import PASS, mean_interval

Word = Literal[
    "useful", "worse than chance", "weak", "better than chance, quality not settled", "not shown", "too few labels"
]
LEVEL = 0.95  # of the interval, whatever other figures have
GOOD, CHANCE = 0.70, 0.5
LEAST, LEAST_RARER = 20, 5  # labels, and labels of the rarer class
STEP = 0.005  # to which an AUC that is needed is rounded up
SAME_SCORES = "all scores are equal"


@dataclass(frozen=True)
class JudgeVerdict:
    """Whether a judge is `useful`: the only word that makes it a certified one.

    Attributes:
        reason: the AUC with its interval, or what is lacking; for the other words what would settle it.
    """

    word: Word
    reason: str


def judge_verdict(
    scores: ArrayLike,
    labels: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    weights: ArrayLike | None = None,
    graded: bool = False,
    better: Literal["higher", "lower"] = "higher",
) -> JudgeVerdict:
    """`useful` if the low end of the interval is at least 0.70, `worse than chance` if the high end is below 0.5.

    `weak`: the low end above 0.5 and the high end below 0.70; `better than chance, quality not settled`: the low end
    above 0.5 otherwise; else `not shown`. With fewer than `LEAST` labels, or `LEAST_RARER` of the rarer class,
    `too few labels`. Labels of one class, and scores that are all equal, show nothing. Kappa moves with the share of
    labels that are 1, and decides nothing.

    Args:
        scores: higher for what people accept, turned where lower is better. NaN: none.
        labels: 0 or 1, or grades; NaN: none.
        clusters, weights: as in `binary_agreement`.
        graded: whether labels are grades. The AUC is then the `concordance`, and the rarer class is that of all grades
            but the most frequent one.
        better: which end of the metric's own scores is the better one; for the advice which rows to draw.
    """
    rows = pairs_of(scores, labels, clusters, weights)
    counts = np.unique(rows.labels, return_counts=True)[1]
    rarer = int(len(rows.labels) - counts.max(initial=0))
    if len(rows.labels) < LEAST:
        return JudgeVerdict("too few labels", _too_few(rows.labels, rarer))
    if not rarer:
        return JudgeVerdict("not shown", _of_one_class(rows.labels[0], graded, better))
    if np.ptp(rows.scores) == 0:
        return JudgeVerdict("not shown", SAME_SCORES)
    if rarer < LEAST_RARER:
        return JudgeVerdict("too few labels", _too_few(rows.labels, rarer))
    area = concordance(rows, LEVEL) if graded else auc(rows, LEVEL)
    assert area.ci_low is not None and area.ci_high is not None
    word = _word(area.ci_low, area.ci_high)
    return JudgeVerdict(word, _figures(area, graded) + ("" if graded else _to_settle(word, rows)))


def _word(low: float, high: float) -> Word:
    if low >= GOOD:
        return "useful"
    if high < CHANCE:
        return "worse than chance"
    if low <= CHANCE:
        return "not shown"
    return "weak" if high < GOOD else "better than chance, quality not settled"


def needed_auc(accepted: float, rejected: float) -> float | None:
    """The smallest AUC that so many labels of each class show to be `useful`, rounded up; None: not even an AUC of 1.

    It comes from the interval itself: `newcombe_interval`.
    """
    from scipy.optimize import brentq

    def lacking(value: float) -> float:
        return newcombe_interval(value, accepted, rejected, LEVEL)[0] - GOOD

    if lacking(1.0) < 0:
        return None
    return math.ceil(float(brentq(lacking, GOOD, 1.0)) / STEP - 1e-9) * STEP


def _figures(area: Coefficient, graded: bool) -> str:
    name = "concordance" if graded else "AUC"
    return f"{name} {area.value:.3f} [{area.ci_low:.3f}, {area.ci_high:.3f}]"


def _to_settle(word: Word, rows: ScoredLabels) -> str:
    """The AUC that would be enough with these labels, where that is the question."""
    if word not in ("not shown", "better than chance, quality not settled"):
        return ""
    needed = needed_auc(*class_units(rows))
    if needed is None:
        return "; no AUC is enough for 'useful' with so many labels"
    return f"; 'useful' needs an AUC of {needed:.3f} with so many labels"


def _of_one_class(label: float, graded: bool, better: Literal["higher", "lower"]) -> str:
    if graded:
        return "people gave every row the same label; draw rows with other scores"
    low, high = ("low", "high") if better == "higher" else ("high", "low")
    if label == 1:
        return f"nobody rejected anything; draw rows with {low} scores"
    return f"nobody accepted anything; draw rows with {high} scores"


def _too_few(labels: Array, rarer: int) -> str:
    """How many labels there are, and how many are needed."""
    count = len(labels)
    if count < LEAST:
        return f"{count} label{'' if count == 1 else 's'}, {LEAST} are needed, {LEAST_RARER} of them of the rarer class"
    total = math.ceil(LEAST_RARER * count / rarer)
    values, counts = np.unique(labels, return_counts=True)
    most = values[counts.argmax()]
    return f"{rarer} of {count} labels are not {most:g}, {LEAST_RARER} are needed: about {total} labels like these"


def fill_in(blank: int) -> str:
    """What to do about drawn rows without a label."""
    rows = "row that is" if blank == 1 else f"{blank:,} rows that are"
    return f"Fill in the {rows} blank, then give the same command."


LEAST_LABELS = 100


BINS, SIMULATIONS = 10, 2_000


class Bin(NamedTuple):
    """Verdicts of similar confidence.

    Attributes:
        low, high: the lowest and the highest confidence among them.
        confidence: their mean confidence.
        right: the share that is right, with its interval.
    """

    low: float
    high: float
    confidence: float
    right: Estimate


@dataclass(frozen=True)
class Calibration:
    """A reliability curve, and how far it is from the diagonal.

    Attributes:
        n: verdicts with a confidence and a label.
        bins: the curve, from low to high confidence; empty if there are too few labels.
        error: expected calibration error in [0, 1], 0 is best; None if there are too few labels.
        expected, highest: mean and 95 % quantile of the error of a judge that is right exactly as often as its
            confidences say, with these confidences and this n. An error above `highest` is more than chance.
        reason: why there are no figures; None if there are.
    """

    n: int
    bins: tuple[Bin, ...]
    error: float | None
    expected: float | None
    highest: float | None
    reason: str | None


def calibration(
    confidences: ArrayLike,
    right: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    weights: ArrayLike | None = None,
    seed: int = 0,
) -> Calibration:
    """Reliability curve in bins of equal mass, and the expected calibration error (Naeini, Cooper and Hauskrecht 2015).

    The error is sum_b share_b |right_b - confidence_b| over bins b. It is above 0 for every judge, because each bin has
    its chance; so the same is computed for `SIMULATIONS` seeded sets of labels that are right with exactly the
    probabilities of the confidences (the consistency resampling of Broecker and Smith 2007).

    Args:
        confidences: the judge's probability, in [0, 1], that its verdict is right; NaN: none.
        right: 1 if the verdict is that of the label, else 0; NaN: no label.
        clusters: rows of one cluster depend on each other. That widens the intervals of the bins; the simulated labels
            are independent, so that `highest` is then too low.
        weights: how many rows each one speaks for; of stratified draws 1/probability.
    """
    certain, hits = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.float64)
    masses = np.ones(len(certain)) if weights is None else np.asarray(weights, dtype=np.float64)
    if np.any((certain < 0) | (certain > 1)):
        raise ValueError("confidences must lie in [0, 1]")
    rows = np.flatnonzero(~np.isnan(certain) & ~np.isnan(hits) & (masses > 0))
    if len(rows) < LEAST_LABELS:
        reason = f"{len(rows)} labels of verdicts with a confidence; {LEAST_LABELS} are needed"
        return Calibration(len(rows), (), None, None, None, reason)
    order = rows[np.lexsort((masses[rows], hits[rows], certain[rows]))]
    labels = None if clusters is None else [clusters[place] for place in order]
    certain, hits, masses = certain[order], hits[order], masses[order]
    starts = _starts(certain)
    random = np.random.default_rng(seed).random((SIMULATIONS, len(certain))) < certain
    errors = _error(certain, random.astype(np.float64), masses, starts)
    return Calibration(
        n=len(certain),
        bins=tuple(_bins(certain, hits, masses, labels, starts)),
        error=float(_error(certain, hits, masses, starts)),
        expected=float(errors.mean()),
        highest=float(np.quantile(errors, 0.95)),
        reason=None,
    )


def _starts(certain: Array) -> list[int]:
    """Where each bin begins: `BINS` of equal numbers, but equal confidences stay together."""
    ideal = [len(certain) * part // BINS for part in range(BINS)]
    return sorted({int(np.searchsorted(certain, certain[place])) for place in ideal})


def _error(certain: Array, hits: Array, masses: Array, starts: list[int]) -> Array:
    """Of one set of labels, or of many. *Shape:* hits (..., n) -> (...)."""
    gaps = np.add.reduceat(masses * (hits - certain), starts, axis=-1)
    return np.asarray(np.abs(gaps).sum(axis=-1) / masses.sum())


def _bins(certain: Array, hits: Array, masses: Array, labels: list[Hashable] | None, starts: list[int]) -> list[Bin]:
    ends = [*starts[1:], len(certain)]
    return [
        Bin(
            low=float(certain[first]),
            high=float(certain[last - 1]),
            confidence=float(np.average(certain[first:last], weights=masses[first:last])),
            right=mean_interval(
                hits[first:last], PASS, clusters=labels and labels[first:last], weights=masses[first:last]
            ),
        )
        for first, last in zip(starts, ends, strict=True)
    ]
