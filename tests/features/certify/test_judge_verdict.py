"""What labels show of a judge, in a word: limits, too few labels, one class, grades; by the printed interval."""

from pathlib import Path

import numpy as np
import pytest
from known_labels import certified
from labelled_runs import scored_run

from rag_evaluator import ResultsError, certify
from rag_evaluator.statistics import graded_agreement, pairs_of


def separated(accepted: int, rejected: int, wrong: int) -> tuple[list[float], list[float]]:
    """Scores of 0 and 1 that are the labels, but for the first `wrong` rows of each class; and the labels."""
    right = [place >= wrong for count in (accepted, rejected) for place in range(count)]
    labels = [1.0] * accepted + [0.0] * rejected
    return [label if same else 1 - label for label, same in zip(labels, right, strict=True)], labels


def test_scores_that_are_all_equal_show_nothing(tmp_path: Path) -> None:
    verdict = certified(tmp_path / "run", [0.5] * 40, [1.0, 0.0] * 20)["verdict"]
    assert verdict == {"word": "not shown", "reason": "all scores are equal"}


def test_nineteen_labels_make_no_certificate(tmp_path: Path) -> None:
    run = scored_run(tmp_path / "run", *separated(10, 9, 0))
    with pytest.raises(ResultsError, match="19 labels, 9 of the rarer class; 20 are needed"):
        certify(run, label={"m": "human"})


@pytest.mark.parametrize("wrong", [0, 3, 4, 7, 8, 10, 11, 19, 20, 22, 30])
def test_the_limits_are_those_of_the_interval_that_is_printed(wrong: int, tmp_path: Path) -> None:
    """Shares of pairs on both sides of each limit: the word is what Newcombe's interval of the same rows says."""
    found = certified(tmp_path / "run", *separated(30, 30, wrong))
    area = found["binary"]["auc"]
    rules = {
        "useful": area["ci_low"] >= 0.7,
        "worse than chance": area["ci_high"] < 0.5,
        "weak": area["ci_low"] > 0.5 and area["ci_high"] < 0.7,
        "better than chance, quality not settled": 0.5 < area["ci_low"] < 0.7 <= area["ci_high"],
        "not shown": area["ci_low"] <= 0.5 <= area["ci_high"],
    }
    assert rules[found["verdict"]["word"]]
    assert sum(rules.values()) == 1
    assert f"AUC {area['value']:.3f} [{area['ci_low']:.3f}, {area['ci_high']:.3f}]" in found["verdict"]["reason"]


def test_copies_in_clusters_show_no_more_than_their_originals(tmp_path: Path) -> None:
    scores, labels = separated(15, 15, 3)
    copied = certified(tmp_path / "a", scores * 10, labels * 10, clusters=list(range(30)) * 10)
    assert copied["verdict"]["word"] == "better than chance, quality not settled"
    assert certified(tmp_path / "b", scores * 10, labels * 10)["verdict"]["word"] == "useful"


GRADES = np.repeat(np.arange(1.0, 6.0), 20)


def test_grades_are_judged_by_concordance_of_pairs_with_different_labels(tmp_path: Path) -> None:
    """Worked out by hand: of five pairs with other labels 4 are concordant, 1 tied, 0 the other way round."""
    found = certified(tmp_path / "run", [1, 2, 2, 3] * 5, [1, 2, 3, 3] * 5, scale=(1, 3))["graded"]["concordance"]
    assert found["value"] == pytest.approx((4 + 0.5) / 5)
    rng = np.random.default_rng(0)
    near = GRADES + rng.normal(0, 0.6, 100)
    scores = {"useful": near, "worse than chance": 6 - near, "not shown": rng.permutation(near)}
    for word, values in scores.items():
        verdict = certified(tmp_path / word, np.clip(values, 1, 5), GRADES, scale=(1, 5))["verdict"]
        assert verdict["word"] == word
        assert verdict["reason"].startswith("concordance 0.")


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


def test_grades_of_which_nearly_all_are_one_are_too_few(tmp_path: Path) -> None:
    labels = [5.0] * 36 + [1.0, 2.0, 3.0, 4.0]
    few = certified(tmp_path / "a", labels, labels, scale=(1, 5))
    equal = certified(tmp_path / "b", GRADES[:40], [3.0] * 40, scale=(1, 5))
    assert (few["verdict"]["word"], equal["verdict"]["word"]) == ("too few labels", "not shown")
