"""Scores with a mass at one value, scores that are rarely at an end, and p beside the interval of a difference."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint
from trust.test_intervals import ends

from rag_evaluator import METRICS
from rag_evaluator.statistics import Paired, Scale, compare_scores, mean_interval

RELEVANCY, ROUGE, FAITHFULNESS = (METRICS[name].scale for name in ("answer_relevancy", "rouge_score", "faithfulness"))
JUDGED = Scale()
HIGH = np.random.default_rng(0).beta(90, 10, (2000, 30))


def test_a_metric_with_an_atom_has_two_parts_worked_by_hand_also_without_a_zero() -> None:
    for zeros in (0, 3):
        rest = HIGH[0, : 20 - zeros]
        share = len(rest) / 20
        low, high = proportion_confint(share * 20 * 21 / 22, 20 * 21 / 22, method="wilson")
        inner = stats.t.interval(0.95, len(rest) - 1, rest.mean(), stats.sem(rest))
        mean = share * rest.mean()
        lower = math.hypot(rest.mean() * (share - low), share * (rest.mean() - inner[0]))
        upper = math.hypot(rest.mean() * (high - share), share * (inner[1] - rest.mean()))
        estimate = mean_interval([*rest, *[0.0] * zeros], RELEVANCY)
        assert ends(estimate) == pytest.approx((mean - lower, mean + upper), abs=1e-9)
        assert estimate.ci_method == "two-part-wilson-t"


def test_nothing_but_zeros_may_hide_any_score_and_one_other_score_says_nothing_of_others() -> None:
    low, high = ends(mean_interval([0.0] * 20, RELEVANCY))
    assert (low, high) == (pytest.approx(-0.168, abs=5e-3), pytest.approx(0.168, abs=5e-3))
    assert ends(mean_interval([0.0] * 20, ROUGE)) == ends(mean_interval([0.0] * 20, ROUGE._replace(kind="judged")))
    assert ends(mean_interval([0.0] * 9 + [0.5], RELEVANCY))[1] > 0.2


def test_string_metrics_have_a_mass_at_both_ends_and_equal_others_a_width() -> None:
    both = [0.0] * 5 + [1.0] * 5
    low, high = ends(mean_interval(both, ROUGE))
    assert low < 0.25
    assert high > 0.75
    low, high = ends(mean_interval([0.4] * 20, ROUGE))
    assert high - low > 0.15


def test_which_metrics_have_atoms_is_a_column_of_the_table() -> None:
    strings = ("bleu_score", "rouge_score", "chrf_score", "non_llm_string_similarity")
    atoms = {name: metric.scale.atoms for name, metric in METRICS.items() if metric.scale.atoms}
    assert atoms == {"answer_relevancy": (0.0,), **dict.fromkeys(strings, (0.0, 1.0))}


def test_clusters_and_weights_of_atoms_count_as_equal_rows() -> None:
    scores = np.array([0.0, 0.0, *HIGH[0, :10]])
    labels = list(range(12))
    alone = mean_interval(scores, RELEVANCY)
    copied = mean_interval(np.repeat(scores, 3), RELEVANCY, clusters=list(np.repeat(labels, 3)))
    assert ends(copied) == pytest.approx(ends(alone), abs=1e-12)
    assert ends(mean_interval(scores, RELEVANCY, weights=[0.3] * 12)) == ends(alone)
    mixed = mean_interval([0.0, 0.9, 0.0, 0.88, 0.0, 0.92, 0.0, 0.9], RELEVANCY, clusters="aabbccdd")
    assert 0 < ends(mixed)[0] < 0.45 < ends(mixed)[1] < 0.9


@pytest.mark.parametrize(
    ("scale", "level"),
    [(scale, 0.95) for scale in (JUDGED, Scale(kind="continuous"), RELEVANCY, ROUGE)] + [(JUDGED, 0.8), (JUDGED, 0.99)],
)
def test_p_is_below_its_limit_only_where_the_interval_excludes_0(scale: Scale, level: float) -> None:
    rng = np.random.default_rng(4)
    seen = set()
    for n in (5, 12, 30):
        for shift in (0.0, 0.05, 0.1, 0.2, 0.6, 0.9):
            differences = rng.choice([-0.5, 0.0, 0.25, 0.5], n) * rng.integers(0, 2) + rng.normal(shift, 0.1, n)
            clusters = [str(row // 2) for row in range(n)] if n == 12 else None
            weights = rng.uniform(0.5, 2, n) if n == 30 else None
            pair = Paired("m", np.zeros(n), differences, scale)
            (row,) = compare_scores([pair], clusters, weights, level=level)
            low, high = ends(row.difference)
            assert row.p is not None
            excludes = low > 0 or high < 0
            assert row.p >= 1 - level or excludes, (n, shift, row.p, low, high)
            seen.add(row.p < 1 - level)
    assert seen == {True, False}


def test_p_of_continuous_differences_that_rise_further_than_they_fall_is_that_of_scipy_s_paired_t_test() -> None:
    a = np.full(40, 0.1)
    b = np.array([1.0, 0.0]).repeat([10, 30])
    (row,) = compare_scores([Paired("m", a, b, Scale(kind="continuous"))])
    assert row.p == pytest.approx(stats.ttest_rel(b, a).pvalue)
