"""Which rows people label, and whether labels show that a judge is useful."""

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rag_evaluator.features.certify.agreement import ScoredLabels, pairs_of
from rag_evaluator.features.certify.coefficients import Coefficient, concordance
from rag_evaluator.features.certify.threshold import auc, class_units, newcombe_interval
from rag_evaluator.statistics.formulas import Array
from rag_evaluator.statistics.labelled import LEAST_OF_STRATUM

STRATA = 4
Places = NDArray[np.int64]


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
    return _draw(score_strata(scores, strata), size, seed)


def draw_uncertain(scores: ArrayLike, uncertainty: ArrayLike, size: int, seed: int = 0) -> Draw:
    """Half of the probability uniform, half in proportion to the uncertainty, so that every row can be drawn.

    Probabilities are at most 1: what is above goes to the other rows. The draw is systematic along a random order of
    rows (Madow 1949), which keeps the size and each probability exactly. Unscored rows are drawn uniformly.

    Args:
        scores, size: as in `draw_stratified`.
        uncertainty: a finite number >= 0 a row, in any unit; that of unscored rows does not count.
    """
    missing = _is_missing(scores)
    doubts = np.asarray(uncertainty, dtype=np.float64)
    if not np.all(missing | (np.isfinite(doubts) & (doubts >= 0))):
        raise ValueError("uncertainty must be a finite number of at least 0 for every row with a score")
    return _draw(missing.astype(np.int64), size, seed, np.where(missing, 0.0, doubts))


def score_strata(scores: ArrayLike, strata: int = STRATA) -> Places:
    """Groups of rows of similar scores, of about equal size; rows of equal scores are in one group, NaN in the last."""
    numbers = np.asarray(scores, dtype=np.float64)
    known = np.sort(numbers[~np.isnan(numbers)])
    cuts = np.unique([known[edge] for part in range(1, strata) for edge in _edge(known, part / strata)])
    groups = np.where(np.isnan(numbers), strata, np.searchsorted(cuts, numbers, side="right"))
    return np.asarray(np.unique(groups, return_inverse=True)[1], dtype=np.int64)


def inclusion_probabilities(uncertainty: ArrayLike, size: int) -> Array:
    """Of each row: half of `size` uniform, half in proportion to the uncertainty; at most 1, their sum is `size`."""
    doubts = np.asarray(uncertainty, dtype=np.float64)
    total = doubts.sum()
    shares = 0.5 / len(doubts) + (0.5 * doubts / total if total > 0 else 0.5 / len(doubts))
    certain = np.zeros(len(doubts), dtype=bool)
    while True:
        free = np.where(certain, 0.0, shares)
        chances = np.where(certain, 1.0, (size - certain.sum()) * free / max(free.sum(), 1e-300))
        over = ~certain & (chances > 1 - 1e-12)
        if not over.any():
            return chances
        certain |= over


def allocate(sizes: Places, size: int) -> Places:
    """Rows to draw from each stratum: its share of `size`, rounded by largest remainders, at least two."""
    exact = min(size, int(sizes.sum())) * sizes / sizes.sum()
    drawn: Places = np.minimum(np.maximum(np.floor(exact).astype(np.int64), LEAST_OF_STRATUM), sizes)
    while drawn.sum() < exact.sum() - 0.5:
        drawn[np.argmax(np.where(drawn < sizes, exact - drawn, -np.inf))] += 1
    while drawn.sum() > exact.sum() + 0.5 and np.any(drawn > LEAST_OF_STRATUM):
        drawn[np.argmax(np.where(drawn > LEAST_OF_STRATUM, drawn - exact, -np.inf))] -= 1
    return drawn


def _edge(known: Array, share: float) -> list[int]:
    """The place where a new value begins that is nearest to a share of the sorted scores; none if all are equal."""
    starts = 1 + np.flatnonzero(np.diff(known) > 0)
    return [int(starts[np.argmin(np.abs(starts - share * len(known)))])] if len(starts) else []


def _is_missing(scores: ArrayLike) -> NDArray[np.bool_]:
    return np.asarray(np.isnan(np.asarray(scores, dtype=np.float64)))


def _draw(groups: Places, size: int, seed: int, uncertainty: Array | None = None) -> Draw:
    rng = np.random.default_rng(seed)
    strata = np.asarray(np.unique(groups, return_inverse=True)[1], dtype=np.int64)
    probabilities = np.ones(len(strata))
    rows = [np.empty(0, dtype=np.int64)]
    for stratum, count in enumerate(allocate(np.bincount(strata), size) if len(strata) else []):
        members = np.flatnonzero(strata == stratum)
        doubts = np.zeros(len(members)) if uncertainty is None else uncertainty[members]
        probabilities[members] = inclusion_probabilities(doubts, int(count))
        rows.append(members[_systematic(probabilities[members], int(count), rng)])
    return Draw(rng.permutation(np.concatenate(rows)), probabilities, strata)


def _systematic(probabilities: Array, count: int, rng: np.random.Generator) -> Places:
    """Places of `count` rows: steps of 1 from a random start along the summed probabilities, in random order."""
    order = rng.permutation(len(probabilities))
    ends = np.cumsum(probabilities[order])
    steps = np.arange(count) + rng.random()
    places = np.minimum(np.searchsorted(ends, steps, side="right"), len(order) - 1)
    return np.asarray(order[places], dtype=np.int64)


Word = Literal[
    "useful", "worse than chance", "weak", "better than chance, quality not settled", "not shown", "too few labels"
]
LEVEL = 0.95  # of the interval, whatever other figures have
GOOD, CHANCE = 0.70, 0.5
LEAST, LEAST_RARER = 20, 5  # labels, and labels of the rarer class
LARGER = (30, 60, 100)  # numbers of labels for which the AUC that is needed is said
STEP = 0.005  # to which an AUC that is needed is rounded up


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
        return JudgeVerdict("too few labels", _too_few(rows.labels, rarer, graded))
    if not rarer:
        return JudgeVerdict("not shown", _of_one_class(rows.labels[0], graded, better))
    if np.ptp(rows.scores) == 0:
        return JudgeVerdict("not shown", "the judge says the same of every row")
    if rarer < LEAST_RARER:
        return JudgeVerdict("too few labels", _too_few(rows.labels, rarer, graded))
    area = concordance(*rows, level=LEVEL) if graded else auc(*rows, level=LEVEL)
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
    needed = needed_auc(*class_units(rows.labels, rows.weights, rows.clusters))
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


def _too_few(labels: Array, rarer: int, graded: bool) -> str:
    """How many labels there are, and how many are needed."""
    count, total = len(labels), LEAST
    counted = f"{count} label{'' if count == 1 else 's'}, {LEAST} are needed, {LEAST_RARER} of them of the rarer class"
    if count >= LEAST:
        total = max(LEAST, math.ceil(LEAST_RARER * count / rarer))
        values, counts = np.unique(labels, return_counts=True)
        most = values[counts.argmax()]
        counted = (
            f"{rarer} of {count} labels are not {most:g}, {LEAST_RARER} are needed: about {total} labels like these"
        )
    return counted if graded else f"{counted}. {'; '.join(_enough(labels, total, rarer / count if rarer else 0.5))}"


def _enough(labels: Array, total: int, share: float) -> Iterator[str]:
    """Which AUC so many labels with such a share of the rarer class need; and how many are never enough."""
    sizes = sorted({total, *(size for size in (len(labels), *LARGER) if size >= LEAST)})
    needed = {size: needed_auc(size - max(round(share * size), 1), max(round(share * size), 1)) for size in sizes}
    listed = [f"{value:.3f} with {size}" for size, value in needed.items() if value is not None]
    never = [str(size) for size, value in needed.items() if value is None]
    if listed:
        yield f"'useful' needs an AUC of {', '.join(listed)}"
    if never:
        yield f"no AUC is enough with {', '.join(never)}"
