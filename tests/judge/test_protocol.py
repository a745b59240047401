"""Whoever asks a judge knows the protocol only, and a judge that is lost stops the run."""

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, Patch
from langchain_core.embeddings import DeterministicFakeEmbedding
from pydantic import BaseModel
from tiny_models import Tiny

from rag_evaluator import METRICS, JudgeLostError, RAGEvaluator, ScriptedJudge, generate, sort
from rag_evaluator.cli import main as command_line
from rag_evaluator.judge import BatchHandler, Scheduler


class Rating(BaseModel):
    rating: int


def lost(*_: Any) -> Any:
    raise JudgeLostError("the server is gone")


@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if metric.judge])
def test_a_lost_judge_stops_the_run_whatever_the_metric_does_with_errors(
    name: str, whole_rows: list[dict[str, Any]]
) -> None:
    embeddings = DeterministicFakeEmbedding(size=8)
    evaluator = RAGEvaluator({"metrics": [name]}, judge=ScriptedJudge(lost, choices=lost), embeddings=embeddings)
    with pytest.raises(JudgeLostError, match="the server is gone"):
        evaluator.evaluate(whole_rows)


def test_what_was_scored_before_the_judge_was_lost_is_kept_and_the_rest_is_scored_by_the_next_run(
    rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    left = [4]  # questions until the judge is lost; two a row

    def script(*_: Any) -> Any:
        left[0] -= 1
        return {"rating": 2} if left[0] >= 0 else lost()

    def evaluate() -> Any:
        judge = ScriptedJudge(script, model_id="of one name")
        config = {"metrics": ["context_relevance"], "judge": {"batch_size": 1}}
        return RAGEvaluator(config, judge=judge).evaluate(rows, folder=tmp_path)

    with pytest.raises(JudgeLostError):
        evaluate()
    kept = [json.loads(line) for file in (tmp_path / "journal").rglob("*.jsonl") for line in file.open()]
    assert not [line for line in kept if line.get("value", 1) is None], "a missing score was written down"
    left[0] = 100
    assert [score.value for score in evaluate().scores["context_relevance"]] == [1.0] * 3
    assert left[0] > 100 - 2 * len(rows), "scores that were made are made again"


@pytest.mark.parametrize("function", [sort, generate])
def test_a_lost_judge_stops_sort_and_generate(function: Any, tmp_path: Path) -> None:
    def choices(prompt: str, options: Sequence[str]) -> Any:
        lost()

    with pytest.raises(JudgeLostError):
        function(["q"], [["a", "b"]], judge=ScriptedJudge(lost, choices), output_dir=tmp_path)


def test_a_lost_model_is_not_asked_again_for_each_half_of_its_batch() -> None:
    batches = []

    def handle(requests: Sequence[Any]) -> Sequence[Any]:
        batches.append(len(requests))
        return lost()  # type: ignore[no-any-return]

    async def ask() -> Any:
        worker = BatchHandler(handle, 8)
        asked = [Scheduler.current().submit(worker, number) for number in range(8)]
        return await asyncio.gather(*asked, return_exceptions=True)

    assert [type(error) for error in asyncio.run(ask())] == [JudgeLostError] * 8
    assert batches == [8]


@pytest.mark.parametrize(
    "message, gone",
    [
        ("CUDA error: an illegal memory access was encountered", True),
        ("CUDA error: device-side assert triggered", True),
        ("HIP error: unspecified launch failure", True),
        ("CUDA error: uncorrectable ECC error encountered", True),
        ("The size of tensor a (3) must match the size of tensor b (4)", False),
    ],
)
def test_a_device_that_failed_loses_the_judge_and_another_error_costs_one_question(
    message: str, gone: bool, tiny: Tiny, monkeypatch: Patch
) -> None:
    judge = tiny("gpt2", max_new_tokens=32)

    def failing(*_: Any, **__: Any) -> Any:
        raise RuntimeError(message)

    monkeypatch.setattr(judge.inner.engine.model, "forward", failing)  # type: ignore[attr-defined]
    for ask in (lambda: judge.generate("a", Rating), lambda: judge.choose("a", ["1", "2"])):
        with pytest.raises(JudgeLostError if gone else RuntimeError, match=re.escape(message)):
            ask()


def test_the_command_says_that_the_judge_is_lost_and_exits_with_75(monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.setattr("rag_evaluator.cli.cluster.status", lost)
    assert command_line.main(["status", "."]) == 75
    expected = "the judge is lost: the server is gone. What was made is kept, the same command continues.\n"
    assert capsys.readouterr().err == expected
