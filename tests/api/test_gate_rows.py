"""`gate` and `compare` count every row: clusters, missing rows, equal rows, whatever the order of rows."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rag_evaluator
from rag_evaluator import JudgementError, RAGEvaluator, RagEvaluatorError, Results, ScriptedJudge, load_dataset
from rag_evaluator.results import REASONS, Score

NAN = math.nan
ABOUT = {"range": [0.0, 1.0], "kind": "judged", "better": "higher", "stage": "generation", "threshold": None}


def run_of(rows: Sequence[tuple[str, float]], **columns: list[Any]) -> Results:
    """Questions with their scores of faithfulness."""
    table = [
        {"user_input": question, **{name: values[place] for name, values in columns.items()}}
        for place, (question, _) in enumerate(rows)
    ]
    scores = [Score(value, None if value == value else "no answer") for _, value in rows]
    return Results(
        load_dataset(table), {"faithfulness": scores}, {}, {"metrics": {"faithfulness": ABOUT}, "config": {}}
    )


def questions(values: list[float]) -> list[tuple[str, float]]:
    return [(f"Q{place}", value) for place, value in enumerate(values)]


def verdict(*arguments: Any, **options: Any) -> Any:
    [found] = rag_evaluator.gate(*arguments, **options)
    return found


def ends(found: Any) -> list[float | None]:
    """The worse end and the mean in a verdict."""
    return [found.measured.estimate.ci_low, found.measured.estimate.mean]


def test_a_question_counts_as_often_as_the_baseline_has_answers_to_it() -> None:
    a = run_of([("A", 1.0), ("A", 1.0), ("A", 1.0), ("B", 1.0)])
    b = run_of([("B", 1.0), ("A", 1.0), ("A", 0.0)])
    comparison = rag_evaluator.compare(a, b).metrics[0].figures
    assert comparison.mean_b == pytest.approx((3 * 0.5 + 1) / 4)
    assert comparison.difference.mean == pytest.approx(-3 * 0.5 / 4)
    found = verdict(b, not_worse_than=a, margin={"mean:faithfulness": 0.3}, min_coverage=0.5)
    assert found.measured.estimate.mean == pytest.approx(-0.5)  # the third answer to A is missing: (1 + 0 + 0) / 3


@given(
    st.lists(
        st.tuples(
            st.sampled_from("ABCDEFGH"),
            st.sampled_from([0.0, 0.5, 1.0, NAN]),
            st.sampled_from([0.0, 0.5, 1.0, NAN]),
        ),
        min_size=4,
        max_size=12,
    ),
    st.randoms(use_true_random=False),
)
@settings(max_examples=40, deadline=None)
def test_no_order_of_rows_changes_a_verdict(rows: list[tuple[str, float, float]], random: Any) -> None:
    sides = [[(row[0], row[at]) for row in rows] for at in (1, 2)]
    verdicts = [
        verdict(run_of(b), not_worse_than=run_of(a), margin=0.2, min_coverage=0.0)
        for a, b in (sides, [random.sample(side, len(side)) for side in sides])
    ]
    assert ends(verdicts[0]) == ends(verdicts[1])
    assert verdicts[0].passed == verdicts[1].passed


def test_a_missing_row_counts_as_the_worst_score_row_by_row() -> None:
    """The same interval as that of a run in which these rows have the score 0."""
    base = [(f"Q{place // 5}", 1.0) for place in range(100)]
    lost = [(question, NAN if place % 10 == 0 else 1.0) for place, (question, _) in enumerate(base)]
    zero = [(question, 0.0 if value != value else value) for question, value in lost]
    options: dict[str, Any] = {"not_worse_than": run_of(base), "margin": 0.9, "min_coverage": 0.5}
    assert ends(verdict(run_of(lost), **options)) == ends(verdict(run_of(zero), **options))


@pytest.mark.parametrize("is_applicable", [True, False])
def test_a_row_with_nothing_to_score_is_not_counted_as_lost(is_applicable: bool) -> None:
    base = run_of(questions([1.0] * 400))
    rows = run_of(questions([1.0] * 381 + [NAN] * 19))
    scores = [replace(score, is_applicable=is_applicable or not score.missing) for score in rows.scores["faithfulness"]]
    found = verdict(replace(rows, scores={"faithfulness": scores}), fail_if_worse=base)
    assert found.passed != is_applicable
    assert ("19 rows scored in the baseline with nothing to score in this run" in found.reason) != is_applicable
    assert ("19 rows scored in the baseline and not in this run" in found.reason) == is_applicable


def test_a_refusal_without_a_statement_has_nothing_to_score_and_an_error_has_lost_its_score(tmp_path: Path) -> None:
    def answer(prompt: Any, model: type) -> dict[str, Any]:
        if not model.__name__.startswith("StatementGen"):
            return {"statements": [{"statement": prompt.data.statements[0], "reason": "r", "verdict": 1}]}
        if "error" in prompt.data.answer:
            raise JudgementError("no answer")
        return {"statements": [] if "know" in prompt.data.answer else [prompt.data.answer]}

    folders = [tmp_path / name for name in ("base", "refusing", "failing")]
    for folder, response in zip(folders, ("Yes.", "I do not know.", "An error."), strict=True):
        rows = [
            {"user_input": f"Q{at}", "response": response if at < 10 else "Yes.", "retrieved_contexts": ["It is."]}
            for at in range(60)
        ]
        judge = ScriptedJudge(answer, model_id="judge")
        RAGEvaluator({"metrics": ["faithfulness"]}, judge).evaluate(rows, folder=folder)
    equal = verdict(folders[1], fail_if_worse=folders[1])
    assert equal.passed and "50 of 50 rows" not in equal.reason
    strict = verdict(folders[1], fail_if_worse=folders[0])
    assert not strict.passed and "bound them with --max refusals" in strict.reason
    refusing, failing = (verdict(folder, fail_if_worse=folders[0], min_coverage=0.5) for folder in folders[1:])
    assert refusing.passed and "10 rows scored in the baseline with nothing to score" in refusing.reason
    assert not failing.passed and "counted as 0 (no answer): give these rows what they lack" in failing.reason


def test_a_gate_advises_no_update_where_the_judge_s_work_was_refused() -> None:
    rows = run_of(questions([1.0] * 30 + [NAN] * 10))
    scores = [
        replace(score, reason=REASONS["copied"] if score.missing else None) for score in rows.scores["faithfulness"]
    ]
    found = verdict(replace(rows, scores={"faithfulness": scores}), "mean:faithfulness >= 0.5")
    assert "30 of 40 rows have a score, coverage is 0.750, below 0.95: take a larger judge, as --update" in found.reason


def test_a_key_whose_rows_differ_in_group_is_refused() -> None:
    rows = [("A", 1.0), ("A", 0.0), ("B", 1.0), ("B", 0.0)]
    run = run_of(rows, model=["x", "y"] * 2)
    with pytest.raises(RagEvaluatorError, match=r"the rows of 'A' differ in 'model' \('x', 'y'\).*--on"):
        rag_evaluator.compare(run, run, group_by=["model"])
    assert {line.group for line in rag_evaluator.compare(run, run, group_by=["model"], on="model").groups} == {
        "x",
        "y",
    }


def test_the_clusters_of_the_baseline_count() -> None:
    a = run_of(questions([1.0] * 300), document=["one"] * 150 + ["two"] * 150)
    b = run_of(questions([1.0] * 300), document=[f"d{place}" for place in range(300)])
    assert not verdict(b, not_worse_than=a, margin=0.05, cluster="document").passed
    assert verdict(a, not_worse_than=b, margin=0.05, cluster="document").passed


def test_copied_questions_are_named_with_the_remedy() -> None:
    rows = questions([1.0] * 27 + [0.0] * 3) * 20
    run = run_of(rows, id=list(range(600)))
    found = verdict(run, "faithfulness >= 0.5")
    assert "570 of 600 rows of " in found.reason
    assert "cluster: question" in found.reason
    grouped = verdict(run, "faithfulness >= 0.5", cluster="question")
    assert "earlier row" not in grouped.reason
    assert ends(grouped)[0] < ends(found)[0]
    assert "570 of 600 rows" in " ".join(rag_evaluator.compare(run, run).caveats)
    assert "570 of 600 rows" not in " ".join(rag_evaluator.compare(run, run, on="question").caveats)


def test_rows_without_a_question_are_not_called_equal() -> None:
    frame = pd.DataFrame({"id": range(30), "faithfulness": [1.0] * 30})
    assert not verdict(frame, "faithfulness >= 0.8").measured.notes


def test_a_metric_that_the_baseline_lacks_is_named(caplog: pytest.LogCaptureFixture) -> None:
    base = pd.DataFrame({"user_input": [f"Q{place}" for place in range(300)], "faithfulness": [1.0] * 300})
    run = base.assign(bleu=[0.5] * 300)
    assert verdict(run, not_worse_than=base, margin=0.05).passed
    assert "run 1 has no scores of bleu_score: not compared." in caplog.text


@pytest.mark.parametrize(
    ("better", "said"),
    [
        ({"toxicity": "low"}, "expected toxicity=higher or toxicity=lower"),
        ({"toxicty": "lower"}, "no scores of 'toxicty'. Did you mean 'toxicity'"),
        ({"faithfulness": "lower"}, "of faithfulness higher is better"),
    ],
)
def test_a_direction_that_is_wrong_is_refused(better: dict[str, str], said: str) -> None:
    frame = pd.DataFrame({"user_input": ["Q0", "Q1"], "faithfulness": [1.0, 1.0], "toxicity": [0.1, 0.2]})
    with pytest.raises(RagEvaluatorError, match=said):
        rag_evaluator.gate(frame, "mean:faithfulness >= 0.5", better=better)


def test_a_score_file_of_a_run_takes_the_direction_from_the_manifest_beside_it(tmp_path: Any) -> None:
    samples = load_dataset([{"user_input": f"Q{place}", "length": place} for place in range(30)])
    about = {**ABOUT, "better": "lower"}
    scores = {"hallucination": [Score(0.0)] * 30}
    Results(samples, scores, {}, {"metrics": {"hallucination": about}, "config": {}}).write(tmp_path)
    [found] = rag_evaluator.gate(tmp_path / "scores.csv", "hallucination <= 0.2")
    assert found.passed
    [found] = rag_evaluator.gate(tmp_path / "scores.csv", not_worse_than=tmp_path / "scores.csv", margin=0.2)
    assert (found.rule.metric, found.passed) == ("hallucination", True)  # 'length' is no score
