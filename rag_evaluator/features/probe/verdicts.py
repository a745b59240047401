"""Whether a judge notices texts that are worse by construction: shares, and a word for each of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rag_evaluator.statistics.formulas import TIE, Array, Estimate, Scale
from rag_evaluator.statistics.intervals import PASS, difference_interval, mean_interval
from rag_evaluator.statistics.paired import Floats, holm

Word = Literal[
    "always worst",
    "too few",
    "reliable",
    "wrong way",
    "weak",
    "not above the control",
    "no better than chance",
    "undecided",
]
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
        above: the share less that of the control that should stay equal, over the rows that both count, with its
            interval; None: there is no such control. Without it a judge whose scores fall with any change of the
            text would be one that notices faults.
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
    above: Estimate | None = None


def judge_cells(
    cells: Sequence[Pairs],
    alarms: Sequence[int | None],
    thresholds: Thresholds | None = None,
    level: float = 0.95,
    seed: int = 0,
    same: Sequence[int | None] | None = None,
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
        same: for each cell the place of the control whose scores should stay equal, one pair a unit; None: there is
            none.

    Returns:
        The cells in their order.
    """
    limits = thresholds or Thresholds()
    moves = [_moves(pairs) for pairs in cells]
    p_values = _p_values(cells, moves, seed)
    adjusted = holm(p_values)
    shares = [_share(pairs, move, level) for pairs, move in zip(cells, moves, strict=True)]
    above = [
        None if at is None or pairs.control else _above(pairs, move, cells[at], moves[at], level)
        for pairs, move, at in zip(cells, moves, same or [None] * len(cells), strict=True)
    ]
    words: list[Word | None] = [
        None if pairs.control else word(share, None if alarm is None else shares[alarm], p, limits, _floor(pairs), more)
        for pairs, alarm, share, p, more in zip(cells, alarms, shares, adjusted, above, strict=True)
    ]
    return [_probe_cell(*parts) for parts in zip(cells, moves, shares, p_values, adjusted, words, above, strict=True)]


def word(
    share: Estimate,
    alarms: Estimate | None,
    p_holm: float | None,
    limits: Thresholds,
    floor: int = 0,
    above: Estimate | None = None,
) -> Word:
    """The first word that fits, in the order of `Word`. `floor`: pairs at the floor; `above`: as in `ProbeCell`."""
    low, high = share.ci_low, share.ci_high
    if not share.n and floor >= limits.pairs:
        return "always worst"
    if low is None or high is None or share.n < limits.pairs:
        return "too few"
    quiet = alarms is not None and alarms.ci_high is not None and alarms.ci_high <= limits.false_alarms
    notable = p_holm is not None and p_holm <= limits.alpha
    is_above = above is None or not above.n or (above.ci_low is not None and above.ci_low > 0)
    rules: dict[Word, bool] = {
        "reliable": low >= limits.reliable and quiet and is_above,
        "wrong way": high < limits.chance and notable,
        "weak": low > limits.chance and notable and is_above,
        "not above the control": low > limits.chance and notable,
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


def _above(pairs: Pairs, moves: Array, control: Pairs, of_control: Array, level: float) -> Estimate:
    """The share less that of the control, over the rows that both count."""
    by_unit = dict(zip(control.units, of_control, strict=True))
    differences = (moves - [by_unit.get(unit, math.nan) for unit in pairs.units]) / 2  # shares are (1 + move) / 2
    return difference_interval(differences, PASS, level, clusters=pairs.units)


def _probe_cell(
    pairs: Pairs,
    moves: Array,
    share: Estimate,
    p: float | None,
    p_holm: float | None,
    name: Word | None,
    above: Estimate | None,
) -> ProbeCell:
    has_both = ~np.isnan(np.subtract(*_sides(pairs)))
    falls, ties, rises = (int(np.count_nonzero(moves == way)) for way in (1.0, 0.0, -1.0))
    missing = int(np.count_nonzero(~has_both))
    return ProbeCell(falls, ties, rises, _floor(pairs), missing, share, p, p_holm, name, above)


EXACT = 12  # units that differ, up to which all 2^12 flips are counted


FLIPS = 9_999


FLIPS_AT_ONCE = 256  # flips drawn together: at 10,000 units 20 MB


def sign_flip_p_values(
    differences: Mapping[Any, Sequence[float] | Floats], units: Sequence[str], seed: int = 0, flips: int = FLIPS
) -> dict[Any, float | None]:
    """Two-sided p-values of paired differences, one per metric.

    Under the null hypothesis a row and its changed copy are exchangeable: each difference might as well have the other
    sign. The statistic is the sum of the differences. The test is about exchangeability, not about a mean of zero:
    differences of -1 in a tenth of the rows and +1/9 in the others have the mean zero, and it rejects more often than
    its level.

    Args:
        differences: metric (any key) -> one difference per row, NaN where a score is missing.
        units: per row what it belongs to: its own key, or that of its cluster. Rows of a unit change their sign
            together. The result does not depend on the order of rows, but on the order of these names.
        seed: of the random flips.
        flips: random flips where more than `EXACT` units differ; p is then (b + 1) / (flips + 1), where b of them are
            at least as far from zero (Phipson and Smyth 2010). Fewer units: all flips, the exact p-value.

    Differences of at most 1e-6 are ties, and sums that differ by no more are equal. None where no row has a difference.
    """
    sums = {metric: _sum_by_unit(np.asarray(values, float), units) for metric, values in differences.items()}
    p_values: dict[Any, float | None] = dict.fromkeys(sums)
    drawn: dict[Any, Floats] = {}
    for metric, (of_unit, has_both) in sums.items():
        moved = of_unit[np.abs(of_unit) > TIE]
        if has_both and len(moved) <= EXACT:
            p_values[metric] = int(_reached(_all_signs(len(moved)) @ moved, moved.sum())) / 2 ** len(moved)
        elif has_both:
            drawn[metric] = of_unit
    if drawn:
        reached = _reached_at_random(np.stack(list(drawn.values()), axis=1), seed, flips)
        p_values |= {metric: (int(b) + 1) / (flips + 1) for metric, b in zip(drawn, reached, strict=True)}
    return p_values


def _sum_by_unit(differences: Floats, units: Sequence[str]) -> tuple[Floats, bool]:
    """The sum of each unit's differences, units in the order of their names; and whether there is any difference."""
    names, place = np.unique(np.asarray(units, dtype=object), return_inverse=True)
    has_both = ~np.isnan(differences)
    counted = np.where(has_both & (np.abs(differences) > TIE), differences, 0.0)
    sums = np.bincount(place, weights=counted, minlength=len(names)).astype(np.float64)
    return sums, bool(has_both.any())


def _all_signs(count: int) -> NDArray[Any]:
    """Every choice of signs. *Shape:* (2^count, count)."""
    choices = np.arange(2**count)[:, None] >> np.arange(count)
    return 1.0 - 2.0 * (choices & 1)


def _reached(sums: Floats, seen: Floats | float) -> Any:
    """How many sums are at least as far from zero as the one that was seen. Any: an integer, or one per metric."""
    return np.count_nonzero(np.abs(sums) >= np.abs(seen) - TIE, axis=0)


def _reached_at_random(of_unit: Floats, seed: int, flips: int) -> NDArray[np.int64]:
    """The same per metric, with signs that all metrics share. *Shape:* of_unit (units, metrics)."""
    rng, units = np.random.default_rng(seed), len(of_unit)
    seen, total = of_unit.sum(axis=0), of_unit.sum(axis=0)
    reached = np.zeros(of_unit.shape[1], dtype=np.int64)
    for start in range(0, flips, FLIPS_AT_ONCE):
        rows = min(FLIPS_AT_ONCE, flips - start)
        bits = np.unpackbits(rng.integers(0, 256, (rows, -(-units // 8)), dtype=np.uint8), axis=1, count=units)
        reached += _reached(total - 2.0 * (bits.astype(np.float64) @ of_unit), seen)  # a set bit turns the sign
    return reached
