"""`refusal_correctness`: rightly and wrongly refused and answered."""

from typing import Any

import pytest
from aliases import Json

from rag_evaluator import RAGEvaluator, ScriptedJudge

ASKED: Json = {"user_input": "How wide is it?", "response": "I do not know."}


def script(answerable: int, refused: int) -> ScriptedJudge:
    return ScriptedJudge(
        {
            "AnswerableOutput": {"reason": "r", "verdict": answerable},
            "RefusedOutput": {"reason": "r", "verdict": refused},
        }
    )


def scored(judge: ScriptedJudge, row: Json, **options: str) -> Any:
    config = {"metrics": ["refusal_correctness"], "metric_options": {"refusal_correctness": options}}
    [score] = RAGEvaluator(config, judge).evaluate([{**ASKED, **row}]).scores["refusal_correctness"]
    return score


@pytest.mark.parametrize(
    ("can", "refused", "value", "outcome"),
    [
        (1, 0, 1.0, "rightly answered"),
        (0, 0, 0.0, "wrongly answered"),
        (0, 1, 1.0, "rightly refused"),
        (1, 1, 0.0, "wrongly refused"),
    ],
)
@pytest.mark.parametrize("said_by", ["column", "contexts", "reference"])
def test_the_four_outcomes(said_by: str, can: int, refused: int, value: float, outcome: str) -> None:
    """Whether there is an answer is said by a column, judged from the contexts, or said by the reference."""
    judge = script(can if said_by == "contexts" else 1 - can, refused)
    row: Json = {
        "column": {"answerable": bool(can), "retrieved_contexts": ["c"], "reference": "r"},
        "contexts": {"retrieved_contexts": ["c"], "reference": "r"},
        "reference": {"retrieved_contexts": ["c"], **({"reference": "r"} if can else {})},
    }[said_by]
    score = scored(judge, row, missing_reference="unanswerable" if said_by == "reference" else "unknown")
    assert (score.value, score.outcome) == (value, outcome)
    assert judge.asked == (2 if said_by == "contexts" else 1)


def test_a_row_that_says_nothing_of_an_answer_is_not_scored() -> None:
    score = scored(script(1, 1), {"reference": "r"})
    assert score.missing
    assert "neither answerable nor retrieved_contexts" in score.reason
