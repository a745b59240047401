"""The paired sign-flip test: p-values by hand, and how often it is wrong."""

import itertools
import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from rag_evaluator.features.probe.verdicts import FLIPS, sign_flip_p_value
from rag_evaluator.statistics import holm


def p_of(differences: Sequence[float], units: Sequence[str] | None = None, seed: int = 0) -> float | None:
    keys = units or [f"{position:06d}" for position in range(len(differences))]
    return sign_flip_p_value(differences, keys, seed)


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([], None),  # nothing to compare
        ([math.nan, math.nan], None),
        ([0.0, 0.0, 0.0], 1.0),  # no difference, whatever the signs
        ([0.5], 1.0),  # both signs are as far from zero
        ([1.0, 1.0, 1.0], 2 / 8),  # +++ and ---
        ([1.0, 1.0, 0.0], 2 / 4),  # the sign of a tie does not matter
        ([1.0, 1.0, math.nan, 1e-7], 2 / 4),  # a missing one is left out, one of 1e-7 is a tie
        ([1.0, 1.0, 1.0, -1.0], 10 / 16),  # sums of 4 once, of 2 four times, and the same below zero
        ([0.5, 0.5, 1.0, 0.0, -0.5, 0.5], 10 / 32),  # worked out by hand
        ([1.0] * 12, 2 / 4096),  # the most that is enumerated
        ([0.1, 0.2, -0.3, 0.3], 12 / 16),  # 0.1 + 0.2 is not 0.3 in binary
    ],
)
def test_few_differences_give_the_p_value_worked_out_by_hand(differences: list[float], p: float | None) -> None:
    assert p_of(differences) == (None if p is None else pytest.approx(p, abs=1e-12))


def test_many_differences_give_nearly_the_p_value_of_all_flips() -> None:
    differences = np.random.default_rng(1).normal(0.25, 1, 16).round(2)
    sums = np.array(list(itertools.product((-1, 1), repeat=16))) @ differences
    exact = float(np.mean(np.abs(sums) >= abs(differences.sum()) - 1e-6))
    error = math.sqrt(exact * (1 - exact) / FLIPS)
    assert p_of(list(differences)) == pytest.approx(exact, abs=4 * error)


@pytest.mark.parametrize("count", [8, 60])
def test_the_order_of_rows_does_not_change_the_p_value(count: int) -> None:
    rng = random.Random(count)
    rows = [(f"question {number}", rng.gauss(0.2, 1)) for number in range(count)]
    before = p_of([value for _, value in rows], [key for key, _ in rows])
    rng.shuffle(rows)
    assert p_of([value for _, value in rows], [key for key, _ in rows]) == before


def test_clusters_are_not_taken_for_independent_rows() -> None:
    assert p_of([1.0, 1.0, 1.0, 1.0], ["a", "a", "b", "c"]) == 2 / 8  # three clusters with 2, 1 and 1
    assert p_of([1.0, -1.0, 1.0], ["a", "a", "b"]) == 1.0  # a sums to nothing
    values = [1.0] * 100
    units = [f"{number % 4}" for number in range(100)]
    assert p_of(values, units) == 2 / 16
    assert p_of(values) == 1 / (FLIPS + 1)


def test_holm_raises_each_p_value_by_the_number_of_those_that_are_left() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])  # 3 x 0.01, 2 x 0.03, then not lower
    assert holm([None, 0.02, None, 0.5]) == [None, pytest.approx(0.04), None, pytest.approx(0.5)]
