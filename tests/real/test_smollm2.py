"""A real instruct model, of a GGUF file: every question is answered, and its own work is checked."""

from pathlib import Path

import pytest
from aliases import Rows
from folders import lines_of

from rag_evaluator import METRICS, Judge, RAGEvaluator, Results, check, generate, sort
from rag_evaluator.resources import packaged
from rag_evaluator.results import REASONS


def test_it_answers_as_people_know_it(judge: Judge) -> None:
    chances = judge.choose("What is the capital of France?", ["Paris", "London", "Rome", "Berlin"])
    assert max(chances, key=chances.__getitem__) == "Paris"


def test_scores_are_missing_for_doubtful_work_only_and_packed_batches_run(smollm2_run: Results, judge: Judge) -> None:
    for name, scores in smollm2_run.scores.items():
        missing = {score.reason for score in scores if score.missing and score.is_applicable}
        assert missing <= set(REASONS.values()), name
        assert all(score.flags for score in scores if score.missing and score.is_applicable)
    assert judge.about["path"] == "packed" and "why" not in judge.about


def test_faithfulness_has_no_figure_as_the_judge_repeats_the_example_of_its_prompt(smollm2_run: Results) -> None:
    figures = smollm2_run.summary()["faithfulness"]
    assert (figures["mean"], figures["scored"], figures["flags"]["copied"]) == (
        None,
        0,
        2,
    )  # one refuses
    assert "faithfulness has no figure: 3 of 3 rows could not be scored (in 2 the judge " in str(smollm2_run)
    assert all("Albert Einstein" in score.flags["copied"][0] for score in smollm2_run.scores["faithfulness"][:2])


def test_context_recall_has_a_verdict_for_each_sentence_of_the_reference(smollm2_run: Results, sample: Rows) -> None:
    for row, score in zip(sample, smollm2_run.scores["context_recall"], strict=True):
        [judgement] = score.judgements
        statements = [said["statement"] for said in judgement["response"]["classifications"]]
        assert "".join(" ".join(statements).split()) == "".join(row["reference"].split())


@pytest.mark.slow
def test_the_first_sentence_about_the_bundled_sample_names_copies_and_contradictions(judge: Judge) -> None:
    rows = lines_of(packaged("examples/dataset.jsonl"))
    results = RAGEvaluator({"metrics": ["faithfulness"]}, judge).evaluate(rows)
    assert str(results).splitlines()[0] == (
        "faithfulness has no figure: 12 of 12 rows could not be scored (in 11 the judge repeats the example of its "
        "prompt; in 1 it gave the same statement both verdicts). Take a larger judge, or `groundedness` with a "
        "verifier."
    )


def test_real_embeddings_separate_the_right_answer_from_the_others(smollm2_run: Results) -> None:
    right, wrong, evasive = (score.value for score in smollm2_run.scores["semantic_similarity"])
    assert right == pytest.approx(1.0, abs=1e-6) and 1 > wrong > evasive > 0
    assert any(0.5 < score.value <= 1 for score in smollm2_run.scores["answer_relevancy"])


def test_check_judges_a_row(judge: Judge, sample: Rows) -> None:
    found = check({"metrics": ["context_recall"]}, judge, data=sample)
    assert [entry.text for entry in found.checks if entry.state == "failed"] == []
    assert any(entry.name == "row" and entry.state == "ok" for entry in found.checks)


def test_sort_puts_every_context_in_its_order(judge: Judge, sample: Rows, tmp_path: Path) -> None:
    contexts = sample[0]["retrieved_contexts"]
    (made,) = sort([sample[0]["user_input"]], [contexts], judge=judge, output_dir=tmp_path)
    assert sorted(made["contexts"]) == sorted(contexts)


def test_the_example_of_the_prompt_is_no_reference(judge: Judge, sample: Rows, tmp_path: Path) -> None:
    """This judge answers what the example of its prompt answers, about a film."""
    (written,) = generate(
        [sample[0]["user_input"]], [sample[0]["retrieved_contexts"]], judge=judge, output_dir=tmp_path
    )
    assert "film" not in written.lower()


@pytest.mark.slow
def test_each_judged_metric_scores_a_row(judge: Judge, sample: Rows) -> None:
    row = {**sample[0], "reference_contexts": sample[0]["retrieved_contexts"][:1]}
    row["rubrics"] = {"score1_description": "The answer is wrong.", "score2_description": "The answer is right."}
    judged = [name for name, metric in METRICS.items() if metric.judge]
    results = RAGEvaluator({"metrics": judged}, judge).evaluate([row])
    missing = {name: scores[0].reason for name, scores in results.scores.items() if scores[0].missing}
    assert set(missing.values()) <= set(REASONS.values())
    assert all(results.scores[name][0].flags for name in missing)
