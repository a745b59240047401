"""Words of the probe: each rule by hand, and what a random judge gets."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rag_evaluator.features.probe.verdicts import Pairs, judge_cells
from rag_evaluator.statistics import PASS, Estimate, Scale, difference_interval, holm, mean_interval

NAN = float("nan")
JUDGED = Scale()
CONTINUOUS = Scale(kind="continuous")
LOWER = Scale(better="lower")


def pairs(falls: int, ties: int, rises: int, is_control: bool = False) -> Pairs:
    """Good sides of 0.5, so that each can fall and rise."""
    changed = [0.0] * falls + [0.5] * ties + [1.0] * rises
    units = [f"{place:04d}" for place in range(len(changed))]
    return Pairs([0.5] * len(changed), changed, units, JUDGED, "equal" if is_control else "worse")


def as_json(estimate: Estimate) -> dict[str, Any]:
    return {name: getattr(estimate, name) for name in ("mean", "ci_low", "ci_high", "ci_level", "ci_method", "n")}


def judged(*cells: Pairs) -> dict[str, Any]:
    """The first cell, among others."""
    return judge_cells(cells)[0]


QUIET = (0, 50, 0)
LOUD = (10, 40, 0)
WORDS: list[tuple[tuple[int, int, int], tuple[int, int, int] | None, str]] = [
    ((19, 0, 0), QUIET, "too few"),
    ((0, 0, 0), QUIET, "too few"),
    ((20, 0, 0), QUIET, "reliable"),  # the lower end of 20 of 20 is 0.81
    ((50, 0, 0), LOUD, "weak"),  # false alarms of 10 of 50 may be 0.33
    ((50, 0, 0), None, "weak"),
    ((50, 0, 0), (0, 10, 0), "weak"),  # of 10 pairs without a change still 0.3 may change
    ((40, 0, 10), QUIET, "weak"),
    ((5, 0, 45), QUIET, "wrong way"),
    ((0, 50, 0), QUIET, "no better than chance"),  # all ties: half of 50, up to 0.64
    ((25, 0, 25), QUIET, "no better than chance"),
    ((12, 0, 8), QUIET, "undecided"),
    ((32, 0, 18), QUIET, "undecided"),  # 0.64 of 50: p = 0.06, and the upper end is 0.76
    ((19, 5, 0), (19, 5, 0), "not above the control"),  # whatever is written otherwise scores worse
    ((40, 10, 0), (25, 25, 0), "weak"),
    ((40, 10, 0), (45, 5, 0), "not above the control"),
    ((20, 0, 0), (0, 0, 0), "weak"),  # no score of the control
]


@pytest.mark.parametrize(("counts", "control", "expected"), WORDS)
def test_the_word_of_a_cell(counts: tuple[int, int, int], control: tuple[int, int, int] | None, expected: str) -> None:
    cell = judged(pairs(*counts), *([pairs(*control, is_control=True)] if control else []))
    assert (cell["word"], (cell["falls"], cell["ties"], cell["rises"])) == (expected, counts)


def test_controls_are_those_of_the_metric_and_the_worst_of_them_counts() -> None:
    cell = pairs(50, 0, 0)
    quiet = pairs(*QUIET, is_control=True)
    loud = pairs(*LOUD, is_control=True)
    assert judged(cell, quiet, replace(loud, metric="other"))["word"] == "reliable"
    assert judged(cell, quiet, loud)["word"] == judged(cell, loud, quiet)["word"] == "weak"
    assert judged(cell, quiet, replace(loud, expected="not better"))["word"] == "reliable", "falls are no gains"


def test_what_is_above_the_control_is_the_paired_difference_of_the_shares() -> None:
    control = Pairs([0.5] * 4, [0.5, 0.5, 0.0, 0.0], ["0003", "0000", "0001", "0009"], JUDGED, "equal")
    above = judged(pairs(3, 1, 1), control)["above_control"]
    # rows 0, 1 and 3 have both: shares 1, 1 and 0.5 against 0.5, 1 and 0.5
    assert above["mean"] == pytest.approx((0.5 + 0 + 0) / 3)
    assert above == as_json(difference_interval([0.5, 0, 0], PASS))
    assert "above_control" not in judged(pairs(3, 1, 1), replace(control, expected="not better"))


def test_the_test_of_falls_against_rises_is_the_sign_test_without_ties() -> None:
    cell = judged(pairs(10, 30, 2))
    assert cell["share"] == as_json(mean_interval([1] * 10 + [0.5] * 30 + [0] * 2, PASS)), "a tie counts half"
    assert cell["p"] == pytest.approx(stats.binomtest(10, 12).pvalue)
    assert cell["p_holm"] == cell["p"]


def test_many_falls_and_rises_give_nearly_the_p_value_of_all_flips() -> None:
    exact = stats.binomtest(35, 60).pvalue
    error = (exact * (1 - exact) / 9_999) ** 0.5
    assert judged(pairs(35, 10, 25))["p"] == pytest.approx(exact, abs=4 * error)
    assert judged(pairs(100, 0, 0))["p"] == 1 / 10_000


@pytest.mark.parametrize("count", [8, 60])
def test_the_order_of_rows_does_not_change_the_p_value(count: int) -> None:
    rng = np.random.default_rng(count)
    changed = rng.choice([0.0, 0.5, 1.0], count, p=[0.5, 0.2, 0.3])
    units = np.array([f"question {place}" for place in range(count)])
    order = rng.permutation(count)
    before, after = (
        judged(Pairs([0.5] * count, changed[places], list(units[places]), JUDGED))["p"]
        for places in (np.arange(count), order)
    )
    assert before == after


def test_holm_raises_each_p_value_by_the_number_of_those_that_are_left() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])  # 3 x 0.01, 2 x 0.03, then not lower
    assert holm([None, 0.02, None, 0.5]) == [None, pytest.approx(0.04), None, pytest.approx(0.5)]


@pytest.mark.parametrize(
    ("cell", "alone", "among"),
    [(pairs(20, 0, 8), "weak", "undecided"), (pairs(8, 0, 20), "wrong way", "no better than chance")],
)
def test_words_ask_for_more_the_more_cells_there_are(cell: Pairs, alone: str, among: str) -> None:
    first = judged(cell)
    tenth = judged(cell, *[pairs(14, 0, 14)] * 9)
    assert 0.01 < first["p"] < 0.05
    assert tenth["p_holm"] == pytest.approx(10 * first["p"])
    assert (first["word"], tenth["word"]) == (alone, among)


@pytest.mark.parametrize(("scale", "worst", "other"), [(JUDGED, 0.0, 1.0), (LOWER, 1.0, 0.0), (CONTINUOUS, 0.0, 0.9)])
def test_a_judge_that_always_gives_the_worst_score_has_a_word_of_its_own(
    scale: Scale, worst: float, other: float
) -> None:
    def of(changed: Sequence[float]) -> Any:
        units = [f"{row:02d}" for row in range(len(changed))]
        return judged(Pairs([worst] * len(changed), changed, units, scale))["word"]

    assert of([worst] * 20) == "always worst"
    assert of([worst] * 20 + [NAN] * 5) == "always worst"
    assert of([worst] * 19) == "too few"
    assert of([worst] * 30 + [other]) == "too few"


def test_pairs_of_one_row_count_as_one_unit_in_interval_and_test() -> None:
    apart = judged(pairs(18, 0, 6))
    cell = pairs(18, 0, 6)
    together = Pairs(cell.good, cell.changed, [unit[:3] for unit in cell.units], JUDGED)  # three rows
    cell_together = judged(together)
    assert apart["word"] == "weak"
    assert cell_together["word"] == "undecided"
    assert cell_together["p"] == 0.5  # sums 10, 2 (of 8 and 2 rises), -4: 4 of the 8 signs reach 8


@pytest.mark.parametrize(
    ("scale", "good", "changed", "expected"),
    [
        (JUDGED, 1.0, 0.99, "falls"),
        (JUDGED, 1.0, 1.0 - 1e-9, "ties"),
        (CONTINUOUS, 0.9, 0.85, "ties"),
        (CONTINUOUS, 0.9, 0.84, "falls"),
        (CONTINUOUS, 0.8, 0.86, "rises"),
        (LOWER, 0.2, 0.4, "falls"),
        (LOWER, 0.2, 0.1, "rises"),
        (JUDGED, 0.0, 0.0, "floor"),
        (JUDGED, 0.0, 1.0, "rises"),
        (LOWER, 1.0, 1.0, "floor"),
        (CONTINUOUS, 0.0, 0.04, "floor"),
        (CONTINUOUS, 0.04, 0.0, "floor"),
        (CONTINUOUS, 0.04, 0.08, "ties"),
        (JUDGED, NAN, 0.5, "missing"),
        (JUDGED, 0.0, NAN, "missing"),
    ],
)
def test_what_counts_as_a_fall(scale: Scale, good: float, changed: float, expected: str) -> None:
    cell = judged(Pairs([good], [changed], ["a"], scale))
    counts = ("falls", "ties", "rises", "floor", "missing")
    assert [name for name in counts if cell[name]] == [expected]
    assert cell["share"]["n"] == int(expected in ("falls", "ties", "rises"))


def test_a_control_counts_changes_in_both_directions_or_gains_only() -> None:
    good = [0.5] * 5 + [0.0]
    changed = [0.5, 0.5, 0.2, 0.9, 1.0, 0.1]
    units = list("abcdef")
    both = judged(Pairs(good, changed, units, JUDGED, "equal"))
    gains = judged(Pairs(good, changed, units, JUDGED, "not better"))
    assert (both["share"]["mean"], gains["share"]["mean"]) == (pytest.approx(4 / 6), pytest.approx(3 / 6))
    assert (both["word"], both["p"], both["p_holm"], both["floor"]) == (None, None, None, 0)


def test_a_change_within_the_tolerance_is_a_tie() -> None:
    assert judged(Pairs([0.5], [0.3], ["a"], JUDGED, tolerance=0.25))["ties"] == 1


def random_judge(seed: int, probes: int = 12, rows: int = 40) -> Sequence[Any]:
    """Every score is a coin; the good sides are the same in all probes."""
    rng = np.random.default_rng(seed)
    good = rng.integers(0, 3, rows) / 2
    units = [f"{row:04d}" for row in range(rows)]
    control = Pairs(good, rng.integers(0, 3, rows) / 2, units, JUDGED, "not better")
    cells = [Pairs(good, rng.integers(0, 3, rows) / 2, units, JUDGED) for _ in range(probes)]
    return [cell["word"] for cell in judge_cells([*cells, control], seed)[:-1]]


def test_a_random_judge_is_never_reliable_and_rarely_above_chance_over_200_seeds() -> None:
    runs = [random_judge(seed) for seed in range(200)]
    assert not any("reliable" in words for words in runs)
    assert sum("weak" in words for words in runs) <= 0.05 * len(runs)
    assert sum("wrong way" in words for words in runs) <= 0.05 * len(runs)
