"""Verdicts of a verifier in ragas' metrics: questions and scores as worked out by hand, and as ragas computes them."""

from pathlib import Path
from typing import Any

import pytest
from aliases import Json
from known_verifier import KnownVerifier
from statement_judge import (
    BOOKS,
    BORN,
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

from rag_evaluator import ConfigError, RAGEvaluator
from rag_evaluator.errors import PromptError
from rag_evaluator.results import explained

STATEMENTS = "faithfulness_statement_generator_prompt_dutch"
VERDICTS = "faithfulness_nli_statement_prompt_dutch"


def value(metric: str, options: Json, *args: Any, **kwargs: Any) -> float:
    score = scored(metric, options, *args, **kwargs).scores[metric][0]
    assert score.reason is None
    return score.value


def test_faithfulness_is_the_share_of_the_judges_statements_that_the_verifier_supports() -> None:
    judge = Judge()
    verifier = KnownVerifier(KNOWN)
    assert value("faithfulness", BY_VERIFIER, judge, verifier) == pytest.approx(2 / 3)
    assert judge.asked == 1, "it writes statements"
    assert verifier.asked == [((FIRST, SECOND), (BORN, RIVER, BOOKS), ROW["user_input"])]


@pytest.mark.parametrize(("threshold", "expected"), [(0.95, 0.0), (0.7, 1 / 3), (0.3, 1.0)])
def test_the_threshold_of_the_verifier_decides(threshold: float, expected: float) -> None:
    results = scored("faithfulness", BY_VERIFIER, threshold=threshold)
    assert results.scores["faithfulness"][0].value == pytest.approx(expected)


def test_context_recall_takes_the_sentences_of_the_reference() -> None:
    row = {**ROW, "reference": f"{BORN} Is that far? {RIVER}"}
    judge = Judge()
    verifier = KnownVerifier(KNOWN)
    score = scored("context_recall", BY_VERIFIER, judge, verifier, row).scores["context_recall"][0]
    assert score.value == 1.0
    assert verifier.asked == [((FIRST, SECOND), (BORN, RIVER), ROW["user_input"])]
    assert judge.questions == []
    assert score.judgements[-1]["response"]["not_counted"] == [{"sentence": "Is that far?", "why": "question"}]
    words = [verdict.word for verdict in explained([{"metric": "context_recall", **score.to_json()}])]
    assert words == ["in the contexts", "in the contexts", "not counted"]


def test_a_verifier_needs_no_pack_of_the_question_that_it_answers(tmp_path: Path) -> None:
    options = {"faithfulness": BY_VERIFIER}
    config = {"metrics": ["faithfulness"], "metric_options": options, "language": "dutch"}
    evaluator = RAGEvaluator({**config, "prompts_dir": str(tmp_path)}, judge=Judge(), verifier=KnownVerifier({}))
    with pytest.raises(PromptError) as refused:
        evaluator.set_prompts()
    assert [name for name in (STATEMENTS, VERDICTS) if name in str(refused.value)] == [STATEMENTS]


def test_context_recall_by_a_verifier_needs_no_judge_and_says_so_in_its_signature() -> None:
    settings = {"metrics": ["context_recall"], "metric_options": {"context_recall": BY_VERIFIER}}
    evaluator = RAGEvaluator(settings, verifier=KnownVerifier(KNOWN))
    signature = evaluator.signatures()["context_recall"]
    assert "|verifier:known" in signature
    assert "|judge:" not in signature
    assert "|language:english" in signature
    assert evaluator.evaluate([ROW]).scores["context_recall"][0].value == 1.0


# Claims of the response against the reference: 1, 1, 0 (probabilities 1, 0.95, 0.1); of the reference against the
# response: 1, 0 (0.7, 0.4). So tp 2, fp 1, fn 1: precision 2/3, recall 2/3, F1 2 * 2/3 * 2/3 / (4/3) = 2/3.
@pytest.mark.parametrize("mode", ["precision", "recall", "f1"])
def test_factual_correctness_holds_claims_against_the_other_text(mode: str) -> None:
    judge = Judge()
    verifier = KnownVerifier(KNOWN)
    assert value("factual_correctness", {**BY_VERIFIER, "mode": mode}, judge, verifier) == pytest.approx(0.67)
    against = [(texts, claims) for texts, claims, _ in verifier.asked]
    of_response = ((ROW["reference"],), (BORN, RIVER, BOOKS))
    assert against == [of_response] if mode == "precision" else [of_response, ((ROW["response"],), (BORN, RIVER))]
    assert judge.questions == []


# Reference statements: BORN by the first context (0.9), RIVER by the second (0.6): both contexts are relevant.
# Response statements by a context: BORN and RIVER; BOOKS by none (0.3). By the reference: BORN, RIVER, not BOOKS (0.1).
# Wrong and supported by a relevant context: none.
def test_noise_sensitivity_asks_about_each_context_alone() -> None:
    judge = Judge()
    verifier = KnownVerifier(KNOWN)
    assert value("noise_sensitivity", BY_VERIFIER, judge, verifier) == 0.0
    assert [texts for texts, _, _ in verifier.asked] == [(FIRST,), (FIRST,), (SECOND,), (SECOND,), (ROW["reference"],)]
    assert judge.questions == []


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("faithfulness", {}),
        ("context_recall", {}),
        *(("factual_correctness", {"mode": mode}) for mode in ("f1", "precision", "recall")),
        *(("noise_sensitivity", {"mode": mode}) for mode in ("relevant", "irrelevant")),
    ],
)
def test_a_verifier_that_says_the_same_as_the_judge_gives_ragas_score(metric: str, options: Json) -> None:
    judged = value(metric, options, Judge(*JUDGED))
    assert value(metric, {**options, **BY_VERIFIER}, Judge(), KnownVerifier(CERTAIN, other=0.0)) == judged


def test_signatures_name_verifier_options_and_the_threshold_that_decides() -> None:
    def signature(options: Json, threshold: float = 0.5) -> str:
        settings: Json = {"metrics": ["faithfulness"], "metric_options": {"faithfulness": options}}
        settings["verifier"] = {"threshold": threshold}
        return RAGEvaluator(settings, Judge(), verifier=KnownVerifier({})).signatures()["faithfulness"]

    plain = RAGEvaluator({"metrics": ["faithfulness"]}, Judge()).signatures()["faithfulness"]
    assert "verifier" not in plain
    assert signature({"verdicts": "judge"}) == plain
    assert '{"verdicts": "verifier"}' in signature(BY_VERIFIER)
    assert "|judge:" in signature(BY_VERIFIER)
    assert "|verifier:known" in signature(BY_VERIFIER)
    assert '{"threshold": 0.7, "verdicts": "verifier"}' in signature(BY_VERIFIER, 0.7)


HEAD = "metrics: [faithfulness]\nverifier: {model: /models/v}\n"
FAULTS = [
    (
        HEAD + "metric_options: {faithfulness: {verdicts: verifyer}}",
        "line 3: 'metric_options.faithfulness.verdicts' is 'verifyer': input should be 'judge' or 'verifier'",
    ),
    (
        "metrics: [faithfulness]\nmetric_options: {faithfulness: {verdicts: verifier}}",
        "line 2: 'metric_options.faithfulness.verdicts' needs a verifier, and verifier.model is "
        "judge. Set verifier.model to a folder or words, or remove this.",
    ),
]


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_a_wrong_option_is_refused_with_its_line_before_anything_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(f"{text}\n", "utf-8")
    with pytest.raises(ConfigError) as caught:
        RAGEvaluator.from_config("config.yaml")
    assert str(caught.value).removeprefix("config.yaml, ").startswith(message)
