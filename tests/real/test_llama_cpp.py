"""A real llama.cpp server with small models, and without judge.model: answers are valid, or missing with a reason."""

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from rag_evaluator import Judge, RAGEvaluator
from rag_evaluator.config import JudgeConfig
from tools.gguf_model import llama_cpp
from tools.real_models import models_folder

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


class Verdict(BaseModel):
    verdict: Literal[0, 1]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    files: list[Path] = list((models_folder() / "smollm2").glob("*.gguf"))
    if not files:
        pytest.skip("NOT TESTED: make real-models fetches the model")
    with llama_cpp(files[0]) as url:
        yield url


def test_verdicts_have_their_confidence_and_choices_their_probabilities(server: str) -> None:
    judge = Judge.from_config(JudgeConfig(engine="server", url=server, batch_size=1))
    opinion = asyncio.run(judge.inner.opinion("Is the sky blue? Answer with 1 for yes, with 0 for no.", Verdict))
    assert isinstance(opinion.answer, Verdict)
    (confidence,) = opinion.confidence
    assert 0 < confidence <= 1 and judge.about["logprobs"] == "top 20"
    shares = judge.choose(
        "Is the sky blue? Answer with 1 for yes, with 0 for no.", ['{"verdict": 0}', '{"verdict": 1}']
    )
    assert math.isclose(sum(shares.values()), 1.0)
    assert shares[f'{{"verdict": {opinion.answer.verdict}}}'] == pytest.approx(confidence, abs=0.01)


def test_a_whole_evaluation_gives_scores_or_reasons(server: str, sample: list[dict[str, Any]]) -> None:
    metrics = ["answer_accuracy", "faithfulness"]
    judge = {"engine": "server", "url": server, "batch_size": 1, "max_new_tokens": 128}
    evaluator = RAGEvaluator({"metrics": metrics, "judge": judge})
    results = evaluator.evaluate(sample[:3])
    for name in metrics:
        assert all(score.reason if score.missing else 0 <= score.value <= 1 for score in results.scores[name])
    line = evaluator.signatures()["faithfulness"]
    assert "|engine:server|" in line and "|route:chat|served:SmolLM2" in line and "127.0.0.1" not in line


@pytest.mark.slow
def test_a_small_model_whose_tokenizer_is_not_known_gives_scores(sample: list[dict[str, Any]]) -> None:
    """It repeats no word of a long prompt; the server counts tokens and names its window."""
    files = list((models_folder() / "qwen-0.5b").glob("*.gguf"))
    if not files:
        pytest.skip("NOT TESTED: make real-models MODELS=qwen-0.5b fetches the model")
    with llama_cpp(files[0], fast=1) as url:
        judge = {"engine": "server", "url": url, "batch_size": 1, "max_new_tokens": 256}
        results = RAGEvaluator({"metrics": ["faithfulness", "context_recall"], "judge": judge}).evaluate(sample[:2])
    assert [score.reason for scores in results.scores.values() for score in scores if score.missing] == []
    (about,) = results.manifest["judge_paths"]
    assert "tokens that the server counts" in about["long_prompts"]
