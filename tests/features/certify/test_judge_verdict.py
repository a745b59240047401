"""What labels show of a judge, in a word: limits, too few labels, one class, grades; by the printed interval."""

from collections.abc import Sequence

import numpy as np
import pytest

from rag_evaluator.features.certify.agreement import binary_agreement, graded_agreement
from rag_evaluator.features.certify.coefficients import pairs_of
from rag_evaluator.features.certify.verdict import judge_verdict


def separated(accepted: int, rejected: int, wrong: int) -> tuple[list[float], list[float]]:
    """Scores of 0 and 1 that are the labels, but for the first `wrong` rows of each class; and the labels."""
    right = [place >= wrong for count in (accepted, rejected) for place in range(count)]
    labels = [1.0] * accepted + [0.0] * rejected
    return [label if same else 1 - label for label, same in zip(labels, right, strict=True)], labels


WORDS = {
    "a good judge": (separated(50, 50, 2), "useful"),
    "contrary to people": (separated(50, 50, 40), "worse than chance"),
    "a coin": (separated(50, 50, 25), "not shown"),
    "a little better than a coin, many labels": (separated(400, 400, 160), "weak"),
    "good on few labels": (separated(15, 15, 3), "better than chance, quality not settled"),
    "nineteen labels": (separated(10, 9, 0), "too few labels"),
    "four of the rarer class": (separated(96, 4, 0), "too few labels"),
}


@pytest.mark.parametrize(("rows", "word"), WORDS.values(), ids=WORDS)
def test_each_word_has_its_limits(rows: tuple[Sequence[float], Sequence[float]], word: str) -> None:
    assert judge_verdict(pairs_of(*rows))["word"] == word


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (separated(40, 0, 2), "people gave every row the same label; draw rows with other scores"),
        (separated(0, 40, 2), "people gave every row the same label; draw rows with other scores"),
        (([0.5] * 40, [1.0, 0.0] * 20), "all scores are equal"),
    ],
)
def test_where_nothing_can_be_shown_the_reason_says_why(
    rows: tuple[Sequence[float], Sequence[float]], said: str
) -> None:
    assert judge_verdict(pairs_of(*rows)) == {"word": "not shown", "reason": said}


def test_the_limits_are_those_of_the_interval_that_is_printed() -> None:
    """Every share of pairs that 60 rows can give: the word is what Newcombe's interval of the same rows says."""
    seen = set()
    for wrong in range(31):
        rows = pairs_of(*separated(30, 30, wrong))
        area = binary_agreement(rows, 0.5)["auc"]
        assert area.ci_low is not None and area.ci_high is not None
        rules = {
            "useful": area.ci_low >= 0.7,
            "worse than chance": area.ci_high < 0.5,
            "weak": area.ci_low > 0.5 and area.ci_high < 0.7,
            "better than chance, quality not settled": 0.5 < area.ci_low < 0.7 <= area.ci_high,
            "not shown": area.ci_low <= 0.5 <= area.ci_high,
        }
        [expected] = [word for word, holds in rules.items() if holds]
        verdict = judge_verdict(rows)
        assert verdict["word"] == expected
        assert f"AUC {area.value:.3f} [{area.ci_low:.3f}, {area.ci_high:.3f}]" in verdict["reason"]
        seen.add(verdict["word"])
    assert seen == {"useful", "worse than chance", "better than chance, quality not settled", "not shown"}


@pytest.mark.parametrize(
    ("accepted", "rejected", "lacking"),
    [(5, 5, "10 labels, 5 of the rarer class; 20 are needed"), (27, 3, "30 labels, 3 of the rarer class; 20 are")],
)
def test_too_few_labels_say_how_many_are_needed(accepted: int, rejected: int, lacking: str) -> None:
    verdict = judge_verdict(pairs_of(*separated(accepted, rejected, 0)))
    assert verdict["word"] == "too few labels"
    assert lacking in verdict["reason"]


def test_copies_in_clusters_show_no_more_than_their_originals() -> None:
    scores, labels = separated(15, 15, 3)
    copied = judge_verdict(pairs_of(scores * 10, labels * 10, clusters=list(range(30)) * 10))
    assert (
        copied["word"] == judge_verdict(pairs_of(scores, labels))["word"] == "better than chance, quality not settled"
    )
    assert judge_verdict(pairs_of(scores * 10, labels * 10))["word"] == "useful"


GRADES = np.repeat(np.arange(1.0, 6.0), 20)


def test_grades_are_judged_by_concordance_of_pairs_with_different_labels() -> None:
    """Worked out by hand: of pairs with other labels 4 are concordant, 1 tied, 0 the other way round."""
    found = graded_agreement(pairs_of([1, 2, 2, 3], [1, 2, 3, 3]), (1, 2, 3))["concordance"]
    assert found.value == pytest.approx((4 + 0.5) / 5)
    rng = np.random.default_rng(0)
    near = GRADES + rng.normal(0, 0.6, 100)
    scores = {"useful": near, "worse than chance": 6 - near, "not shown": rng.permutation(near)}
    for word, values in scores.items():
        verdict = judge_verdict(pairs_of(values, GRADES), graded=True)
        assert verdict["word"] == word
        assert verdict["reason"].startswith("concordance 0.")


def test_the_interval_of_concordance_resamples_clusters_whole() -> None:
    near = GRADES + np.random.default_rng(1).normal(0, 1.5, 100)
    four = np.tile(near, 4), np.tile(GRADES, 4)
    alone = graded_agreement(pairs_of(near, GRADES), range(1, 6))["concordance"]
    copied = graded_agreement(pairs_of(*four, list(range(100)) * 4), range(1, 6))["concordance"]
    apart = graded_agreement(pairs_of(*four), range(1, 6))["concordance"]
    width = {name: found.ci_high - found.ci_low for name, found in
             (("alone", alone), ("copied", copied), ("apart", apart))}  # type: ignore[operator]  # fmt: skip
    assert width["copied"] == pytest.approx(width["alone"], rel=0.1)
    assert width["apart"] < 0.7 * width["alone"]


def test_concordance_covers_its_true_value() -> None:
    """Normal scores on five grades, 40 labels; the true share is that of 4,000 rows."""
    rng = np.random.default_rng(5)

    def drawn(rows: int) -> tuple[np.ndarray, np.ndarray]:
        labels = rng.integers(1, 6, rows).astype(float)
        return labels + rng.normal(0, 2.0, rows), labels

    scores, labels = drawn(4_000)
    later = labels[:, None] > labels
    truth = np.mean((scores[:, None] > scores)[later])
    covered = 0
    for _ in range(200):
        found = graded_agreement(pairs_of(*drawn(40)), range(1, 6))["concordance"]
        assert found.ci_low is not None and found.ci_high is not None
        covered += found.ci_low <= truth <= found.ci_high
    assert covered / 200 >= 0.92


def test_grades_of_which_nearly_all_are_one_are_too_few() -> None:
    labels = [5.0] * 36 + [1.0, 2.0, 3.0, 4.0]
    assert judge_verdict(pairs_of(labels, labels), graded=True)["word"] == "too few labels"
    assert judge_verdict(pairs_of(GRADES[:40], [3.0] * 40), graded=True)["word"] == "not shown"
