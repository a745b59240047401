"""Draws for labelling: sizes, strata and probabilities by hand, and that probabilities are kept."""

import numpy as np
import pytest

from rag_evaluator.features.certify.draws import draw_stratified

NAN = float("nan")
SCORES = np.random.default_rng(0).beta(3, 1, 300)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0, 1] * 4, [0, 1] * 4),  # few values: one stratum each
        ([1] * 8 + [0] * 2, [1] * 8 + [0] * 2),
        ([0] * 8 + [0.5, 1], [0] * 8 + [1, 1]),  # most are equal: they stay together
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], [0, 0, 1, 1, 2, 2, 3, 3]),
        ([1, 1, NAN], [0, 0, 1]),
        ([NAN, 0.0, 1.0], [2, 0, 1]),  # rows without a score come last
    ],
)
def test_strata_are_groups_of_similar_scores_and_one_of_no_score(scores: list[float], expected: list[int]) -> None:
    assert draw_stratified(scores, 2).strata.tolist() == expected


@pytest.mark.parametrize(
    ("sizes", "size", "expected"),
    [
        ([50, 50], 10, [5, 5]),
        ([70, 30], 10, [7, 3]),
        ([66, 34], 10, [7, 3]),  # 6.6 and 3.4
        ([97, 3], 10, [8, 2]),  # two of each stratum at least
        ([99, 1], 10, [9, 1]),  # of one row, that row
        ([5, 3], 100, [5, 3]),  # no more than there are
        ([40, 40, 40], 3, [2, 2, 2]),
    ],
)
def test_each_stratum_gets_its_share_and_two_rows_at_least(sizes: list[int], size: int, expected: list[int]) -> None:
    draw = draw_stratified(np.repeat(range(len(sizes)), sizes), size)
    assert np.bincount(draw.strata[draw.rows]).tolist() == expected


@pytest.mark.parametrize("strata", [1, 4])
def test_rows_are_drawn_once_and_as_often_as_their_probability_says(strata: int) -> None:
    draws = [draw_stratified(SCORES, 40, seed, strata) for seed in range(2_000)]
    assert all(len(set(one.rows.tolist())) == 40 for one in draws)
    probabilities = draws[0].probabilities
    assert probabilities.sum() == pytest.approx(40)
    assert probabilities.min() > 0.06  # at least half of 40 / 300, so that every row can be drawn
    counts = np.bincount(np.concatenate([one.rows for one in draws]), minlength=300)
    errors = (counts / 2_000 - probabilities) / np.sqrt(probabilities * (1 - probabilities) / 2_000)
    assert np.abs(errors).max() < 4.5


def test_rows_without_a_score_are_a_stratum_with_two_rows_at_least() -> None:
    scores = np.where(np.arange(300) < 5, np.nan, SCORES)
    for strata in (1, 4):
        draw = draw_stratified(scores, 40, strata=strata)
        assert set(draw.strata[:5].tolist()) == {draw.strata.max()}
        assert np.count_nonzero(draw.rows < 5) == 2
        assert draw.probabilities[:5] == pytest.approx(2 / 5)


@pytest.mark.parametrize("size", [300, 1000])
def test_all_rows_are_drawn_where_there_are_no_more(size: int) -> None:
    draw = draw_stratified(SCORES, size)
    assert sorted(draw.rows.tolist()) == list(range(300))
    assert draw.probabilities.tolist() == [1.0] * 300
