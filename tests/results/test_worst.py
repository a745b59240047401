"""The rows to look at first, and what is said against them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import RAGEvaluator, ScriptedJudge
from rag_evaluator.results import Run, worst_rows


def judged(prompt: Any, model: Any) -> Mapping[str, Any]:
    """No statement is supported; a context is useful unless it says that it is not."""
    if "statements" not in model.model_fields:
        return {"reason": "r", "verdict": int("useless" not in prompt.data.context)}
    if not hasattr(prompt.data, "statements"):
        return {"statements": ["s"]}
    return {"statements": [{"statement": "s", "reason": "r", "verdict": 0}]}


def test_the_main_reason_is_that_of_a_bad_score_before_one_in_the_middle(tmp_path: Path) -> None:
    row = {"user_input": "Where?", "response": "a", "reference": "b", "retrieved_contexts": ["useful"]}
    rows = [{**row, "retrieved_contexts": ["useless", "useful"]}, row]
    metrics = ["context_precision_with_reference", "faithfulness", "exact_match"]
    RAGEvaluator({"metrics": metrics}, ScriptedJudge(judged)).evaluate(rows, folder=tmp_path)
    worst = worst_rows(Run(tmp_path))[0]
    tones = [(score.metric, score.tone) for score in worst.scores]
    assert tones == [(metrics[0], "middle"), (metrics[1], "bad"), (metrics[2], "bad")]  # worst among the rows first
    assert worst.rank == (1 + 0.5) / 2  # metrics that ask no model do not count
    assert (worst.metric, worst.reason) == ("faithfulness", "not supported: “s”. r")


def test_shares_of_sentences_rank_by_the_mean_probability_which_result_files_hold(tmp_path: Path) -> None:
    known = {"Tesk": 0.45, "Om": 0.4, "Nolu": 0.99996}

    def chosen(prompt: Any, options: Sequence[str]) -> dict[str, float]:
        share = next(share for name, share in known.items() if f"It is {name}." in str(prompt))
        return dict(zip(options, (share, 1 - share), strict=True))

    rows = [
        {"user_input": "Where?", "retrieved_contexts": ["A river."], "response": f"It is {name}."}
        for name in (*known, "Tesk. It is Om")
    ]
    judge = ScriptedJudge(choices=chosen)

    results = RAGEvaluator({"metrics": ["groundedness"]}, judge).evaluate(rows, folder=tmp_path)

    run = Run(tmp_path)
    assert [score.value for score in results.scores["groundedness"]] == [0, 0, 1, 0]
    assert [row["probabilities"]["groundedness"] for row in run.rows()] == [
        {"mean": 0.45, "lowest": 0.45},
        {"mean": 0.4, "lowest": 0.4},
        {"mean": 0.99996, "lowest": 0.99996},
        {"mean": pytest.approx(0.425), "lowest": 0.4},
    ]
    assert [row.number for row in worst_rows(run)] == [row.number for row in results.worst()] == [1, 3, 0]
    figures = run.summary["groundedness"]["probabilities"]
    assert figures == results.summary()["groundedness"]["probabilities"]
    assert (figures["sentences"], figures["low"]) == (5, pytest.approx(0.4))
    assert "90 % of the judge's probabilities for 5 sentences lie between 0.40 and 0.89." in str(results)
