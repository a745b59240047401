"""The labelled rows of a run: their strata, weights and folds."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .formulas import Array, Scale

FOLDS = 5


Places = NDArray[np.int64]
Clusters = Sequence[Hashable] | None  # a label a row; None: each row is one of its own
LEAST_OF_STRATUM = 2  # of a stratum: one label says nothing of how much labels differ
NO_LABEL = "none: no row has a label"


def dealt(members: Places, strata: Places | None = None, folds: int = FOLDS, seed: int = 0) -> Places:
    """The fold of each row. Units are dealt in turn, in random order, stratum by stratum.

    Args:
        members: number of the unit of each row, from 0; the rows of a unit are in one fold.
        strata: of each row; a unit is dealt with the lowest of its rows. None: one stratum.
    """
    units = int(members.max(initial=-1)) + 1
    home = np.zeros(units, np.int64)
    if strata is not None:
        home = np.full(units, np.iinfo(np.int64).max)
        np.minimum.at(home, members, strata)
    dealing = np.empty(units, np.int64)
    order = np.lexsort((np.random.default_rng(seed).permutation(units), home))
    dealing[order] = np.arange(units) % max(min(folds, units), 1)
    return np.asarray(dealing[members], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """The rows of a run, in an order that depends on their values only.

    Attributes:
        scores, labels: 0 where there is none.
        scored, labelled: where there is one.
        strata: number of the stratum.
        probabilities: of the row, to have a label.
        within: share of a labelled row in the weight of the labels of its stratum; 0 for other rows.
        shares: the same times the stratum's share of all rows: they add up to 1.
        folds: of a labelled row, the fold that it is dealt to; -1 for other rows.
        blank: rows that were drawn and have no label.
    """

    scores: Array
    labels: Array
    scored: NDArray[np.bool_]
    labelled: NDArray[np.bool_]
    strata: Places
    probabilities: Array
    within: Array
    shares: Array
    folds: Places
    blank: int

    def sizes(self) -> Places:
        """Number of rows of each stratum."""
        return np.bincount(self.strata)

    def lacking(self) -> str | None:
        """Why nothing can be estimated; None if each stratum has `LEAST_OF_STRATUM` labels, or all its rows."""
        if not self.labelled.any():
            return NO_LABEL
        labels = np.bincount(self.strata[self.labelled], minlength=len(self.sizes()))
        for stratum, (count, size) in enumerate(zip(labels, self.sizes(), strict=True)):
            if count < min(LEAST_OF_STRATUM, size):
                kind = "score" if self.scored[self.strata == stratum][0] else "no score"
                return (
                    f"none: {count} of {size} rows of a stratum with {kind} have a label, {LEAST_OF_STRATUM} are needed"
                )
        return None if self.labelled.sum() > len(labels) else "none: as many strata as labels"


def make_labelled_rows(
    scores: ArrayLike,
    labels: ArrayLike,
    scale: Scale,
    strata: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    drawn: ArrayLike | None = None,
    units: Sequence[str] | None = None,
) -> LabelledRows:
    """The sample of a draw; the arguments are those of `label_mean`.

    Blank labels lower the probabilities of their stratum in the same ratio (non-response at random).
    """
    judged, people = (np.clip(np.asarray(values, np.float64), scale.low, scale.high) for values in (scores, labels))
    asked = ~np.isnan(people) if drawn is None else np.asarray(drawn, dtype=bool)
    chances = np.ones(len(judged)) if probabilities is None else np.asarray(probabilities, dtype=np.float64)
    groups = np.zeros(len(judged), np.int64) if strata is None else np.asarray(strata, dtype=np.int64)
    keys = np.arange(len(judged)) if units is None else np.asarray(units, dtype=object)
    if len({len(judged), len(people), len(asked), len(chances), len(groups), len(keys)}) > 1:
        raise ValueError("scores, labels and what is said of each row have different lengths")
    if not np.all((chances > 0) & (chances <= 1)):
        raise ValueError("probabilities must be above 0 and at most 1: a row that cannot be drawn is not represented")
    labelled = asked & ~np.isnan(people)
    folds = np.full(len(judged), -1)
    folds[labelled] = dealt(np.unique(keys[labelled], return_inverse=True)[1], groups[labelled])
    order = np.lexsort((folds, chances, np.where(labelled, people, np.inf), judged, groups))
    judged = judged[order]
    people = people[order]
    labelled = labelled[order]
    chances = chances[order]
    scored = ~np.isnan(judged)
    groups_with_missing = np.where(scored, groups[order], groups.max(initial=0) + 1)
    stratum = np.asarray(np.unique(groups_with_missing, return_inverse=True)[1], dtype=np.int64)
    sizes = np.bincount(stratum)
    counts = np.bincount(stratum, weights=labelled)
    expected = np.bincount(stratum, weights=chances)
    probabilities = np.minimum(chances * (counts / expected)[stratum], 1.0)
    weights = np.where(labelled, 1 / chances, 0.0)
    within = weights / np.maximum(np.bincount(stratum, weights=weights), 1e-300)[stratum]
    shares = within * (sizes / len(stratum))[stratum]
    return LabelledRows(
        scores=np.where(scored, judged, 0.0),
        labels=np.where(labelled, people, 0.0),
        scored=scored,
        labelled=labelled,
        strata=stratum,
        probabilities=probabilities,
        within=within,
        shares=shares,
        folds=folds[order],
        blank=int(np.count_nonzero(asked)) - int(np.count_nonzero(labelled)),
    )


def cluster_numbers(clusters: Clusters, rows: int) -> Places:
    """A number for each row, the same for rows of one cluster; None and NaN are a cluster of their own."""
    if clusters is None:
        return np.arange(rows)
    numbers: dict[Hashable, int] = {}
    keys = [
        ("row", place) if label is None or label != label else ("label", label) for place, label in enumerate(clusters)
    ]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
