"""The bins of the distributions, worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report.made_files import NONE

from rag_evaluator.report.figures import bins_of
from rag_evaluator.statistics import Scale

COSINE = Scale(-1.0, 1.0, "continuous")
RATING = Scale(1.0, 5.0)


@pytest.mark.parametrize(
    ("values", "scale", "expected"),
    [
        ([0, 1, 1, 0, 1], Scale(), {0: 2, 1: 3}),
        ([1, 5, 5, 3], RATING, {1: 1, 3: 1, 5: 2}),
        ([0.9999999999, 1.0, 0.5], Scale(), {0.5: 1, 1: 2}),  # ragas adds 1e-10 somewhere
        ([-0.5, 0.5], COSINE, {-0.5: 1, 0.5: 1}),
        ([NONE, 1.0], Scale(), {1: 1}),
        ([NONE, NONE], Scale(), {}),
    ],
)
def test_scores_of_few_values_have_a_bar_for_each_value(values, scale, expected):
    bins = bins_of(np.array(values, dtype=float), scale)

    assert {bar.at: bar.count for bar in bins} == pytest.approx(expected)


def test_continuous_scores_have_bars_of_one_width_over_the_range():
    values = np.linspace(0.01, 0.99, 50)

    bins = bins_of(values, Scale(), most=10)

    assert [bar.count for bar in bins] == [5] * 10
    assert [bar.at for bar in bins] == pytest.approx([0.05 + 0.1 * place for place in range(10)])


@given(
    st.lists(
        st.one_of(
            st.floats(-1, 1, width=16), st.just(NONE), st.sampled_from([0.0, 0.3, 0.1 + 0.2, 1.0000000000000002])
        ),
        min_size=1,
    ),
    st.sampled_from([Scale(), COSINE]),
)
def test_each_score_lies_in_the_one_bin_that_counts_it(values, scale):
    bins = bins_of(np.array(values), scale)

    seen = [value for value in values if not math.isnan(value)]
    assert sum(bar.count for bar in bins) == len(seen)
    for bar in bins:
        assert sum(bar.low <= value <= bar.high for value in seen) == bar.count  # what a click shows
