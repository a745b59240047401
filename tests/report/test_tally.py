"""The numbers behind the charts: bins, means by length, useful contexts by rank; worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report.made_files import NONE, made_run, ranked

from rag_evaluator.report import bins_of, by_length, by_rank, verdicts_of
from rag_evaluator.results import Run, whole_tally
from rag_evaluator.statistics import Scale, mean_interval

COSINE, RATING = Scale(-1.0, 1.0, "continuous"), Scale(1.0, 5.0)


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


def test_bins_of_lengths_hold_as_many_rows_each_and_their_means_have_intervals(tmp_path):
    values = [0.0] * 10 + [1.0] * 5 + [NONE] + [0.5] * 5
    found = whole_tally(Run(made_run(tmp_path / "run", {"faithfulness": values})))

    bins = list(by_length(found, "faithfulness", Scale()))

    assert [ends for ends, _ in bins] == [(0, 4), (5, 9), (10, 14), (16, 20)]
    assert [estimate.mean for _, estimate in bins] == [0.0, 0.0, 1.0, 0.5]
    assert [estimate.n for _, estimate in bins] == [5, 5, 5, 5]
    assert bins[2][1] == mean_interval([1.0] * 5, Scale())


@pytest.mark.parametrize("lengths", [[7] * 40, [3, 4, 5]])
def test_rows_that_are_few_or_of_one_length_are_put_in_no_bins(tmp_path, lengths):
    rows = [{"answer": "x" * length} for length in lengths]
    run = Run(made_run(tmp_path / "run", {"faithfulness": [1.0] * len(rows)}, rows=rows))

    assert list(by_length(whole_tally(run), "faithfulness", Scale())) == []


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        ({"response": "four"}, {}),
        ({"answer": "four"}, {}),
        ({"Antwort": "four", "answer": "no"}, {"Antwort": "response"}),
    ],
)
def test_the_response_is_found_under_any_of_its_names(tmp_path, row, columns):
    run = Run(made_run(tmp_path / "run", {"faithfulness": [1.0]}, rows=[row], config={"columns": columns}))

    assert whole_tally(run).lengths.tolist() == [4.0]


def test_intervals_by_length_know_clusters(tmp_path):
    rows = [{"response": "x" * place, "doc": place % 3} for place in range(20)]
    values = [float(place % 4 == 0) for place in range(20)]
    found = whole_tally(Run(made_run(tmp_path / "run", {"faithfulness": values}, rows=rows, config={"cluster": "doc"})))

    (_, first), *_ = by_length(found, "faithfulness", Scale())

    assert first == mean_interval(values[:5], Scale(), clusters=[place % 3 for place in range(5)])


def test_the_share_of_useful_contexts_is_counted_at_each_rank(tmp_path):
    details = [ranked(0, [1, 0, 1]), ranked(1, [1]), ranked(2, [0, 1])]
    metric = "context_precision_with_reference"
    run = Run(made_run(tmp_path / "run", {metric: [1.0, 1.0, 0.5]}, details=details))

    found = by_rank(run, whole_tally(run))[metric]

    assert [(place, rank.n, rank.mean) for place, rank in enumerate(found, start=1)] == [
        (1, 3, pytest.approx(2 / 3)),
        (2, 2, 0.5),
        (3, 1, 1.0),
    ]


def test_repeats_of_a_score_count_as_one_row(tmp_path):
    details = [ranked(0, [1, 0], repeat=0), ranked(0, [0, 0], repeat=1), ranked(1, [1, 1], repeat=0)]
    metric = "context_precision_with_reference"
    run = Run(made_run(tmp_path / "run", {metric: [1.0, 1.0]}, details=details))

    assert [(rank.n, rank.mean) for rank in by_rank(run, whole_tally(run))[metric]] == [(2, 0.75), (2, 0.5)]


@pytest.mark.parametrize(
    "record",
    [
        ranked(0, [1, None]),  # a context without a verdict: later ones cannot be placed
        ranked(0, [1, 0], contexts=[0, 1, 2]),
        ranked(0, [1], contexts=None),
        ranked(0, [], judgements=None),
    ],
)
def test_verdicts_that_cannot_be_placed_are_left_out(record):
    assert verdicts_of(record) == []


def test_metrics_that_ask_the_same_of_contexts_are_shown_once(tmp_path):
    names = ["retrieval_mrr", "retrieval_map"]
    details = [ranked(0, [1, 0], metric=name, contexts=[0, 1, 2]) for name in names]
    run = Run(
        made_run(tmp_path / "run", {name: [1.0] for name in names}, details=details, config={"retrieval": {"k": 2}})
    )

    assert list(by_rank(run, whole_tally(run))) == ["retrieval_mrr"]
