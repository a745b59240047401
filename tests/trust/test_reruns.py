"""The judge's noise: the published example, an analysis of variance by scipy and statsmodels, missing repeats."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rag_evaluator.statistics import rerun_noise

NAN = float("nan")
RATINGS = [
    [9, 2, 5, 8],
    [6, 1, 3, 2],
    [8, 4, 6, 8],
    [7, 1, 2, 6],
    [10, 5, 6, 9],
    [6, 2, 4, 7],
]  # Shrout and Fleiss 1979
RAGGED = [[0.1, 0.3, 0.2], [0.7, NAN, 0.9], [NAN, NAN, NAN], [0.5, 0.4, 0.6], [0.8, NAN, NAN], [0.2, 0.2, None]]


def test_the_example_of_shrout_and_fleiss_has_their_coefficients() -> None:
    noise = rerun_noise(RATINGS)
    assert noise.icc == pytest.approx(0.17, abs=0.005)
    assert noise.icc_mean == pytest.approx(0.44, abs=0.005)
    assert noise.stderr_rerun == pytest.approx(math.sqrt(6.26 / (4 * 6)), rel=1e-3)  # their mean square within is 6.26


@pytest.mark.parametrize("scores", [RATINGS, RAGGED], ids=["equal repeats", "unequal repeats"])
def test_coefficients_are_those_of_an_analysis_of_variance_by_scipy_and_statsmodels(scores: list[list[float]]) -> None:
    rows = [[score for score in row if score is not None and not math.isnan(score)] for row in scores]
    rows = [row for row in rows if row]
    counts = np.array([len(row) for row in rows])
    ratio = stats.f_oneway(*rows).statistic
    size = (counts.sum() - (counts**2).sum() / counts.sum()) / (len(rows) - 1)
    groups = np.repeat(np.arange(len(rows)), counts)
    within = sm.OLS(np.concatenate(rows), sm.add_constant(np.eye(len(rows))[groups][:, 1:])).fit().mse_resid
    noise = rerun_noise(scores)
    assert noise.icc == pytest.approx((ratio - 1) / (ratio + size - 1))
    assert noise.icc_mean == pytest.approx(1 - 1 / ratio)
    assert noise.stderr_rerun == pytest.approx(math.sqrt((within / counts).sum()) / len(rows))


CASES: dict[str, tuple[list[list[float]], float | None, float | None]] = {
    "nothing": ([], None, None),
    "all missing": ([[NAN, NAN], [NAN]], None, None),
    "one score a row": ([[0.1], [0.2, NAN]], None, None),
    "one row": ([[0.0, 1.0]], 0.5, None),
    "rows do not vary": ([[0.0, 1.0], [1.0, 0.0]], math.sqrt(0.5 / 4), None),
    "nothing varies": ([[1.0, 1.0], [1.0 + 3e-16, 1.0 + 3e-16]], 0.0, None),
    "repeats do not vary": ([[0.2, 0.2], [0.4, 0.4]], 0.0, 1.0),
}


@pytest.mark.parametrize(("scores", "stderr", "icc"), CASES.values(), ids=CASES)
def test_what_has_no_coefficient_has_none(scores: list[list[float]], stderr: float | None, icc: float | None) -> None:
    noise = rerun_noise(scores)
    assert noise.stderr_rerun == (None if stderr is None else pytest.approx(stderr))
    assert noise.icc == noise.icc_mean == (None if icc is None else pytest.approx(icc))


@given(st.lists(st.lists(st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0, NAN]), max_size=4), max_size=8), st.randoms())
def test_no_bit_depends_on_the_order_of_rows_or_repeats(scores: list[list[float]], random: object) -> None:
    shuffled = [random.sample(row, len(row)) for row in random.sample(scores, len(scores))]  # type: ignore[attr-defined]
    assert rerun_noise(shuffled) == rerun_noise(scores)
