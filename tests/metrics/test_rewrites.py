"""`judge.history: rewrite`: one question of the row for all metrics, under the work checks, kept and compared."""

import json
from pathlib import Path
from typing import Any

import pytest
from aliases import Json
from folders import bytes_of, lines_of, write_lines
from pydantic import BaseModel

from rag_evaluator import ConfigError, RAGEvaluator, ResultsError, ScriptedJudge
from rag_evaluator.comparison import compare
from rag_evaluator.errors import JudgeLostError
from rag_evaluator.results import Run, conclude_run

TURNS = [{"role": "user", "content": "Who is Bo?"}, {"role": "assistant", "content": "A dog."}]
ROWS: list[Json] = [
    {"id": "1", "conversation": "b", "question": "Who is Bo?", "answer": "A dog.", "ground_truth": "A dog."},
    {
        "id": "2",
        "conversation": "b",
        "question": "How old?",
        "history": TURNS,
        "answer": "Two.",
        "ground_truth": "Two.",
    },
]
COPIED = "When does the museum open on Mondays?"


def judge(question: str) -> ScriptedJudge:
    def answer(prompt: Any, model: type[BaseModel]) -> Json:
        if model.__name__ == "RewriteOutput":
            assert prompt.data.model_dump() == {
                "history": ["user: Who is Bo?", "assistant: A dog."],
                "user_input": "How old?",
            }
            return {"question": question}
        return {"reason": prompt.data.user_input, "verdict": 0, "label": 5}

    return ScriptedJudge(answer, model_id=question)


def run(folder: Path, name: str, question: str, **config: Any) -> tuple[ScriptedJudge, Json]:
    """The judge that was asked, and the last row of the results."""
    write_lines(folder / "rows.jsonl", ROWS)
    made = judge(question)
    metrics = ["answer_rubric", "refusal_correctness"]
    options = {"refusal_correctness": {"missing_reference": "unanswerable"}}
    settings = {"metrics": metrics, "metric_options": options, "dataset": folder / "rows.jsonl", "report": False}
    settings |= {"judge": {"history": "rewrite"}, **config}
    RAGEvaluator(settings, made).run(folder / name)
    return made, lines_of(folder / name / "scores.jsonl")[-1]


def test_a_question_is_rewritten_once_for_all_metrics(tmp_path: Path) -> None:
    made, row = run(tmp_path, "a", "How old is Bo?")
    assert made.asked == 2 * 2 + 1
    assert (row["rewritten_question"], row["answer_rubric"]) == ("How old is Bo?", 1.0)
    assert sum('"user_input": "How old is Bo?"' in prompt for prompt in made.prompts) == 2
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_bytes())
    assert "|history:rewrite|rewrites:" in manifest["signatures"]["answer_rubric"]
    assert (manifest["config"]["cluster"], manifest["config"]["group_by"]) == ("conversation", ["turn"])
    summary = json.loads((tmp_path / "a" / "summary.json").read_bytes())
    assert {turn: row["count"] for turn, row in summary["answer_rubric"]["groups"]["turn"].items()} == {"1": 1, "2": 1}


def test_a_question_that_stays_as_it_is_is_counted_and_said(tmp_path: Path) -> None:
    for question, same in (("How old?", 1), ("How old is Bo?", 0)):
        run(tmp_path, str(same), question)
        results = Run(tmp_path / str(same))
        assert results.summary["answer_rubric"]["rewrites"] == {"rows": 1, "same": same}
        sentence = "In 1 of 1 row the rewritten question is the question itself."
        assert (sentence in conclude_run(results).sentences) == bool(same)


def test_a_copied_rewrite_costs_the_row_its_scores_with_the_reason(tmp_path: Path) -> None:
    _, row = run(tmp_path, "a", COPIED)
    assert (row["answer_rubric"], row["refusal_correctness"]) == (None, None)
    assert "rewritten_question" not in row
    summary = json.loads((tmp_path / "a" / "summary.json").read_bytes())
    why = "the question could not be rewritten: the judge repeats the example of its prompt"
    assert summary["answer_rubric"]["reasons"] == {why: 1}
    assert summary["answer_rubric"]["flags"] == {"copied": 1}


def test_runs_with_other_questions_are_not_compared_and_questions_can_be_taken(tmp_path: Path) -> None:
    run(tmp_path, "a", "How old is Bo?")
    run(tmp_path, "b", "What is the age of Bo?")
    with pytest.raises(ResultsError, match=r"1 of 1 rewritten question differ between .* --questions-from"):
        compare(tmp_path / "a", tmp_path / "b")
    made, row = run(tmp_path, "c", "What is the age of Bo?", questions_from=tmp_path / "a")
    assert (made.asked, row["rewritten_question"]) == (2 * 2, "How old is Bo?")
    assert compare(tmp_path / "a", tmp_path / "c").matches[0].matched == 2


def test_a_run_that_was_broken_off_goes_on_with_the_question_that_it_has(tmp_path: Path) -> None:
    def lost(prompt: Any, model: type[BaseModel]) -> Json:
        if model.__name__ == "RefusedOutput" and prompt.data.user_input == "How old is Bo?":
            raise JudgeLostError("gone")
        return judge("How old is Bo?").script(prompt, model)

    def other(prompt: Any, model: type[BaseModel]) -> Json:
        assert model.__name__ != "RewriteOutput"
        return judge("").script(prompt, model)

    run(tmp_path, "whole", "How old is Bo?")
    settings = {
        **json.loads((tmp_path / "whole" / "manifest.json").read_bytes())["config"],
        "cluster": None,
        "group_by": [],
    }
    with pytest.raises(JudgeLostError):
        RAGEvaluator(settings, ScriptedJudge(lost, model_id="How old is Bo?")).run(tmp_path / "broken")
    RAGEvaluator(settings, ScriptedJudge(other, model_id="How old is Bo?")).run(tmp_path / "broken")
    assert bytes_of(tmp_path / "broken") == bytes_of(tmp_path / "whole")


def test_questions_of_a_run_that_has_none_are_refused(tmp_path: Path) -> None:
    run(tmp_path, "a", "x", judge={"history": "ignore"})
    with pytest.raises(ResultsError, match="has rewritten none of these questions"):
        run(tmp_path, "b", "How old is Bo?", questions_from=tmp_path / "a")
    with pytest.raises(ConfigError, match="'questions_from' needs judge"):
        run(tmp_path, "b", "x", questions_from=tmp_path / "a", judge={})


def test_only_rows_with_turns_change_a_signature(tmp_path: Path) -> None:
    without = [{name: value for name, value in row.items() if name != "history"} for row in ROWS]
    lines = []
    for rows, way in ((without, "append"), (without, "rewrite"), (ROWS, "append"), (ROWS, "ignore")):
        evaluator = RAGEvaluator({"metrics": ["answer_rubric"], "judge": {"history": way}}, judge("x"))
        evaluator.rows(rows)
        lines.append(evaluator.signatures()["answer_rubric"])
    assert lines[0] == lines[1] == lines[2] == lines[3].replace("|history:ignore", "")
