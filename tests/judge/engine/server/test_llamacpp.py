"""A real llama.cpp server with a tiny random model: what it answers is valid, or missing with its reason."""

import asyncio
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from rag_evaluator import BudgetError, Judge, RAGEvaluator
from rag_evaluator.config import JudgeConfig
from tools.gguf_model import llama_cpp, write_gguf

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


class Verdict(BaseModel):
    verdict: Literal[0, 1]


@pytest.fixture(scope="module")
def folder(model_folder: Callable[..., Path]) -> Path:
    return model_folder("llama")


@pytest.fixture(scope="module")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with llama_cpp(write_gguf(folder, tmp_path_factory.mktemp("gguf") / "tiny.gguf")) as url:
        yield url


def judge_of(url: str, **settings: Any) -> Judge:
    return Judge.from_config(JudgeConfig(engine="server", url=url, batch_size=1, **settings))


def test_verdicts_have_their_confidence_and_choices_their_probabilities(server: str) -> None:
    judge = judge_of(server)
    opinion = asyncio.run(judge.inner.opinion("Is it </s> useful?", Verdict))
    assert isinstance(opinion.answer, Verdict)
    (confidence,) = opinion.confidence
    assert 0 < confidence <= 1 and judge.about["logprobs"] == "top 20"
    shares = judge.choose("Is it </s> useful?", ['{"verdict": 0}', '{"verdict": 1}'])
    assert math.isclose(sum(shares.values()), 1.0)
    assert shares[f'{{"verdict": {opinion.answer.verdict}}}'] == pytest.approx(confidence, abs=1e-3)


@pytest.mark.models
def test_a_whole_evaluation_gives_scores_or_reasons_and_the_same_ones_again(
    server: str, rows: list[dict[str, Any]]
) -> None:
    metrics = ["faithfulness", "context_relevance", "factual_correctness"]
    judge = {"engine": "server", "url": server, "batch_size": 1, "max_new_tokens": 200}
    evaluator = RAGEvaluator({"metrics": metrics, "judge": judge})
    first, second = evaluator.evaluate(rows), RAGEvaluator({"metrics": metrics, "judge": judge}).evaluate(rows)
    for name in metrics:
        values = [(score.value, score.reason) for score in first.scores[name]]
        assert all(reason if math.isnan(value) else 0 <= value <= 1 for value, reason in values)
        assert repr(values) == repr([(score.value, score.reason) for score in second.scores[name]])
    line = evaluator.signatures()["context_relevance"]
    assert "|engine:server|" in line and "|route:chat|served:tiny.gguf|" in line and "127.0.0.1" not in line


@pytest.mark.parametrize("family", ["qwen3", "harmony"])
def test_a_model_that_can_think_does_not_where_thinking_is_off(
    model_folder: Callable[..., Path], tmp_path: Path, family: str
) -> None:
    with llama_cpp(write_gguf(model_folder(family, eager=2.0), tmp_path / "m.gguf")) as url:
        judge = judge_of(url)
        try:
            opinion = asyncio.run(judge.inner.opinion("Is 7 a lucky number?", Verdict))
        except BudgetError:  # its template opens a thought whatever it is sent
            return
        assert isinstance(opinion.answer, Verdict) and opinion.thinking is None
