"""The area under the ROC curve (AUC): its interval, and whether scores have a larger one than baselines."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .formulas import TIE, Array, effective_units
from .labelled import Clusters, Places, cluster_numbers
from .paired import ALPHA, MOST_ROWS, POWER
from .ppi import LEAST_RARER

STEP = 1e-9  # at 0 and 1 the estimate is a root, too, and not the one that is wanted
LEVEL = 1 - ALPHA
FURTHER = 1 + NormalDist().inv_cdf(POWER) / NormalDist().inv_cdf(1 - ALPHA / 2)
"""How many half widths from 0 a difference must be so that it is shown with a chance of `POWER`."""
Word = Literal["does not beat", "not settled", "beats"]
WORDS: tuple[Word, ...] = ("does not beat", "not settled", "beats")  # the first that holds for a baseline decides


@dataclass(frozen=True)
class Area:
    """An AUC, or a difference of two, with its interval of 95 %; None: nothing is known of how sure it is."""

    value: float
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True)
class Baseline:
    """What is known of scores beside one baseline.

    Attributes:
        area: of the baseline.
        difference: the AUC of the scores less that of the baseline.
        more_labels: about so many more would show a difference like this with a chance of `POWER`; None: it is settled,
            or it cannot be told, as the difference is not above 0, or `MOST_ROWS` would not do.
    """

    area: Area
    difference: Area
    word: Word
    more_labels: int | None


@dataclass(frozen=True)
class BaselineVerdict:
    """Whether scores agree better with labels than each of several baselines.

    Attributes:
        labels: rows that count, whether they have a score or not.
        area: of the scores.
        decisive: name of the baseline with the first of `WORDS`; of several that which lacks most.
        word, more_labels: as in `Baseline`, of all together.
    """

    labels: int
    area: Area
    baselines: Mapping[str, Baseline]
    decisive: str
    word: Word
    more_labels: int | None


def compare_with_baselines(
    scores: ArrayLike,
    labels: ArrayLike,
    baselines: Mapping[str, ArrayLike],
    clusters: Clusters = None,
    weights: ArrayLike | None = None,
) -> BaselineVerdict | None:
    """Compare the AUC of scores with that of baselines, on the same rows; None where a baseline has no value at all, or
    all labels are equal.

    The AUC is the share of pairs of rows with different labels whose scores are in the same order; equal scores, and a
    pair with a missing score (NaN), count half. Of two labels it is the usual AUC, of grades the concordance.

    The interval of a difference is that of DeLong, DeLong and Clarke-Pearson (1988) for correlated areas, with the sums
    of each cluster in place of its rows (Obuchowski 1997): sum((sum of the row's influences)^2) k / (k - 1) is the
    variance, k the clusters of the smaller class (labels that are the most common one, or that are not). DeLong has a
    factor for each class; that of the smaller one is the larger. Quantiles are Student's with k - 1 degrees of freedom.
    An AUC of 0 or 1, whose rows show no variance, has that of `newcombe_interval`.
    Intervals of areas: `newcombe_interval`.

    Args:
        scores, baselines: higher for better labels. Rows without a label (NaN) do not count.
        clusters: rows of one cluster depend on each other; None: no rows do.
        weights: how many rows each one speaks for; None: all alike.
    """
    people = np.asarray(labels, dtype=np.float64)
    masses = np.ones(len(people)) if weights is None else np.asarray(weights, dtype=np.float64)
    counting = ~np.isnan(people) & (masses > 0)
    values = np.array([scores, *baselines.values()], dtype=np.float64)[:, counting]
    people = people[counting]
    if np.isnan(values[1:]).all(axis=1).any() or len(np.unique(people)) < 2:
        return None
    masses = masses[counting]
    members = cluster_numbers(clusters, len(counting))[counting]
    grades, counts = np.unique(people, return_counts=True)
    is_common = people == grades[np.argmax(counts)]
    units = [class_units(masses[side], members[side]) for side in (is_common, ~is_common)]
    fewest = min(len(np.unique(members[side])) for side in (is_common, ~is_common))
    shares, influences = zip(*(area_of(row, people, masses) for row in values), strict=True)
    areas = [Area(share, *newcombe_interval(share, units[0], units[1], LEVEL)) for share in shares]
    orders = [np.unique(row, return_inverse=True)[1] for row in values]
    against = {
        name: _against(areas[0], area, influences[0] - influence, members, fewest, np.array_equal(orders[0], order))
        for name, area, influence, order in zip(baselines, areas[1:], influences[1:], orders[1:], strict=True)
    }
    decisive = min(
        against, key=lambda name: (WORDS.index(against[name].word), -(against[name].more_labels or math.inf))
    )
    word = against[decisive].word
    return BaselineVerdict(len(people), areas[0], against, decisive, word, against[decisive].more_labels)


def area_of(values: Array, labels: Array, weights: Array) -> tuple[float, Array]:
    """The AUC of values, and how much each row moves it."""
    agreeing = np.zeros(len(values))
    others = np.zeros(len(values))
    for grade in np.unique(labels):
        mass = weights[labels == grade].sum()
        known = np.flatnonzero((labels == grade) & ~np.isnan(values))
        known = known[np.argsort(values[known], kind="stable")]
        sums = np.concatenate([[0.0], np.cumsum(weights[known])])
        less, at_most = (sums[np.searchsorted(values[known], values, side=side)] for side in ("left", "right"))
        below = np.where(np.isnan(values), 0.0, less + at_most - sums[-1])  # less what is above
        sign = np.sign(labels - grade)
        others += mass * sign**2
        agreeing += (mass * sign**2 + sign * below) / 2
    pairs = float(weights @ others)
    share = float(weights @ agreeing) / pairs
    return share, 2 * weights * (agreeing - share * others) / pairs


def error_without_error(area: Area) -> float:
    """The standard error of an AUC of 0 or 1, whose rows show none: from the one end of its interval; else 0."""
    if area.ci_low is None or area.ci_high is None or min(area.value, 1 - area.value) > TIE:
        return 0.0
    return (area.ci_high - area.ci_low) / NormalDist().inv_cdf((1 + LEVEL) / 2)


def _against(
    area: Area, baseline: Area, influences: Array, members: Places, fewest: int, is_same_order: bool
) -> Baseline:
    """What is known beside one baseline.

    Args:
        influences: of each row on the difference.
        fewest: k of the interval.
        is_same_order: whether both put all rows in the same order, so that their AUC is the same on any rows like
            these.
    """
    from scipy.special import stdtrit

    value = area.value - baseline.value
    if fewest < LEAST_RARER:
        return Baseline(baseline, Area(value, None, None), "not settled", None)
    variance = float(np.sum(np.bincount(members, weights=influences) ** 2)) * fewest / (fewest - 1)
    if not is_same_order:
        variance += error_without_error(area) ** 2 + error_without_error(baseline) ** 2
    half = float(stdtrit(fewest - 1, (1 + LEVEL) / 2)) * math.sqrt(variance)
    difference = Area(value, max(value - half, -1.0), min(value + half, 1.0))
    if value - half > TIE or value + half <= TIE:
        return Baseline(baseline, difference, "beats" if value > 0 else "does not beat", None)
    needed = len(members) * (FURTHER * half / value) ** 2 if value > TIE else math.inf
    more = math.ceil(needed) - len(members) if needed <= MOST_ROWS else None
    return Baseline(baseline, difference, "not settled", more)


def class_units(weights: Array, members: NDArray[np.int64]) -> float:
    """How many equal units the rows of a class are worth, as if those of a cluster said no more than one of them."""
    sums = np.bincount(np.unique(members, return_inverse=True)[1], weights=weights)
    return float(effective_units(sums / sums.sum()))


def newcombe_interval(value: float, positives: float, negatives: float, level: float = 0.95) -> tuple[float, float]:
    """Method 5 of Newcombe (2006, Statistics in Medicine 25, 559-573), which he recommends.

    The two values A that are z standard errors from the estimate, where the variance is that of Hanley and McNeil
    (1982) at A, for m and n rows of each class and with N* = (m + n)/2 - 1 in place of both m - 1 and n - 1:

        A (1 - A) [1 + N* (1 - A)/(2 - A) + N* A/(1 + A)] / (m n).

    Like Wilson's interval it has a width at 0 and at 1 and stays within [0, 1].
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    middle = max((positives + negatives) / 2 - 1, 0.0)
    square = float(ndtri((1 + level) / 2)) ** 2

    def beyond(area: float) -> float:
        factor = 1 + middle * (1 - area) / (2 - area) + middle * area / (1 + area)
        return float((value - area) ** 2 - square * area * (1 - area) * factor / (positives * negatives))

    low = brentq(beyond, 0.0, value - STEP) if value > STEP else 0.0
    high = brentq(beyond, value + STEP, 1.0) if value < 1 - STEP else 1.0
    return float(low), float(high)
