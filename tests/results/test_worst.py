"""The rows to look at first, and what is said against them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
