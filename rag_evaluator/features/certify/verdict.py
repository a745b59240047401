"""Whether labels show that a judge is useful, and whether it is right as often as its confidences say."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rag_evaluator.features.certify.coefficients import Coefficient, auc, concordance, pairs_of
from rag_evaluator.statistics.formulas import Array, Estimate
from rag_evaluator.statistics.intervals import PASS, mean_interval

Word = Literal[
    "useful", "worse than chance", "weak", "better than chance, quality not settled", "not shown", "too few labels"
]
LEVEL = 0.95  # of the interval, whatever other figures have
GOOD, CHANCE = 0.70, 0.5
LEAST, LEAST_RARER = 20, 5  # labels, and labels of the rarer class
SAME_SCORES = "all scores are equal"
SAME_LABELS = "people gave every row the same label; draw rows with other scores"


@dataclass(frozen=True)
class JudgeVerdict:
    """Whether a judge is `useful`: the only word that makes it a certified one.

    Attributes:
        reason: the AUC with its interval, or what is lacking.
    """

    word: Word
    reason: str


def judge_verdict(
    scores: ArrayLike,
    labels: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    weights: ArrayLike | None = None,
    graded: bool = False,
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
    """
    rows = pairs_of(scores, labels, clusters, weights)
    count = len(rows.labels)
    rarer = int(count - np.unique(rows.labels, return_counts=True)[1].max(initial=0))
    if count >= LEAST and not rarer:
        return JudgeVerdict("not shown", SAME_LABELS)
    if count >= LEAST and np.ptp(rows.scores) == 0:
        return JudgeVerdict("not shown", SAME_SCORES)
    if count < LEAST or rarer < LEAST_RARER:
        lacking = f"{count} labels, {rarer} of the rarer class; {LEAST} are needed, {LEAST_RARER} of the rarer class"
        return JudgeVerdict("too few labels", lacking)
    area = concordance(rows, LEVEL) if graded else auc(rows, LEVEL)
    name = "concordance" if graded else "AUC"
    return JudgeVerdict(_word(area), f"{name} {area.value:.3f} [{area.ci_low:.3f}, {area.ci_high:.3f}]")


def _word(area: Coefficient) -> Word:
    assert area.ci_low is not None and area.ci_high is not None
    if area.ci_low >= GOOD:
        return "useful"
    if area.ci_high < CHANCE:
        return "worse than chance"
    if area.ci_low <= CHANCE:
        return "not shown"
    return "weak" if area.ci_high < GOOD else "better than chance, quality not settled"


def fill_in(blank: int) -> str:
    """What to do about drawn rows without a label."""
    rows = "row that is" if blank == 1 else f"{blank:,} rows that are"
    return f"Fill in the {rows} blank, then give the same command."


LEAST_LABELS = 100  # for a calibration
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
    ideal = [len(certain) * part // BINS for part in range(BINS)]  # of equal numbers, but equal confidences together
    starts = sorted({int(np.searchsorted(certain, certain[place])) for place in ideal})

    def errors_of(outcomes: Array) -> Array:
        """*Shape:* (..., n) -> (...)."""
        gaps = np.add.reduceat(masses * (outcomes - certain), starts, axis=-1)
        return np.asarray(np.abs(gaps).sum(axis=-1) / masses.sum())

    random = np.random.default_rng(seed).random((SIMULATIONS, len(certain))) < certain
    errors = errors_of(random.astype(np.float64))
    places = [slice(*ends) for ends in zip(starts, [*starts[1:], len(certain)], strict=True)]
    bins = tuple(
        Bin(
            low=float(certain[part][0]),
            high=float(certain[part][-1]),
            confidence=float(np.average(certain[part], weights=masses[part])),
            right=mean_interval(hits[part], PASS, clusters=labels and labels[part], weights=masses[part]),
        )
        for part in places
    )
    highest = float(np.quantile(errors, 0.95))
    return Calibration(len(certain), bins, float(errors_of(hits)), float(errors.mean()), highest, None)
