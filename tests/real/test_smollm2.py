"""A real instruct model, of a GGUF file: every score arrives, whatever it is worth."""

import math
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import METRICS, Judge, RAGEvaluator, Results, check, generate, sort

Rows = list[dict[str, Any]]


def test_it_answers_as_people_know_it(judge: Judge) -> None:
    chances = judge.choose("What is the capital of France?", ["Paris", "London", "Rome", "Berlin"])
    assert max(chances, key=chances.__getitem__) == "Paris"


def test_no_score_is_missing_and_packed_batches_run(smollm2_run: Results, judge: Judge) -> None:
    for name, scores in smollm2_run.scores.items():
        assert [score.reason for score in scores if math.isnan(score.value)] == [], name
    assert judge.about["path"] == "packed" and "why" not in judge.about


def test_real_embeddings_tell_the_right_answer_from_the_others(smollm2_run: Results) -> None:
    right, wrong, evasive = (score.value for score in smollm2_run.scores["semantic_similarity"])
    assert right == pytest.approx(1.0, abs=1e-6) and 1 > wrong > evasive > 0
    assert all(0.5 < score.value <= 1 for score in smollm2_run.scores["answer_relevancy"])


def test_check_judges_a_row(judge: Judge, sample: Rows) -> None:
    found = check({"metrics": ["context_recall"]}, judge, data=sample)
    assert [entry.text for entry in found.checks if entry.state == "failed"] == []
    assert any(entry.name == "row" and entry.state == "ok" for entry in found.checks)


def test_sort_puts_every_context_in_its_order(judge: Judge, sample: Rows, tmp_path: Path) -> None:
    contexts = sample[0]["retrieved_contexts"]
    (made,) = sort([sample[0]["user_input"]], [contexts], judge=judge, output_dir=tmp_path)
    assert sorted(made["contexts"]) == sorted(contexts)


def test_generate_writes_a_reference(judge: Judge, sample: Rows, tmp_path: Path) -> None:
    (written,) = generate(
        [sample[0]["user_input"]], [sample[0]["retrieved_contexts"]], judge=judge, output_dir=tmp_path
    )
    assert written.endswith(".")


@pytest.mark.slow
def test_each_judged_metric_scores_a_row(judge: Judge, sample: Rows) -> None:
    row = {**sample[0], "reference_contexts": sample[0]["retrieved_contexts"][:1]}
    row["rubrics"] = {"score1_description": "The answer is wrong.", "score2_description": "The answer is right."}
    judged = [name for name, metric in METRICS.items() if metric.judge]
    results = RAGEvaluator({"metrics": judged}, judge).evaluate([row])
    assert {name: scores[0].reason for name, scores in results.scores.items() if math.isnan(scores[0].value)} == {}
