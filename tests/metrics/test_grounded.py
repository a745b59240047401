"""Sentences are counted as by hand, by a verifier of known probabilities or by the judge asked in both orders."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
from known_verifier import KNOWN, ROW, KnownVerifier

from rag_evaluator import ModelError, RAGEvaluator, Results, ScriptedJudge
from rag_evaluator.ragas_library import InstructorBaseRagasLLM

METRICS = ["groundedness", "context_coverage", "reference_coverage", "reference_agreement"]


def scored(model: Any = None, row: dict[str, Any] = ROW, judge: Any = None, **config: Any) -> Results:
    metrics = config.pop("metrics", ["groundedness"])
    evaluator = RAGEvaluator({"metrics": metrics, **config}, judge=judge, verifier=model)
    return evaluator.evaluate([row])


@pytest.mark.parametrize(("mode", "expected"), [("share", 2 / 3), ("mean", 1.7 / 3), ("min", 0.2)])
def test_the_modes_are_share_mean_and_lowest_probability(mode: str, expected: float) -> None:
    verifier = KnownVerifier(KNOWN)
    results = scored(verifier, metric_options={"groundedness": {"mode": mode}})
    assert results.scores["groundedness"][0].value == pytest.approx(expected)
    claims = ("He was born in Tesk.", "It lies on the Om.", "He wrote six books.")
    assert verifier.asked == [(tuple(ROW["retrieved_contexts"]), claims, ROW["user_input"])]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("share", "No score of 1 row is below 1"),
        ("mean", "In 1 of 1 row the score is below 1"),
        ("min", "In 1 of 1 row the score is below 1"),
    ],
)
def test_a_probability_below_1_is_not_called_a_lack_of_support(mode: str, expected: str) -> None:
    results = scored(KnownVerifier({}, other=0.9), metric_options={"groundedness": {"mode": mode}})
    assert expected in str(results)


@pytest.mark.parametrize("value", [math.nan, -0.1, 1.5])
def test_a_number_that_is_no_probability_gives_no_score(value: float) -> None:
    score = scored(KnownVerifier({}, other=value)).scores["groundedness"][0]
    assert math.isnan(score.value)
    assert f"probability={value}" in str(score.reason)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ([], "the verifier gave 0 of 3 answers"),
        ([0.9, 0.8, 0.7], "the verifier gave 0.9, which is no Support"),
    ],
)
def test_an_answer_that_is_none_gives_no_score(answer: list[Any], reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = KnownVerifier({})
    monkeypatch.setattr(verifier, "supports", lambda *_: answer)
    score = scored(verifier).scores["groundedness"][0]
    assert math.isnan(score.value)
    assert str(score.reason).startswith(reason)


def test_the_threshold_decides_which_sentences_are_supported() -> None:
    for threshold, expected in ((0.95, 0.0), (0.9, 1 / 3), (0.6, 2 / 3), (0.2, 1.0)):
        results = scored(KnownVerifier(KNOWN), verifier={"threshold": threshold})
        assert results.scores["groundedness"][0].value == pytest.approx(expected)


def test_each_metric_has_its_text_and_its_evidence() -> None:
    verifier = KnownVerifier({("", "He was born in Tesk."): 1.0})
    results = scored(verifier, metrics=METRICS)
    values = {name: results.scores[name][0].value for name in METRICS}
    assert values == {
        "groundedness": pytest.approx(1 / 3),
        "context_coverage": pytest.approx(1 / 2),
        "reference_coverage": pytest.approx(1 / 2),
        "reference_agreement": pytest.approx(1 / 3),
    }
    by_text = {(asked[0][0][:14], len(asked[1])) for asked in verifier.asked}
    of_reference = results.scores["reference_agreement"][0].judgements[0]["response"]["sentences"]
    assert [sentence["contexts"] for sentence in of_reference] == [[], [], []], "the evidence is no context"
    assert by_text == {
        ("Nolu Brak was ", 3),
        ("Nolu Brak was ", 2),
        (ROW["response"][:14], 2),
        (ROW["reference"][:14], 3),
    }


def test_details_hold_each_sentence_with_probability_context_and_piece() -> None:
    score = scored(KnownVerifier(KNOWN)).scores["groundedness"][0]
    (judgement,) = score.judgements
    assert judgement["prompt"] == "verifier"
    assert judgement["response"] == {
        "sentences": [
            {"statement": "He was born in Tesk.", "verdict": 1, "probability": 0.9, "contexts": [0], "piece": 0},
            {"statement": "It lies on the Om.", "verdict": 1, "probability": 0.6, "contexts": [1], "piece": 1},
            {"statement": "He wrote six books.", "verdict": 0, "probability": 0.2, "contexts": [0], "piece": 0},
        ],
        "pieces": 2,
        "not_counted": [{"sentence": "Is that near?", "why": "question"}],
    }
    assert list(judgement["confidence"]) == [0.9, 0.6, 0.8]
    assert score.outcome == "2 pieces of evidence"


@pytest.mark.parametrize("response", ["Who knows?", "?!", "Really? Who?"])
def test_a_response_without_a_claim_has_no_score_and_never_1(response: str) -> None:
    score = scored(KnownVerifier(KNOWN), {**ROW, "response": response}).scores["groundedness"][0]
    assert math.isnan(score.value)
    assert "has no sentence that counts as a claim" in str(score.reason)


def test_a_refusal_is_not_applicable_where_claims_are_judged_and_costs_no_question() -> None:
    metrics = ["faithfulness", "response_groundedness", "noise_sensitivity", "groundedness", "reference_agreement"]
    judge = ScriptedJudge([])
    row = {**ROW, "response": "I cannot answer this [1], because the documents only cover 1990."}
    results = scored(KnownVerifier(KNOWN), row, judge, metrics=metrics)
    scores = [results.scores[name][0] for name in metrics]
    assert [score.is_applicable for score in scores] == [False] * len(metrics)
    assert {score.reason for score in scores} == {
        "the response refuses to answer, by its words: it has no claim to judge"
    }
    assert judge.asked == 0
    assert "|refusals:3" in results.signatures["faithfulness"]
    others = RAGEvaluator({"metrics": ["factual_correctness"]}, judge=judge).signatures()
    assert "refusals" not in others["factual_correctness"]


def test_an_object_without_supports_is_refused_before_anything_is_scored() -> None:
    with pytest.raises(ModelError, match=r"verifier: expected a folder .* received dict"):
        RAGEvaluator({"metrics": ["groundedness"]}, verifier={})


def test_signatures_name_verifier_threshold_and_mode() -> None:
    plain = RAGEvaluator({"metrics": ["groundedness"]}, verifier=KnownVerifier({})).signatures()["groundedness"]
    assert "|verifier:known" in plain
    assert "judge" not in plain
    options = {"metric_options": {"groundedness": {"mode": "min"}}, "verifier": {"threshold": 0.7}}
    other = RAGEvaluator({"metrics": ["groundedness"], **options}, verifier=KnownVerifier({})).signatures()
    assert '"mode": "min", "threshold": 0.7' in other["groundedness"]


def answering(supported: dict[str, float]) -> ScriptedJudge:
    """A judge with the probability that each sentence is supported."""

    def choices(prompt: str, options: Sequence[str]) -> dict[str, float]:
        probability = supported[prompt.data.hypothesis]  # type: ignore[attr-defined]  # a PromptText
        return dict(zip(options, (probability, 1 - probability), strict=True))

    return ScriptedJudge(choices=choices)


SURE = {"He was born in Tesk.": 0.9, "It lies on the Om.": 0.7, "He wrote six books.": 0.3}


def test_the_judge_is_asked_once_about_each_sentence() -> None:
    judge = answering(SURE)
    score = scored(judge=judge).scores["groundedness"][0]
    assert score.value == pytest.approx(2 / 3)
    assert judge.asked == 3
    said = score.judgements[-1]["response"]["sentences"]
    assert [sentence["probability"] for sentence in said] == [0.9, 0.7, 0.3]
    assert [judgement["input"]["hypothesis"] for judgement in score.judgements[:-1]] == list(SURE)
    assert score.judgements[0]["response"] == {"yes": 0.9, "no": pytest.approx(0.1)}


def test_a_judge_without_probabilities_says_yes_or_no() -> None:
    class PlainJudge(InstructorBaseRagasLLM):
        async def agenerate(self, prompt: str, response_model: Any) -> Any:
            data: Any = prompt.data  # type: ignore[attr-defined]
            return response_model(answer="no" if "books" in data.hypothesis else "yes")

        def generate(self, prompt: str, response_model: Any) -> Any:
            raise NotImplementedError

    score = scored(judge=PlainJudge()).scores["groundedness"][0]
    assert score.value == pytest.approx(2 / 3)
    assert [sentence["probability"] for sentence in score.judgements[-1]["response"]["sentences"]] == [1.0, 1.0, 0.0]
    assert list(score.judgements[-1]["confidence"]) == [], "it has said yes or no"
