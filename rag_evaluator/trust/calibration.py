"""Whether a judge is right as often as its confidences say."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rag_evaluator.trust.estimate import Estimate
from rag_evaluator.trust.formulas import Array
from rag_evaluator.trust.intervals import PASS, mean_interval

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
    least: int = LEAST_LABELS,
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
        least: labels without which nothing is computed.
    """
    certain, hits = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.float64)
    masses = np.ones(len(certain)) if weights is None else np.asarray(weights, dtype=np.float64)
    if np.any((certain < 0) | (certain > 1)):
        raise ValueError("confidences must lie in [0, 1]")
    there = np.flatnonzero(~np.isnan(certain) & ~np.isnan(hits) & (masses > 0))
    if len(there) < least:
        reason = f"{len(there)} labels of verdicts with a confidence; {least} are needed"
        return Calibration(len(there), (), None, None, None, reason)
    order = there[np.lexsort((masses[there], hits[there], certain[there]))]
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
