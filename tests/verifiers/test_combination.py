"""What a judge says of a sentence and its counted words as one probability: by examples, and by labels."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluator import ConfigError, RAGEvaluator, ScriptedJudge
from rag_evaluator.prompts import OwnPrompt
from rag_evaluator.verifiers import Combination, combination_of, shares_of_words
from tests.known_verifier import ROW

EXAMPLES = {
    row["input"]["hypothesis"]: row["output"]["answer"] for row in OwnPrompt("groundedness", "prompt").pack.examples
}
SHARES = st.floats(0, 1)


def judge(right: float, of_rows: float = 0.6) -> ScriptedJudge:
    """A judge that gives the right answer to the examples with a probability, and `yes` to rows with another."""

    def choices(prompt: Any, options: Any) -> dict[str, float]:
        answer = EXAMPLES.get(prompt.data.hypothesis)
        share = of_rows if answer is None else right if answer == "yes" else 1 - right
        return dict(zip(options, (share, 1 - share), strict=True))

    return ScriptedJudge(choices=choices)


def said(config: dict[str, Any], by: ScriptedJudge) -> list[Any]:
    results = RAGEvaluator({"metrics": ["groundedness"], "verifier": config}, judge=by).evaluate([ROW, ROW])
    first, second = (score.judgements[-1]["response"]["sentences"] for score in results.scores["groundedness"])
    assert first == second
    return list(first)


def test_the_weight_of_a_judge_is_the_difference_of_its_classes_in_variances() -> None:
    odds = {0.2: -math.log(4), 0.8: math.log(4), 0.5: 0.0}
    made = combination_of([0.8, 0.5], [0.5, 0.2])
    distance = (odds[0.8] + 0) / 2 - (0 + odds[0.2]) / 2
    assert made.judge == pytest.approx(distance / (math.log(4) ** 2 / 2))
    assert made.probability(0.5, 0.585) == 0.5


@given(SHARES, SHARES, SHARES)
def test_a_judge_that_does_not_tell_the_examples_apart_counts_nothing(share: float, one: float, other: float) -> None:
    blind = combination_of([0.3, 0.6], [0.3, 0.6])
    inverse = combination_of([0.1, 0.2], [0.9, 0.8])
    assert blind.probability(one, share) == blind.probability(other, share) == inverse.probability(one, share)


def test_words_of_a_sentence_without_a_content_word_are_in_the_middle() -> None:
    assert shares_of_words(["It is.", "Tesk it is.", "Om"], ["Tesk."], "english") == [0.585, 1.0, 0.0]


def test_sentences_have_both_figures_and_the_examples_are_asked_once() -> None:
    good = judge(0.9)
    sentences = said({"combine": "words"}, good)
    expected = combination_of([0.9] * 4, [0.1] * 4)
    shares = [1.0, 1.0, 0.0]  # born Tesk; lies Om; wrote six books
    assert [row["judged"] for row in sentences] == [0.6] * 3
    assert [row["share"] for row in sentences] == shares
    assert [row["probability"] for row in sentences] == [expected.probability(0.6, share) for share in shares]
    assert good.asked == 8 + 2 * 3 or good.asked == 2 * 8 + 2 * 3  # rows begin together


def test_a_calibration_counts_for_its_metric_judge_and_language_only(tmp_path: Path) -> None:
    by = judge(0.9)
    keys: dict[str, Any] = {"metrics": ["groundedness"]}
    parts = dict(
        part.partition(":")[::2] for part in RAGEvaluator(keys, judge=by).signatures()["groundedness"].split("|")
    )
    wanted = {"judge": parts["judge"], "prompts": parts["prompts"], "language": "english"}
    path = tmp_path / "calibration.json"
    weights = Combination(-1.0, 2.0, 3.0)

    def write(**other: Any) -> dict[str, Any]:
        values = {
            "combination": asdict(weights),
            "metric": "groundedness",
            "signature": wanted,
            "clusters": [],
            **other,
        }
        path.write_text(json.dumps(values), "utf-8")
        return {"calibration": path}

    assert said(write(), by)[2]["probability"] == weights.probability(0.6, 0.0)
    for other, words in (
        ({"metric": "context_coverage"}, "none of the metrics of this run"),
        ({"signature": {**wanted, "judge": "x"}}, "does not fit this run: it was made with another judge"),
        ({"signature": {**wanted, "language": "german"}}, "it was made with another language"),
        ({"combination": {"intercept": math.nan, "judge": 1, "words": 1}}, "not all numbers"),
        ({"combination": [1]}, "is no calibration"),
    ):
        with pytest.raises(ConfigError, match=words):
            said(write(**other), by)


@pytest.mark.parametrize("other", [{"model": "words"}, {"calibration": "x.json"}])
def test_words_are_combined_with_what_the_judge_says_only(other: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"verifier\.combine"):
        RAGEvaluator({"metrics": ["groundedness"], "verifier": {"combine": "words", **other}})
