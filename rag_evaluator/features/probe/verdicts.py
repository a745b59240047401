"""Whether a judge notices texts that are worse by construction: shares, and a word for each of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rag_evaluator.statistics.formulas import TIE, Array, Estimate, Scale
from rag_evaluator.statistics.intervals import PASS, mean_interval
from rag_evaluator.statistics.paired import holm, sign_flip_p_values

Word = Literal["always worst", "too few", "reliable", "wrong way", "weak", "no better than chance", "undecided"]
CONTINUOUS_TOLERANCE = 0.05


@dataclass(frozen=True)
class Thresholds:
    """What the words mean.

    Attributes:
        pairs: fewer are `too few`; as many, all of them at the floor, are `always worst`.
        reliable: the lower end of the win share of a `reliable` cell is at least this.
        false_alarms: the upper end of its false alarms is at most this.
        chance: a share of a judge that does not notice the change.
        useless: a cell that is not `weak`, and whose upper end is below this, is `no better than chance`.
        alpha: of the tests for `weak` and `wrong way`, after Holm over all cells.
    """

    pairs: int = 20
    reliable: float = 0.8
    false_alarms: float = 0.15
    chance: float = 0.5
    useless: float = 0.7
    alpha: float = 0.05


@dataclass(frozen=True)
class Pairs:
    """The scores of a metric for texts and for the same texts made worse by one probe.

    Attributes:
        good, changed: a score a pair; NaN: none.
        units: key of each pair. Pairs of one key depend on each other; the key of the row, or of its cluster.
        scale: of the scores.
        control: whether nothing may change; these pairs give the false alarms.
        only_gains: of a control: only a better score is a false alarm.
        tolerance: of a change, in units of the metric; None: any for judged scores, `CONTINUOUS_TOLERANCE` for others.
    """

    good: ArrayLike
    changed: ArrayLike
    units: Sequence[str]
    scale: Scale
    control: bool = False
    only_gains: bool = False
    tolerance: float | None = None


@dataclass(frozen=True)
class ProbeCell:
    """What a judge did with the pairs of one metric and one probe.

    Attributes:
        falls, ties, rises: pairs whose changed side is worse, equal, better.
        floor: pairs whose good side has the worst score already, and whose changed side has it, too; they count nowhere
            else. If the changed side is better the pair is a rise: leaving it out would leave out chances to rise only,
            and even scores at random would then fall more often than they rise.
        missing: pairs without one of the scores.
        share: (falls + half the ties) / pairs, with its interval; of a control the share of false alarms.
        p, p_holm: two-sided, of falls and rises being equally likely; `p_holm` after Holm over all cells. None for
            controls and where there is no pair.
        word: None for controls.
    """

    falls: int
    ties: int
    rises: int
    floor: int
    missing: int
    share: Estimate
    p: float | None
    p_holm: float | None
    word: Word | None


def judge_cells(
    cells: Sequence[Pairs],
    alarms: Sequence[int | None],
    thresholds: Thresholds | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> list[ProbeCell]:
    """Every cell with its figures and its word.

    Intervals: `mean_interval` of 1 (fall), 0.5 (tie) and 0 (rise), clustered by unit. `weak` and `wrong way` ask for
    more than an interval on one side of one half: the paired sign-flip test of falls against rises, after Holm over all
    cells that are no controls. A fall and a rise change their sign together with all other pairs of their unit. Where
    the judge does not notice the change the two sides are exchangeable, so that the test is exact, with ties and
    clusters, and Holm's method needs no independence of cells: the same good side may serve several probes.

    Args:
        cells: probes and controls of all metrics.
        alarms: for each cell the place, in `cells`, of the control that gives its false alarms. None: there is none,
            and the cell cannot be `reliable`.
        thresholds: of the words; the documented ones if there are none.
        level: of the intervals.
        seed: of the test's random flips.

    Returns:
        The cells in their order.
    """
    limits = thresholds or Thresholds()
    moves = [_moves(pairs) for pairs in cells]
    p_values = _p_values(cells, moves, seed)
    adjusted = holm(p_values)
    shares = [_share(pairs, move, level) for pairs, move in zip(cells, moves, strict=True)]
    words: list[Word | None] = [
        None if pairs.control else word(share, None if alarm is None else shares[alarm], p, limits, _floor(pairs))
        for pairs, alarm, share, p in zip(cells, alarms, shares, adjusted, strict=True)
    ]
    return [_probe_cell(*parts) for parts in zip(cells, moves, shares, p_values, adjusted, words, strict=True)]


def word(share: Estimate, alarms: Estimate | None, p_holm: float | None, limits: Thresholds, floor: int = 0) -> Word:
    """The first word that fits, in the order of `Word`. `floor`: pairs at the floor."""
    low, high = share.ci_low, share.ci_high
    if not share.n and floor >= limits.pairs:
        return "always worst"
    if low is None or high is None or share.n < limits.pairs:
        return "too few"
    quiet = alarms is not None and alarms.ci_high is not None and alarms.ci_high <= limits.false_alarms
    notable = p_holm is not None and p_holm <= limits.alpha
    rules: dict[Word, bool] = {
        "reliable": low >= limits.reliable and quiet,
        "wrong way": high < limits.chance and notable,
        "weak": low > limits.chance and notable,
        "no better than chance": high < limits.useless,
    }
    return next((name for name, fits in rules.items() if fits), "undecided")


def _p_values(cells: Sequence[Pairs], moves: Sequence[Array], seed: int) -> list[float | None]:
    """Of all cells in one call, so that they share the random flips; None for controls."""
    units = [unit for pairs in cells for unit in pairs.units]
    starts = np.cumsum([0, *map(len, moves)])
    differences = {}
    for place, (pairs, move) in enumerate(zip(cells, moves, strict=True)):
        if not pairs.control:
            differences[place] = np.full(len(units), np.nan)
            differences[place][starts[place] : starts[place + 1]] = move
    p_values = sign_flip_p_values(differences, units, seed)
    return [p_values.get(place) for place in range(len(cells))]


def _moves(pairs: Pairs) -> Array:
    """1 for a fall, 0 for a tie, -1 for a rise, NaN for a pair that does not count."""
    good, changed = _sides(pairs)
    falls = good - changed if pairs.scale.better == "higher" else changed - good
    moves = np.where(np.abs(falls) <= _tolerance(pairs), 0.0, np.sign(falls))
    return np.where(np.isnan(falls) | _at_floor(pairs), np.nan, moves)


def _sides(pairs: Pairs) -> tuple[Array, Array]:
    return np.asarray(pairs.good, dtype=np.float64), np.asarray(pairs.changed, dtype=np.float64)


def _tolerance(pairs: Pairs) -> float:
    rounding = 0.0 if pairs.scale.kind == "judged" else CONTINUOUS_TOLERANCE
    return TIE + (rounding if pairs.tolerance is None else pairs.tolerance)


def _at_floor(pairs: Pairs) -> NDArray[np.bool_]:
    """Whether both sides have the worst score, as far as the tolerance tells; of controls no pair is left out."""
    worst = pairs.scale.low if pairs.scale.better == "higher" else pairs.scale.high
    near = [np.abs(side - worst) <= _tolerance(pairs) for side in _sides(pairs)]
    return np.asarray(near[0] & near[1] & (not pairs.control))


def _floor(pairs: Pairs) -> int:
    return int(np.count_nonzero(_at_floor(pairs)))


def _share(pairs: Pairs, moves: Array, level: float) -> Estimate:
    if pairs.control:
        alarm = moves < 0 if pairs.only_gains else moves != 0
        values = np.where(np.isnan(moves), np.nan, alarm)
    else:
        values = (1 + moves) / 2
    return mean_interval(values, PASS, level, clusters=pairs.units)


def _probe_cell(
    pairs: Pairs, moves: Array, share: Estimate, p: float | None, p_holm: float | None, name: Word | None
) -> ProbeCell:
    has_both = ~np.isnan(np.subtract(*_sides(pairs)))
    falls, ties, rises = (int(np.count_nonzero(moves == way)) for way in (1.0, 0.0, -1.0))
    missing = int(np.count_nonzero(~has_both))
    return ProbeCell(falls, ties, rises, _floor(pairs), missing, share, p, p_holm, name)
