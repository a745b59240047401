"""Answers invented for `check`: each is one that the metric can use, so that all its questions are asked."""

import math

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

from rag_evaluator import METRICS, RAGEvaluator, ScriptedJudge
from rag_evaluator.features.setup.check_judge import Rehearsal
from rag_evaluator.judge import as_judge
from rag_evaluator.results import REASONS

ROW = {
    "user_input": "Where was Ana born?",
    "retrieved_contexts": ["Ana was born in Tesk. It is odd.", "Om is a town."],
    "response": "Ana was born in Tesk, I think.",
    "reference": "In Tesk. It is odd.",
    "reference_contexts": ["Ana was born in Tesk."],
    "rubrics": {"score2_description": "wrong", "score4_description": "right"},
}


@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if metric.judge])
def test_every_metric_can_use_invented_answers(name: str) -> None:
    judge = Rehearsal(as_judge(ScriptedJudge()))
    judge.text = ROW["response"]
    evaluator = RAGEvaluator({"metrics": [name]}, judge=judge, embeddings=DeterministicFakeEmbedding(size=4))
    [score] = evaluator.evaluate([ROW]).scores[name]
    assert judge.asked
    assert not math.isnan(score.value) or score.reason in REASONS.values(), score.reason  # invented: not of the row
