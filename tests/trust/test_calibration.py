"""Calibration: by hand where labels are few, and what a calibrated judge gets."""

import numpy as np
import pytest

from rag_evaluator.features.certify import calibration
from rag_evaluator.statistics import PASS, mean_interval

NAN = float("nan")


def test_the_error_is_the_weighted_mean_distance_of_the_bins_worked_by_hand() -> None:
    # two confidences, so two bins: 60 verdicts of 0.9 of which 48 are right, 40 of 0.6 of which 30 are right
    confidences = [0.9] * 60 + [0.6] * 40
    right = [1] * 48 + [0] * 12 + [1] * 30 + [0] * 10
    result = calibration(confidences, right)
    assert result.error == pytest.approx(0.6 * abs(0.8 - 0.9) + 0.4 * abs(0.75 - 0.6))
    assert [(b.low, b.high, b.confidence, b.right.n) for b in result.bins] == [
        (0.6, 0.6, pytest.approx(0.6), 40),
        (0.9, 0.9, pytest.approx(0.9), 60),
    ]
    assert result.bins[1].right == mean_interval([1] * 48 + [0] * 12, PASS)


def test_what_a_calibrated_judge_gets_is_the_mean_distance_of_a_binomial_worked_by_hand() -> None:
    # 100 verdicts of 0.5 are one bin: the mean distance of a binomial of 100 from its half is C(100, 50) 50 / 2^100
    result = calibration([0.5] * 100, [1] * 50 + [0] * 50)
    assert result.error == 0
    assert result.expected == pytest.approx(0.0398, abs=0.002)
    assert result.highest == pytest.approx(0.10, abs=0.015)  # 39 and 61 of 100 are the 2.1 % and 98.2 % quantiles


def test_bins_have_equal_mass_and_equal_confidences_stay_together() -> None:
    spread = calibration(np.arange(200) / 200, [0, 1] * 100)
    assert [b.right.n for b in spread.bins] == [20] * 10
    piled = calibration([1.0] * 95 + [0.5] * 5, [1] * 100)
    assert [(b.low, b.high, b.right.n) for b in piled.bins] == [(0.5, 0.5, 5), (1.0, 1.0, 95)]


def test_weights_count_rows_that_often() -> None:
    confidences, right = [0.9] * 60 + [0.6] * 60, ([1] * 50 + [0] * 10) * 2
    twice = calibration([0.9] * 120 + [0.6] * 60, [1] * 100 + [0] * 20 + [1] * 50 + [0] * 10)
    assert calibration(confidences, right, weights=[2] * 60 + [1] * 60).error == pytest.approx(twice.error)


@pytest.mark.parametrize("labels", [0, 99])
def test_with_fewer_than_100_labels_there_is_a_reason_and_no_figure(labels: int) -> None:
    result = calibration([0.9] * 150, [1.0] * labels + [NAN] * (150 - labels))
    assert (result.n, result.error, result.expected, result.highest, result.bins) == (labels, None, None, None, ())
    assert result.reason == f"{labels} labels of verdicts with a confidence; 100 are needed"


def test_a_calibrated_judge_is_above_the_95_percent_quantile_in_about_5_percent() -> None:
    above = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        confidences = rng.uniform(0.5, 1, 120)
        result = calibration(confidences, rng.random(120) < confidences, seed=seed)
        assert result.error is not None
        assert result.highest is not None
        above += result.error > result.highest
    assert above <= 11  # 5 are expected; more than 11 have a probability of 0.004


def test_an_overconfident_judge_is_above_the_95_percent_quantile() -> None:
    result = calibration([0.99] * 200, [1] * 150 + [0] * 50)
    assert result.error == pytest.approx(0.24)
    assert result.highest is not None
    assert result.highest < 0.03
    order = np.random.default_rng(0).permutation(200)
    assert calibration([0.99] * 200, np.array([1] * 150 + [0] * 50)[order]) == result
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        calibration([1.5] * 100, [1] * 100)
