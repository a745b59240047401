"""Folds for cross-fitting: what is chosen on labels is used only on labels that it was not chosen on."""

import numpy as np
from numpy.typing import NDArray

FOLDS = 5
Places = NDArray[np.int64]


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
