"""A real vLLM on the CPU that we start and end; `make test-vllm VLLM_PYTHON=/path/to/python` runs it."""

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from test_life import Processes, gone, of_kind, processes, tree

from rag_evaluator import Judge, JudgeLostError, RAGEvaluator
from rag_evaluator.config import JudgeConfig
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.judge import Opinion

PYTHON = os.environ.get("VLLM_PYTHON", "")
pytestmark = [pytest.mark.vllm, pytest.mark.skipif(not PYTHON, reason="VLLM_PYTHON names no Python with vLLM")]
SAMPLE = Path(__file__).parents[4] / "examples" / "dataset.jsonl"
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "TORCHINDUCTOR_CACHE_DIR": f"/tmp/torchinductor_{os.getuid()}",  # tests have a TMPDIR of their own each
}
SERVER = {"engine": "vllm", "vllm": {"python": PYTHON, "args": ["--enforce-eager"]}}
PROMPTS = [f"Is {number} a lucky number, and why?" for number in range(6)]
__all__ = ["processes"]


class Verdict(BaseModel):
    note: str
    verdict: Literal[0, 1]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def test_an_evaluation_of_the_sample_gives_our_own_judgements_and_leaves_no_process(processes: Processes) -> None:
    rows = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]

    def judged(**settings: Any) -> tuple[Any, list[Any]]:
        judge = {"model": str(DEMO_JUDGE), "dtype": "float32", **settings}
        evaluator = RAGEvaluator({"metrics": ["faithfulness", "context_recall", "context_relevance"], "judge": judge})
        results = evaluator.evaluate(rows)
        evaluator.judge.release()
        return results, [score.value for scores in results.scores.values() for score in scores]

    ours, theirs = judged(), judged(**SERVER)
    assert theirs[1] == ours[1]
    line = theirs[0].signatures["faithfulness"]
    assert "|engine:vllm|" in line and "|tensor_parallel:1|" in line and PYTHON not in line
    [path] = theirs[0].manifest["judge_paths"]
    assert path["path"] == "vllm" and path["same_bytes"] == "same batches"
    assert not processes()


async def asked(judge: Judge) -> list[Opinion]:
    try:
        return list(await asyncio.gather(*(judge.inner.opinion(prompt, Verdict) for prompt in PROMPTS)))
    finally:
        await judge.inner.aclose()


@pytest.mark.parametrize("family", ["qwen3", "harmony"])
def test_thoughts_and_answers_are_those_of_our_own_engine(
    model_folder: Callable[..., Path], processes: Processes, family: str
) -> None:
    shape = {"hidden_size": 128, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 64}
    folder = model_folder(family, eager=2.0, max_position_embeddings=2048, **shape)
    settings: dict[str, Any] = {"model": str(folder), "dtype": "float32", "max_new_tokens": 64}
    settings |= {"thinking": "on", "thinking_tokens": 24}
    theirs = asyncio.run(asked(Judge.from_config(JudgeConfig(**settings, **SERVER))))
    ours = asyncio.run(asked(Judge.from_config(JudgeConfig(**settings))))
    assert {bool(opinion.cut & {"thinking"}) for opinion in ours} == {True, False}
    for one, other in zip(theirs, ours, strict=True):
        assert (one.thinking, one.answer, one.cut) == (other.thinking, other.answer, other.cut)
        assert one.confidence == pytest.approx(other.confidence, abs=1e-4)
    assert not processes()


def test_a_killed_server_is_a_lost_judge_and_leaves_no_process(processes: Processes) -> None:
    judge = Judge.from_config(JudgeConfig(model=str(DEMO_JUDGE), dtype="float32", **SERVER))
    living: dict[int, str] = {}

    async def killed() -> None:
        questions = [asyncio.ensure_future(judge.inner.opinion(prompt, Verdict)) for prompt in PROMPTS]
        await asyncio.sleep(0.05)
        living.update(tree(*of_kind(processes(), "watcher")))
        os.kill(of_kind(processes(), "server")[0], signal.SIGKILL)
        with pytest.raises(JudgeLostError, match="the vLLM server has ended"):
            await asyncio.gather(*questions)
        await asyncio.gather(*questions, return_exceptions=True)
        await judge.inner.aclose()

    asyncio.run(killed())
    assert len(living) > 3  # the server's own processes, too
    assert gone(living), tree(*living)
