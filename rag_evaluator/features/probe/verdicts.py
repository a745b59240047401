"""Whether a judge notices texts that are worse by construction: shares, and a word for each of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rag_evaluator.files import JsonDict
from rag_evaluator.statistics import PASS, TIE, Array, Estimate, Scale, difference_interval, holm, mean_interval

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
Expected = Literal["worse", "equal", "not better"]
CONTINUOUS_TOLERANCE = 0.05
CHANCE = 0.5  # the share of a judge that does not notice the change
MOVES = {"falls": 1.0, "ties": 0.0, "rises": -1.0}
ALPHA = 0.05  # of the tests for `weak` and `wrong way`, after Holm over all cells
LIMITS: Mapping[str, float] = {"pairs": 20, "reliable": 0.8, "false_alarms": 0.15, "useless": 0.7}
"""Of the words: a cell with fewer pairs is `too few`; the lower end of the share of a `reliable` cell is at least this,
the upper end of its false alarms at most; `no better than chance` is a cell whose upper end is below `useless`."""
EXACT = 12  # units that differ, up to which all 2^12 flips are counted
FLIPS = 9_999
FLIPS_AT_ONCE = 256  # flips drawn together: at 10,000 units 20 MB


@dataclass(frozen=True)
class Pairs:
    """The scores of a metric for texts and for the same texts changed by one probe.

    Attributes:
        good, changed: a score a pair; NaN: none.
        units: key of each pair. Pairs of one key depend on each other; the key of the row, or of its cluster.
        scale: of the scores.
        expected: what must become of the score. `equal` and `not better` are controls: they give the false alarms of
            their metric, any change or a better score only.
        tolerance: of a change, in units of the metric; None: any for judged scores, `CONTINUOUS_TOLERANCE` for others.
        metric: its controls are those of this name.
    """

    good: ArrayLike
    changed: ArrayLike
    units: Sequence[str]
    scale: Scale
    expected: Expected = "worse"
    tolerance: float | None = None
    metric: str = ""

    @property
    def is_control(self) -> bool:
        return self.expected != "worse"

    @cached_property
    def sides(self) -> Array:
        """*Shape:* (good and changed, pairs)."""
        return np.asarray([self.good, self.changed], dtype=np.float64)

    @cached_property
    def most(self) -> float:
        """The greatest change that is none."""
        rounding = 0.0 if self.scale.kind == "judged" else CONTINUOUS_TOLERANCE
        return TIE + (rounding if self.tolerance is None else self.tolerance)

    @cached_property
    def at_floor(self) -> NDArray[np.bool_]:
        """Whether both sides have the worst score, as far as the tolerance tells; of controls no pair is left out."""
        near = np.abs(self.sides - self.scale.worst) <= self.most
        return np.asarray(near.all(axis=0) & (not self.is_control))

    @cached_property
    def moves(self) -> Array:
        """1 for a fall, 0 for a tie, -1 for a rise, NaN for a pair that does not count."""
        good, changed = self.sides
        falls = good - changed if self.scale.better == "higher" else changed - good
        moves = np.where(np.abs(falls) <= self.most, 0.0, np.sign(falls))
        return np.where(np.isnan(falls) | self.at_floor, np.nan, moves)

    @cached_property
    def share(self) -> Estimate:
        """Of the pairs whose changed side is worse, half the ties included; of a control that of false alarms."""
        values = (1 + self.moves) / 2
        if self.is_control:
            alarm = self.moves < 0 if self.expected == "not better" else self.moves != 0
            values = np.where(np.isnan(self.moves), np.nan, alarm)
        return mean_interval(values, PASS, clusters=self.units)


def figures_of(estimate: Estimate) -> JsonDict:
    """What `probe.json` says of a share or a difference."""
    names = ("mean", "ci_low", "ci_high", "ci_level", "ci_method", "n")
    return {name: getattr(estimate, name) for name in names}


def judge_cells(cells: Sequence[Pairs], seed: int = 0) -> list[JsonDict]:
    """What a judge did with the pairs of each cell, in order, as `probe.json` has it.

    Intervals: `mean_interval` of 1 (fall), 0.5 (tie) and 0 (rise), clustered by unit. `weak` and `wrong way` ask for
    more than an interval on one side of one half: the paired sign-flip test of falls against rises, after Holm over all
    cells that are no controls. A fall and a rise change their sign together with all other pairs of their unit. Where
    the judge does not notice the change the two sides are exchangeable, so that the test is exact, with ties and
    clusters, and Holm's method needs no independence of cells: the same good side may serve several probes.

    Args:
        cells: probes and controls of all metrics. A cell without controls cannot be `reliable`.
        seed: of the test's random flips.

    Returns:
        `falls`, `ties`, `rises`: pairs whose changed side is worse, equal, better.
        `floor`: pairs whose good side has the worst score already, and whose changed side has it, too; they count
        nowhere else. If the changed side is better the pair is a rise: leaving it out would leave out chances to rise
        only, and even scores at random would then fall more often than they rise.
        `missing`: pairs without one of the scores.
        `p`, `p_holm`: two-sided, of falls and rises being equally likely; `p_holm` after Holm over all cells. None for
        controls and where there is no pair.
        `word`: None for controls.
        `share`: (falls + half the ties) / pairs, with its interval; of a control the share of false alarms.
        `above_control`: the share less that of the control that should stay equal, over the rows that both count, with
        its interval, where there is such a control. Without it a judge whose scores fall with any change of the text
        would be one that notices faults.
    """
    units = [unit for pairs in cells for unit in pairs.units]
    p_values = [
        None if pairs.is_control else sign_flip_p_value(pairs.moves, pairs.units, seed, among=units) for pairs in cells
    ]
    judged = []
    for pairs, p, p_holm in zip(cells, p_values, holm(p_values), strict=True):
        controls = [other for other in cells if other.is_control and other.metric == pairs.metric]
        equal = next((control for control in controls if control.expected == "equal"), None)
        above = None if equal is None or pairs.is_control else _above(pairs, equal)
        figures: JsonDict = {
            "pairs": len(pairs.units),
            **{name: int(np.count_nonzero(pairs.moves == way)) for name, way in MOVES.items()},
            "floor": int(np.count_nonzero(pairs.at_floor)),
            "missing": int(np.count_nonzero(np.isnan(pairs.sides).any(axis=0))),
            "p": p,
            "p_holm": p_holm,
            "word": None if pairs.is_control else _word(pairs, controls, p_holm, above),
            "share": figures_of(pairs.share),
        }
        judged.append(figures if above is None else {**figures, "above_control": figures_of(above)})
    return judged


def _word(pairs: Pairs, controls: Sequence[Pairs], p_holm: float | None, above: Estimate | None) -> Word:
    """The first word that fits, in the order of `Word`."""
    counted = pairs.share.n
    low = pairs.share.ci_low
    high = pairs.share.ci_high
    if not counted and np.count_nonzero(pairs.at_floor) >= LIMITS["pairs"]:
        return "always worst"
    if low is None or high is None or counted < LIMITS["pairs"]:
        return "too few"
    highs = [control.share.ci_high for control in controls]
    is_quiet = bool(highs) and all(end is not None and end <= LIMITS["false_alarms"] for end in highs)
    is_notable = p_holm is not None and p_holm <= ALPHA
    is_above = above is None or not above.n or (above.ci_low is not None and above.ci_low > 0)
    rules: dict[Word, bool] = {
        "reliable": low >= LIMITS["reliable"] and is_quiet and is_above,
        "wrong way": high < CHANCE and is_notable,
        "weak": low > CHANCE and is_notable and is_above,
        "not above the control": low > CHANCE and is_notable,
        "no better than chance": high < LIMITS["useless"],
    }
    return next((name for name, fits in rules.items() if fits), "undecided")


def _above(pairs: Pairs, control: Pairs) -> Estimate:
    """The share less that of the control, over the rows that both count."""
    by_unit = dict(zip(control.units, control.moves, strict=True))
    differences = (pairs.moves - [by_unit.get(unit, math.nan) for unit in pairs.units]) / 2  # shares are (1 + move) / 2
    return difference_interval(differences, PASS, clusters=pairs.units)


def sign_flip_p_value(
    differences: ArrayLike, units: Sequence[str], seed: int = 0, among: Sequence[str] = ()
) -> float | None:
    """The two-sided p-value of paired differences; None where no row has one.

    Under the null hypothesis a row and its changed copy are exchangeable: each difference might as well have the other
    sign. The statistic is the sum of the differences. The test is about exchangeability, not about a mean of zero:
    differences of -1 in a tenth of the rows and +1/9 in the others have the mean zero, and it rejects more often than
    its level.

    Args:
        differences: one per row, NaN where a score is missing. At most 1e-6 is a tie, and sums that differ by no more
            are equal.
        units: per row what it belongs to: its own key, or that of its cluster. Rows of a unit change their sign
            together. The result does not depend on the order of rows, but on the order of these names.
        seed: of the `FLIPS` random flips where more than `EXACT` units differ; p is then (b + 1) / (FLIPS + 1), where b
            of them are at least as far from zero (Phipson and Smyth 2010). Fewer units: all flips, the exact p-value.
        among: names of all units of a family of tests, which then share the flips.
    """
    values = np.asarray(differences, dtype=np.float64)
    if np.isnan(values).all():
        return None
    names, places = np.unique(np.asarray([*among, *units], dtype=object), return_inverse=True)
    counted = np.where(np.abs(values) > TIE, values, 0.0)
    sums = np.bincount(places[len(among) :], weights=counted, minlength=len(names))
    moved = sums[np.abs(sums) > TIE]
    if len(moved) <= EXACT:
        turned = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved)) & 1
        return _reached(sums.sum(), moved, turned) / len(turned)
    rng = np.random.default_rng(seed)
    reached = 0
    for start in range(0, FLIPS, FLIPS_AT_ONCE):
        rows = min(FLIPS_AT_ONCE, FLIPS - start)
        bits = rng.integers(0, 256, (rows, -(-len(names) // 8)), dtype=np.uint8)
        reached += _reached(sums.sum(), sums, np.unpackbits(bits, axis=1, count=len(names)))
    return (reached + 1) / (FLIPS + 1)


def _reached(total: float, sums: NDArray[Any], turned: NDArray[Any]) -> int:
    """How many choices of signs are at least as far from zero as the total. *Shape:* turned (choices, units)."""
    return int(np.count_nonzero(np.abs(total - 2.0 * (turned.astype(np.float64) @ sums)) >= abs(total) - TIE))
