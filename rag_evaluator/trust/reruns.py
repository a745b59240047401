"""The judge's own noise, from scores that were made several times: no part of an interval, but beside it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rag_evaluator.trust.scale import TIE


@dataclass(frozen=True)
class RerunNoise:
    """How much scores change when they are made again.

    Attributes:
        stderr_rerun: standard deviation that the mean of all rows would have over runs on the same rows with as many
            repeats. None if no row has two scores.
        icc: ICC(1,1), the share of the variance of single scores that is between rows: near 1 if a row's score stays,
            0 or below if repeats of a row differ as much as rows do. None if no row has two scores, or if rows do not
            vary.
        icc_mean: ICC(1,k), the same for the mean of a row's repeats.
    """

    stderr_rerun: float | None
    icc: float | None
    icc_mean: float | None


def row_means(scores: Sequence[Sequence[float | None]]) -> list[float]:
    """Mean of the valid repeats of each row; NaN if there are none."""
    return [_mean(row) for row in map(_valid, scores)]


def rerun_noise(scores: Sequence[Sequence[float | None]]) -> RerunNoise:
    """Analysis of variance with one random factor, the row (Shrout and Fleiss 1979, their case 1).

    With mean squares between and within rows, MSB and MSW, of n rows with k repeats: stderr_rerun = sqrt(MSW / (k n)),
    ICC(1,1) = (MSB - MSW) / (MSB + (k-1) MSW) and ICC(1,k) = (MSB - MSW) / MSB. For unequal repeats k_i with sum N, k
    is their harmonic mean in stderr_rerun, and n0 = (N - sum(k_i^2) / N) / (n-1) in ICC(1,1) (Donner 1986).

    Args:
        scores: the repeats of each row, in any order and number; NaN or None: missing. Rows without any are left out.
    """
    rows = [row for row in map(_valid, scores) if row]
    means, counts = [_mean(row) for row in rows], [len(row) for row in rows]
    free = sum(counts) - len(rows)
    if not free:
        return RerunNoise(None, None, None)
    squares = (math.fsum((score - mean) ** 2 for score in row) for row, mean in zip(rows, means, strict=True))
    within = math.fsum(squares) / free
    stderr = math.sqrt(within * math.fsum(1 / count for count in counts)) / len(rows)
    if max(means) - min(means) <= TIE:
        return RerunNoise(stderr, None, None)
    between = _between(means, counts)
    size = (sum(counts) - sum(count**2 for count in counts) / sum(counts)) / (len(rows) - 1)
    single = (between - within) / (between + (size - 1) * within)
    return RerunNoise(stderr, single, (between - within) / between)


def _between(means: Sequence[float], counts: Sequence[int]) -> float:
    pairs = list(zip(means, counts, strict=True))
    grand = math.fsum(mean * count for mean, count in pairs) / sum(counts)
    return math.fsum(count * (mean - grand) ** 2 for mean, count in pairs) / (len(pairs) - 1)


def _valid(row: Sequence[float | None]) -> list[float]:
    return [score for score in row if score is not None and not math.isnan(score)]


def _mean(row: Sequence[float]) -> float:
    return math.fsum(row) / len(row) if row else math.nan
