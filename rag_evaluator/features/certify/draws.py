"""Which rows people label: how they are drawn, and the record of a draw."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rag_evaluator.errors import ResultsError
from rag_evaluator.files import short_digest, write_json
from rag_evaluator.results import FOLDER, NAME
from rag_evaluator.statistics import LEAST_OF_STRATUM, Array

PLACES = 8  # digits of a draw's name
STRATA = 4
Places = NDArray[np.int64]


@dataclass(frozen=True)
class DrawRecord:
    """A draw as it is kept in `labels/<draw>.json` of the results folder.

    Attributes:
        data: digest of the rows of the run.
        metrics: that are to be labelled; strata are those of the first.
        kind: `stratified`; earlier versions also drew `uncertain` rows.
        rows: that were drawn, in the order in which they are shown.
        probabilities: of each row of the run, to be drawn.
        strata: of each row of the run, the number of its stratum.
        like: name of the draw of another run whose rows these are; None: drawn for this run.
    """

    data: str
    metrics: Sequence[str]
    kind: str
    size: int
    seed: int
    rows: Sequence[int]
    probabilities: Sequence[float]
    strata: Sequence[int]
    like: str | None = None

    @property
    def name(self) -> str:
        return short_digest(json.dumps(asdict(self), sort_keys=True))[:PLACES]


def draw_path(results: Path, name: str) -> Path:
    return results / FOLDER / f"{name}.json"


def draws_in(results: Path) -> list[str]:
    """The names of all draws of a run."""
    return [path.stem for path in sorted((results / FOLDER).glob("*.json")) if path.name != NAME]


def write_draw(results: Path, record: DrawRecord) -> None:
    """Keep a draw. A draw has its name from its content, so that nothing else is overwritten."""
    write_json(draw_path(results, record.name), asdict(record))


def read_draw(results: Path, name: str, data: str) -> DrawRecord:
    """A draw that a label table names. Raises `ResultsError` if it is not there, or is of other rows."""
    path = draw_path(results, Path(name).name)
    try:
        record = DrawRecord(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise ResultsError(
            f"{path}: cannot be read: {error}. The labels come from the draw {name}, whose probabilities 'certify "
            f"sheet' has written into the folder '{FOLDER}' of the results. Give these results, or copy that folder."
        ) from error
    if record.data != data:
        raise ResultsError(f"{path}: drawn from other rows than those of {results}. Give the results of these rows.")
    return record


class Draw(NamedTuple):
    """Rows drawn from all rows of a run.

    Attributes:
        rows: places of the rows, in the random order in which they are shown.
        probabilities: of every row of the run, that it is drawn; above 0, at most 1.
        strata: of every row of the run, the number of its stratum. Unscored rows are a stratum of their own, the last.
    """

    rows: Places
    probabilities: Array
    strata: Places


def draw_stratified(scores: ArrayLike, size: int, seed: int = 0, strata: int = STRATA) -> Draw:
    """From each of up to `strata` groups of similar scores, and of the unscored rows, as many as their share is.

    Args:
        scores: of all rows; NaN: no score.
        size: rows to draw. All rows are drawn if there are no more. Each stratum gets `LEAST_OF_STRATUM` at least, so
            that more rows may be drawn than the size if it is very small.
        strata: 1 draws each scored row with nearly the same probability.
    """
    groups = score_strata(scores, strata)
    rng = np.random.default_rng(seed)
    chances = np.ones(len(groups))
    rows = [np.empty(0, dtype=np.int64)]
    for stratum, count in enumerate(allocate(np.bincount(groups), size) if len(groups) else []):
        members = np.flatnonzero(groups == stratum)
        alike = np.full(len(members), 1 / len(members))
        chance = count * alike / alike.sum()
        chances[members] = np.where(chance > 1 - 1e-12, 1.0, chance)
        order = rng.permutation(len(members))  # steps of 1 from a random start along the summed probabilities
        ends = np.cumsum(chances[members][order])
        steps = np.arange(count) + rng.random()
        rows.append(members[order[np.minimum(np.searchsorted(ends, steps, side="right"), len(order) - 1)]])
    return Draw(rng.permutation(np.concatenate(rows)), chances, groups)


def score_strata(scores: ArrayLike, strata: int = STRATA) -> Places:
    """Groups of rows of similar scores, of about equal size; rows of equal scores are in one group, NaN in the last."""
    numbers = np.asarray(scores, dtype=np.float64)
    known = np.sort(numbers[~np.isnan(numbers)])
    starts = 1 + np.flatnonzero(np.diff(known) > 0)  # places where a new value begins
    edges = [starts[np.argmin(np.abs(starts - len(known) * part / strata))] for part in range(1, strata) if len(starts)]
    cuts = np.unique(known[edges]) if edges else known[:0]
    groups = np.where(np.isnan(numbers), strata, np.searchsorted(cuts, numbers, side="right"))
    return np.asarray(np.unique(groups, return_inverse=True)[1], dtype=np.int64)


def allocate(sizes: Places, size: int) -> Places:
    """Rows to draw from each stratum: its share of `size`, rounded by largest remainders, at least two."""
    exact = min(size, int(sizes.sum())) * sizes / sizes.sum()
    drawn: Places = np.minimum(np.maximum(np.floor(exact).astype(np.int64), LEAST_OF_STRATUM), sizes)
    while drawn.sum() < exact.sum() - 0.5:
        drawn[np.argmax(np.where(drawn < sizes, exact - drawn, -np.inf))] += 1
    while drawn.sum() > exact.sum() + 0.5 and np.any(drawn > LEAST_OF_STRATUM):
        drawn[np.argmax(np.where(drawn > LEAST_OF_STRATUM, drawn - exact, -np.inf))] -= 1
    return drawn
