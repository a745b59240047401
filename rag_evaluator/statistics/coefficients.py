"""Agreement of scores with labels as one number with its interval: AUC, concordance, rank correlation, kappa."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .auc import class_units, newcombe_interval
from .formulas import Array, effective_units
from .labelled import cluster_numbers

DRAWS = 2_000
AT_ONCE = 4_000_000  # weights in memory at once
PSEUDO = 0.5  # weight of a pseudo-row, in effective rows
METHOD = "bayesian-bootstrap-pseudo-rows"
NEWCOMBE = "newcombe-method-5"
Statistic = Callable[[Array], Array]


class ScoredLabels(NamedTuple):
    """Rows with a score and a label; none is missing.

    Attributes:
        weights: how many rows each one speaks for, above 0.
        clusters: rows of one cluster depend on each other; None: no rows do.
    """

    scores: Array
    labels: Array
    weights: Array
    clusters: Sequence[Hashable] | None = None


def pairs_of(
    scores: ArrayLike,
    labels: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    weights: ArrayLike | None = None,
) -> ScoredLabels:
    """Rows with score and label, sorted by these and by weight, so that figures do not depend on the order of rows."""
    judged = np.asarray(scores, dtype=np.float64)
    people = np.asarray(labels, dtype=np.float64)
    masses = np.ones(len(judged)) if weights is None else np.asarray(weights, dtype=np.float64)
    has_both = ~np.isnan(judged) & ~np.isnan(people) & (masses > 0)
    last = np.unique([str(name) for name in clusters], return_inverse=True)[1] if clusters else masses
    order = [place for place in np.lexsort((last, masses, people, judged)) if has_both[place]]
    labels_of = None if clusters is None else [clusters[place] for place in order]
    return ScoredLabels(judged[order], people[order], masses[order], labels_of)


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of agreement or correlation.

    Attributes:
        value: None where it is undefined.
        ci_low, ci_high: its interval; None where it is undefined.
        ci_level: nominal coverage, such as 0.95.
        ci_method: name of the method, or why there is no value.
    """

    value: float | None
    ci_low: float | None
    ci_high: float | None
    ci_level: float
    ci_method: str


def undefined(reason: str, level: float) -> Coefficient:
    """No value, and why."""
    return Coefficient(None, None, None, level, f"none: {reason}")


def bootstrap_interval(statistic: Statistic, rows: ScoredLabels, level: float, seed: int = 0) -> Coefficient:
    """Percentile interval of a coefficient over random weights of rows, or of clusters (Rubin 1981).

    Each row (each cluster) counts with an exponential random number times its weight. Unlike rows drawn with
    replacement no draw loses a class, so that the coefficient is always defined. The bootstrap alone would give full
    agreement an interval of zero width. So for the lower end the draws, not the coefficient itself, have two more rows
    of the greatest disagreement, and for the upper end two of the greatest agreement. Each has the weight of `PSEUDO`
    effective rows: a Gamma random number of that shape, as the Dirichlet prior of Jeffreys has for cells that were
    never seen. (With the rows of disagreement for both ends the upper one was too low: of 30 graded labels that follow
    the scores closely, a quadratic kappa was covered in 0.7 of simulations instead of 0.95.) The interval is stretched
    to the coefficient if it does not contain it.

    Args:
        statistic: coefficients for many sets of weights. *Shape:* (draws, rows + 4) -> (draws,); the last columns are
            two rows of disagreement and two of agreement (see `with_pseudo_rows`).
        level, seed: nominal coverage, and seed of the random weights.
    """
    rng = np.random.default_rng(seed)
    weights = rows.weights
    members = cluster_numbers(rows.clusters, len(weights))
    units = effective_units(np.bincount(members, weights=weights) / weights.sum())
    value = float(statistic(np.concatenate([weights, np.zeros(4)])[None, :])[0])
    lows = []
    highs = []
    size = max(AT_ONCE // len(weights), 1)
    for start in range(0, DRAWS, size):
        draws = min(size, DRAWS - start)
        random = rng.exponential(size=(draws, members.max() + 1))[:, members] * weights
        extra = rng.gamma(PSEUDO, size=(draws, 2)) * weights.sum() / units
        none = np.zeros((draws, 2))
        lows.append(statistic(np.concatenate([random, extra, none], axis=1)))
        highs.append(statistic(np.concatenate([random, none, extra], axis=1)))
    low = float(np.quantile(np.concatenate(lows), (1 - level) / 2))
    high = float(np.quantile(np.concatenate(highs), (1 + level) / 2))
    return Coefficient(value, min(low, value), max(high, value), level, METHOD)


def with_pseudo_rows(first: Array, second: Array) -> tuple[Array, Array]:
    """The values of rows and of the pseudo-rows: (lowest, highest), (highest, lowest), both lowest, both highest."""
    low = first.min()
    high = first.max()
    other_low = second.min()
    other_high = second.max()
    return np.append(first, [low, high, low, high]), np.append(second, [other_high, other_low, other_low, other_high])


def spearman(rows: ScoredLabels, level: float = 0.95, seed: int = 0) -> Coefficient:
    """Pearson's correlation of mean ranks, in [-1, 1] (Spearman 1904); a row of weight 2 has the rank of two rows.

    Interval: `bootstrap_interval`; the pseudo-rows are the lowest score with the highest label, and the reverse.
    """
    if reason := _all_equal(rows, "labels", "scores"):
        return undefined(reason, level)
    sides = [_mean_ranks(values) for values in with_pseudo_rows(rows.scores, rows.labels)]

    def correlations(weights: Array) -> Array:
        total = weights.sum(axis=-1, keepdims=True)
        x, y = (ranks(weights) - total / 2 for ranks in sides)  # the weighted mean of ranks is half of the total
        both, first, second = (np.sum(weights * left * right, axis=-1) for left, right in ((x, y), (x, x), (y, y)))
        return np.asarray(both / np.sqrt(first * second))

    return bootstrap_interval(correlations, rows, level, seed)


def concordance(rows: ScoredLabels, level: float = 0.95) -> Coefficient:
    """Of pairs of rows with different labels the share whose scores are in the same order; equal scores count half.

    In [0, 1], 0.5 is chance: (1 + d) / 2 with the d of Somers (1962). For labels of two values it is the AUC. A pair
    counts with the product of the weights. Interval: as of `spearman`.
    """
    if reason := _all_equal(rows, "labels"):
        return undefined(reason, level)
    values = np.stack(with_pseudo_rows(rows.scores, rows.labels))
    joined, groups = np.unique(values, axis=1, return_inverse=True)  # grades take few values, and pairs are many
    signs = np.sign(joined[:, :, None] - joined[:, None, :])
    order = np.argsort(groups.ravel(), kind="stable")
    starts = np.searchsorted(groups.ravel()[order], np.arange(joined.shape[1]))

    def shares(weights: Array) -> Array:
        sums = np.add.reduceat(weights[:, order], starts, axis=1)
        net, untied = (np.sum((sums @ pairs) * sums, axis=1) for pairs in (signs[0] * signs[1], np.abs(signs[1])))
        return np.asarray((1 + net / untied) / 2)

    return bootstrap_interval(shares, rows, level)


def _all_equal(rows: ScoredLabels, *sides: Literal["labels", "scores"]) -> str | None:
    """Why a coefficient is undefined that needs several values on these sides."""
    return next((f"all {side} are equal" for side in sides if np.ptp(getattr(rows, side)) == 0), None)


def _mean_ranks(values: Array) -> Statistic:
    """The mean ranks of the same values under many sets of weights. *Shape:* (draws, rows) -> (draws, rows)."""
    order = np.argsort(values, kind="stable")
    starts, ends = (np.searchsorted(values[order], values, side=side) for side in ("left", "right"))

    def ranks(weights: Array) -> Array:
        below = np.concatenate([np.zeros((len(weights), 1)), np.cumsum(weights[:, order], axis=1)], axis=1)
        return np.asarray((below[:, starts] + below[:, ends]) / 2)

    return ranks


def cohen_kappa(rows: ScoredLabels, level: float = 0.95, seed: int = 0) -> Coefficient:
    """kappa = 1 - observed / expected disagreement, in [-1, 1] (Cohen 1960; with weights of disagreement Cohen 1968).

    Disagreement is the squared distance of two ratings: of 0 and 1 that is plain kappa, of grades quadratic kappa.
    Interval: `bootstrap_interval`; the pseudo-rows are the lowest rating against the highest, both ways.

    Args:
        rows: scores are ratings in the unit of the labels.
    """
    ratings = np.unique(np.concatenate([rows.scores, rows.labels]))
    if len(ratings) < 2:
        return undefined("all ratings are equal", level)
    distances = (ratings[:, None] - ratings) ** 2
    top = len(ratings) - 1
    first = np.append(np.searchsorted(ratings, rows.scores), [0, top, 0, top])
    second = np.append(np.searchsorted(ratings, rows.labels), [top, 0, 0, top])
    first_ratings, second_ratings = (np.eye(len(ratings))[places] for places in (first, second))

    def kappas(weights: Array) -> Array:
        expected = np.sum((weights @ first_ratings @ distances) * (weights @ second_ratings), axis=-1)
        return np.asarray(1 - (weights @ distances[first, second]) * weights.sum(axis=-1) / expected)

    return bootstrap_interval(kappas, rows, level, seed)


def label_auc(rows: ScoredLabels, level: float = 0.95) -> Coefficient:
    """Share of pairs (a row of label 1, a row of label 0) in which the first has the higher score; ties count half.

    Interval: `newcombe_interval`. With weights or clusters the numbers of rows in it are those of effective units of
    each class (Kish 1965), as if the rows of a cluster said no more than one of them: rather too wide than too narrow.
    """
    positive = rows.labels == 1
    if positive.all() or not positive.any():
        return undefined("labels of one class only", level)
    above, below = (rows.scores[side] for side in (positive, ~positive))
    masses, below_masses = (rows.weights[side] for side in (positive, ~positive))
    order = np.argsort(below, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(below_masses[order])])
    less, at_most = (sums[np.searchsorted(below[order], above, side=side)] for side in ("left", "right"))
    value = float(np.sum(masses * (less + at_most) / 2) / masses.sum() / sums[-1])
    members = cluster_numbers(rows.clusters, len(rows.labels))
    units = [class_units(rows.weights[side], members[side]) for side in (positive, ~positive)]
    low, high = newcombe_interval(value, units[0], units[1], level)
    return Coefficient(value, low, high, level, NEWCOMBE)
