"""Verdicts of a verifier in ragas' metrics: questions and scores as worked out by hand, and as ragas computes them."""

import math
from pathlib import Path
from typing import Any

import pytest
from known_verifier import KnownVerifier
from statement_judge import (
    BOOKS,
    BORN,
    BY_BOTH,
    BY_VERIFIER,
    CERTAIN,
    FIRST,
    JUDGED,
    KNOWN,
    RIVER,
    ROW,
    SECOND,
    Judge,
    scored,
)

from rag_evaluator import ConfigError, RAGEvaluator, ScriptedJudge
from rag_evaluator.errors import JudgementError, PromptError
from rag_evaluator.metrics.own.verdicts import StatementEvidence, is_drawn
from rag_evaluator.results.judgement import explained

STATEMENTS, VERDICTS = "faithfulness_statement_generator_prompt_dutch", "faithfulness_nli_statement_prompt_dutch"


def value(metric: str, options: dict[str, Any], *args: Any, **kwargs: Any) -> float:
    score = scored(metric, options, *args, **kwargs).scores[metric][0]
    assert score.reason is None
    return score.value


def test_faithfulness_is_the_share_of_the_judges_statements_that_the_verifier_supports() -> None:
    judge, verifier = Judge(), KnownVerifier(KNOWN)
    assert value("faithfulness", BY_VERIFIER, judge, verifier) == pytest.approx(2 / 3)
    assert judge.asked == 1, "it writes statements"
    assert verifier.asked == [((FIRST, SECOND), (BORN, RIVER, BOOKS), ROW["user_input"])]


@pytest.mark.parametrize(("threshold", "expected"), [(0.95, 0.0), (0.7, 1 / 3), (0.3, 1.0)])
def test_the_threshold_of_the_verifier_decides(threshold: float, expected: float) -> None:
    results = scored("faithfulness", BY_VERIFIER, threshold=threshold)
    assert results.scores["faithfulness"][0].value == pytest.approx(expected)


def test_a_cascade_asks_the_judge_about_the_doubtful_statements_only() -> None:
    judge = Judge(BOOKS)
    assert value("faithfulness", BY_BOTH, judge) == pytest.approx(2 / 3), "born by the verifier, books by the judge"
    assert judge.questions == [(f"{FIRST}\n{SECOND}", (RIVER, BOOKS))]


def test_at_the_ends_of_the_doubt_the_verifier_decides() -> None:
    judge = Judge()
    assert value("faithfulness", {**BY_BOTH, "doubtful": [0.3, 0.6]}, judge) == pytest.approx(2 / 3)
    assert judge.questions == []


@pytest.mark.parametrize("options", [BY_VERIFIER, BY_BOTH])
def test_context_recall_takes_the_sentences_of_the_reference(options: dict[str, Any]) -> None:
    row = {**ROW, "reference": f"{BORN} Is that far? {RIVER}"}
    judge, verifier = Judge(RIVER), KnownVerifier(KNOWN)
    score = scored("context_recall", options, judge, verifier, row).scores["context_recall"][0]
    assert score.value == 1.0
    assert verifier.asked == [((FIRST, SECOND), (BORN, RIVER), ROW["user_input"])]
    assert judge.questions == ([] if options is BY_VERIFIER else [(f"{FIRST}\n{SECOND}", (RIVER,))])
    assert score.judgements[-1]["response"]["not_counted"] == [{"sentence": "Is that far?", "why": "question"}]
    words = [verdict.word for verdict in explained([{"metric": "context_recall", **score.to_json()}])]
    assert words == ["in the contexts", "in the contexts", "not counted"]


def test_a_verifier_needs_no_pack_of_the_question_that_it_answers(tmp_path: Path) -> None:
    for verdicts, packs in (("verifier", {STATEMENTS}), ("cascade", {STATEMENTS, VERDICTS})):
        options = {"faithfulness": {"verdicts": verdicts}}
        config = {"metrics": ["faithfulness"], "metric_options": options, "language": "dutch"}
        evaluator = RAGEvaluator({**config, "prompts_dir": str(tmp_path)}, judge=Judge(), verifier=KnownVerifier({}))
        with pytest.raises(PromptError) as refused:
            evaluator.set_prompts()
        named = {name for name in (STATEMENTS, VERDICTS) if name in str(refused.value)}
        assert named == packs


def test_context_recall_by_a_verifier_needs_no_judge_and_says_so_in_its_signature() -> None:
    settings = {"metrics": ["context_recall"], "metric_options": {"context_recall": BY_VERIFIER}}
    evaluator = RAGEvaluator(settings, verifier=KnownVerifier(KNOWN))
    signature = evaluator.signatures()["context_recall"]
    assert "|verifier:known" in signature
    assert "|judge:" not in signature
    assert "|language:english" in signature
    assert evaluator.evaluate([ROW]).scores["context_recall"][0].value == 1.0


def test_a_sentence_that_the_judge_divides_is_supported_if_all_of_it_is() -> None:
    whole = f"{BORN[:-1]} and {RIVER}"
    row = {**ROW, "reference": whole}

    def rule(prompt: Any, model: Any) -> dict[str, Any]:
        parts = [{"statement": part, "reason": part, "attributed": int(part == BORN)} for part in (BORN, RIVER)]
        return {"classifications": parts}

    score = scored("context_recall", BY_BOTH, ScriptedJudge(rule), KnownVerifier({}, other=0.5), row)
    (sentence,) = score.scores["context_recall"][0].judgements[-1]["response"]["sentences"]
    assert (sentence["verdict"], sentence["reason"]) == (0, f"{BORN} {RIVER}")


# Claims of the response against the reference: 1, 1, 0 (probabilities 1, 0.95, 0.1); of the reference against the
# response: 1, 0 (0.7, 0.4). So tp 2, fp 1, fn 1: precision 2/3, recall 2/3, F1 2 * 2/3 * 2/3 / (4/3) = 2/3.
# In the cascade the judge decides the last two and supports both: fn 0, recall 1, F1 = 0.8.
@pytest.mark.parametrize(
    ("mode", "by_verifier", "by_both"), [("precision", 0.67, 0.67), ("recall", 0.67, 1.0), ("f1", 0.67, 0.8)]
)
def test_factual_correctness_holds_claims_against_the_other_text(mode: str, by_verifier: float, by_both: float) -> None:
    judge, verifier = Judge(BORN, RIVER), KnownVerifier(KNOWN)
    assert value("factual_correctness", {**BY_VERIFIER, "mode": mode}, judge, verifier) == pytest.approx(by_verifier)
    against = [(texts, claims) for texts, claims, _ in verifier.asked]
    of_response = ((ROW["reference"],), (BORN, RIVER, BOOKS))
    assert against == [of_response] if mode == "precision" else [of_response, ((ROW["response"],), (BORN, RIVER))]
    assert judge.questions == []
    assert value("factual_correctness", {**BY_BOTH, "mode": mode}, judge) == pytest.approx(by_both)
    assert judge.questions == ([] if mode == "precision" else [(ROW["response"], (BORN, RIVER))])


# Reference statements: BORN by the first context (0.9), RIVER by the second (0.6): both contexts are relevant.
# Response statements by a context: BORN and RIVER; BOOKS by none (0.3). By the reference: BORN, RIVER, not BOOKS (0.1).
# Wrong and supported by a relevant context: none. In the cascade the judge finds BOOKS in the first context: 1 of 3.
def test_noise_sensitivity_asks_about_each_context_alone() -> None:
    judge, verifier = Judge(BOOKS, RIVER), KnownVerifier(KNOWN)
    assert value("noise_sensitivity", BY_VERIFIER, judge, verifier) == 0.0
    assert [texts for texts, _, _ in verifier.asked] == [(FIRST,), (FIRST,), (SECOND,), (SECOND,), (ROW["reference"],)]
    assert value("noise_sensitivity", BY_BOTH, judge) == pytest.approx(1 / 3)
    assert judge.questions == [(FIRST, (BOOKS,)), (SECOND, (RIVER,)), (SECOND, (RIVER,))]


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("faithfulness", {}),
        ("context_recall", {}),
        *(("factual_correctness", {"mode": mode}) for mode in ("f1", "precision", "recall")),
        *(("noise_sensitivity", {"mode": mode}) for mode in ("relevant", "irrelevant")),
    ],
)
@pytest.mark.parametrize("verdicts", ["verifier", "cascade"])
def test_a_verifier_that_says_the_same_as_the_judge_gives_ragas_score(
    metric: str, options: dict[str, Any], verdicts: str
) -> None:
    judged = value(metric, options, Judge(*JUDGED))
    verified = value(metric, {**options, "verdicts": verdicts}, Judge(), KnownVerifier(CERTAIN, other=0.0))
    assert verified == judged
    doubtful = KnownVerifier({}, other=0.5)
    assert value(metric, {**options, "verdicts": "cascade"}, Judge(*JUDGED), doubtful) == judged


def test_an_audit_asks_about_decided_statements_and_changes_no_score() -> None:
    judge = Judge(BOOKS)
    score = scored("faithfulness", {"verdicts": "cascade", "audit": 1}, judge).scores["faithfulness"][0]
    assert score.value == pytest.approx(2 / 3), "the judge does not support BORN, and was not to decide"
    assert judge.questions == [(f"{FIRST}\n{SECOND}", (RIVER, BOOKS)), (f"{FIRST}\n{SECOND}", (BORN,))]
    born, river, books = score.judgements[-1]["response"]["sentences"]
    assert (born["decided_by"], born["verdict"], born["audit"]) == ("verifier", 1, 0)
    assert "audit" not in river
    assert "audit" not in books


def test_an_audit_without_an_answer_costs_no_score() -> None:
    def rule(prompt: Any, model: Any) -> dict[str, Any]:
        if getattr(prompt.data, "statements", None) == [BORN]:
            raise JudgementError("no answer")
        return Judge(BOOKS)._answer(prompt, model)

    score = scored("faithfulness", {"verdicts": "cascade", "audit": 1}, ScriptedJudge(rule)).scores["faithfulness"][0]
    assert score.value == pytest.approx(2 / 3)
    assert [judgement["error"] for judgement in score.judgements] == [None, None, "no answer", None]
    assert "audit" not in score.judgements[-1]["response"]["sentences"][0]
    assert len(explained([{"metric": "faithfulness", **score.to_json()}])) == 3


def test_a_judge_that_leaves_out_a_doubtful_statement_gives_no_score() -> None:
    score = scored("faithfulness", BY_BOTH, Judge(short=True)).scores["faithfulness"][0]
    assert math.isnan(score.value)
    assert score.reason == "the judge gave 1 verdict about 2 statements"


def test_what_is_audited_depends_on_the_texts_alone() -> None:
    statements = [f"Statement {number}." for number in range(2000)]
    drawn = [text for text in statements if is_drawn(StatementEvidence(["a", "b"]), text, 0.05)]
    assert 60 <= len(drawn) <= 140
    assert drawn == [text for text in reversed(statements) if is_drawn(StatementEvidence(["a", "b"]), text, 0.05)][::-1]
    assert drawn != [text for text in statements if is_drawn(StatementEvidence(["b"]), text, 0.05)]
    assert not any(is_drawn(StatementEvidence([""]), text, 0) for text in statements)
    assert all(is_drawn(StatementEvidence([""]), text, 1) for text in statements)


def test_the_audited_statements_are_the_same_in_any_order_of_rows() -> None:
    rows = [{**ROW, "retrieved_contexts": [f"{FIRST} {number}", SECOND]} for number in range(30)]
    settings = {"metrics": ["faithfulness"], "metric_options": {"faithfulness": {"verdicts": "cascade", "audit": 0.3}}}

    def audited(order: int) -> dict[str, list[bool]]:
        evaluator = RAGEvaluator(settings, Judge(), verifier=KnownVerifier(KNOWN, other=0.0))
        chosen = rows[::order]
        scores = evaluator.evaluate(chosen).scores["faithfulness"]
        return {
            row["retrieved_contexts"][0]: ["audit" in part for part in score.judgements[-1]["response"]["sentences"]]
            for row, score in zip(chosen, scores, strict=True)
        }

    assert audited(1) == audited(-1)
    assert 0 < sum(map(any, audited(1).values())) < 30


def test_signatures_name_verifier_options_and_the_threshold_that_decides() -> None:
    def signature(options: dict[str, Any], threshold: float = 0.5) -> str:
        settings: dict[str, Any] = {"metrics": ["faithfulness"], "metric_options": {"faithfulness": options}}
        settings["verifier"] = {"threshold": threshold}
        return RAGEvaluator(settings, Judge(), verifier=KnownVerifier({})).signatures()["faithfulness"]

    plain = RAGEvaluator({"metrics": ["faithfulness"]}, Judge()).signatures()["faithfulness"]
    assert "verifier" not in plain
    assert signature({"verdicts": "judge"}) == plain
    assert '{"verdicts": "verifier"}' in signature(BY_VERIFIER)
    assert "|judge:" in signature(BY_VERIFIER)
    assert "|verifier:known" in signature(BY_VERIFIER)
    assert '{"threshold": 0.7, "verdicts": "verifier"}' in signature(BY_VERIFIER, 0.7)
    cascade = signature({"verdicts": "cascade", "doubtful": [0.1, 0.9], "audit": 0.5}, 0.7)
    assert '{"audit": 0.5, "doubtful": [0.1, 0.9], "verdicts": "cascade"}' in cascade


HEAD = "metrics: [faithfulness]\nverifier: {model: /models/v}\n"
FAULTS = [
    (
        HEAD + "metric_options: {faithfulness: {verdicts: verifyer}}",
        "line 3: 'metric_options.faithfulness.verdicts' is 'verifyer': input should be 'judge', 'verifier' or "
        "'cascade'",
    ),
    (
        HEAD + "metric_options: {faithfulness: {verdicts: cascade, doubtful: [0.8, 0.2]}}",
        "line 3: 'metric_options.faithfulness.doubtful' is [0.8, 0.2]: expected two numbers from 0 to 1, the lower",
    ),
    (
        HEAD + "metric_options: {faithfulness: {verdicts: cascade, doubtful: [0.5, 0.5]}}",
        "line 3: 'metric_options.faithfulness.doubtful' is [0.5, 0.5]: expected two numbers from 0 to 1, the lower",
    ),
    (
        HEAD + "metric_options: {faithfulness: {verdicts: cascade, doubtful: [-0.1, 2]}}",
        "line 3: 'metric_options.faithfulness.doubtful' is [-0.1, 2]: expected two numbers from 0 to 1, the lower",
    ),
    (
        HEAD + "metric_options: {faithfulness: {verdicts: cascade, audit: 5}}",
        "line 3: 'metric_options.faithfulness.audit' is 5: input should be less than or equal to 1",
    ),
    (
        HEAD + "metric_options: {faithfulness: {verdicts: verifier, audit: 0.1}}",
        "line 3: 'metric_options.faithfulness' is {'verdicts': 'verifier', 'audit': 0.1}: audit is used with verdicts: "
        "cascade only. Set that, or remove audit.",
    ),
    (
        "metrics: [faithfulness]\nmetric_options: {faithfulness: {verdicts: cascade}}",
        "line 2: 'metric_options.faithfulness.verdicts' is cascade, which needs a verifier, and verifier.model is "
        "judge. Set verifier.model to a folder, or remove this.",
    ),
]


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_a_wrong_option_is_refused_with_its_line_before_anything_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(f"{text}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        RAGEvaluator.from_config("config.yaml")
    assert str(caught.value).removeprefix("config.yaml, ").startswith(message)
