"""A real base model, of a GGUF file: it has no chat template, and windows in its attention."""

import math
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import RAGEvaluator


@pytest.mark.slow
def test_a_base_model_without_a_chat_template_scores_a_row(gemma3: Path, sample: list[dict[str, Any]]) -> None:
    judge = {"model": str(gemma3), "max_new_tokens": 64}
    evaluator = RAGEvaluator({"metrics": ["context_relevance"], "judge": judge})
    (score,) = evaluator.evaluate(sample[:1]).scores["context_relevance"]
    assert not math.isnan(score.value), score.reason
    assert evaluator.judge.model.inner.encoder.template is None
