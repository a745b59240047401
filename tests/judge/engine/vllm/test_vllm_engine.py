"""The engine `vllm`: what is refused before vLLM is loaded, and a real vLLM on the CPU.

`make test-vllm VLLM_PYTHON=/path/to/python` runs the latter in an environment that has both.
"""

import asyncio
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import Judge, ModelError, RAGEvaluator
from rag_evaluator.config import JudgeConfig
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.judge import LazyJudge
from tools.requests48 import requests

HAS_VLLM = importlib.util.find_spec("vllm") is not None
ROOT = Path(__file__).parents[4]
SAMPLE = ROOT / "examples" / "dataset.jsonl"
VLLM: dict[str, Any] = {"engine": "vllm", "vllm": {"args": ["--enforce-eager"]}}


@pytest.mark.skipif(HAS_VLLM, reason="vLLM is installed here")
def test_without_vllm_it_says_how_to_install_it() -> None:
    with pytest.raises(ModelError, match="pip install vllm"):
        LazyJudge(None, JudgeConfig(engine="vllm")).check()


@pytest.mark.parametrize("option", ["--model=m", "--reasoning_parser", "--enable-lora", "--dtype"])
def test_arguments_that_the_program_sets_are_not_the_users(option: str) -> None:
    with pytest.raises(ModelError, match="is not yours to set"):
        LazyJudge(None, JudgeConfig(engine="vllm", vllm={"args": [option]})).check()


def engine_with(**settings: Any) -> Any:
    return Judge.from_config(JudgeConfig(model=str(DEMO_JUDGE), dtype="float32", **settings)).inner.engine


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    os.environ |= {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"}
    engine = engine_with(**VLLM)
    yield engine
    asyncio.run(engine.aclose())
    asyncio.run(engine.aclose())


def replies_of(engine: Any) -> list[Any]:
    async def together() -> list[Any]:
        return list(await asyncio.gather(*map(engine.generate, requests(engine))))

    return asyncio.run(together())


@pytest.mark.vllm
@pytest.mark.skipif(not HAS_VLLM, reason="vLLM is not installed here")
class TestRealVllm:
    def test_answers_are_those_of_the_engine_transformers(self, engine: Any) -> None:
        ours = engine_with()
        pairs = list(zip(replies_of(engine), replies_of(ours), strict=True))
        equal = [theirs for theirs, other in pairs if theirs.text == other.text]
        assert len(equal) >= 46
        for theirs, other in pairs:
            assert theirs.complete == other.complete
            if theirs.text == other.text:
                assert theirs.confidence == pytest.approx(other.confidence, abs=1e-4)

    def test_log_probabilities_of_candidates_are_those_of_the_engine_transformers(self, engine: Any) -> None:
        ours = engine_with()
        asked = requests(engine)[0].input_ids
        candidates = list(range(5, 205))

        def logprobs(asked_engine: Any) -> list[float]:
            return list(asyncio.run(asked_engine.next_logprobs(asked, candidates)))

        assert logprobs(engine) == pytest.approx(logprobs(ours), abs=1e-3)


@pytest.mark.vllm
@pytest.mark.skipif(not HAS_VLLM, reason="vLLM is not installed here")
def test_a_killed_run_leaves_no_process_and_continues_with_the_same_scores(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in SAMPLE.read_text("utf-8").splitlines()]
    metrics = ["faithfulness", "context_recall", "context_relevance"]
    judge = {"model": str(DEMO_JUDGE), "dtype": "float32"}
    server = {**judge, **VLLM, "batch_size": 2}
    settings = {"dataset": str(SAMPLE), "metrics": metrics, "judge": server, "chunk_size": 1}
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps(settings), "utf-8")
    command = [sys.executable, str(ROOT / "main.py"), str(config)]
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    run = subprocess.Popen(command, env=environment, start_new_session=True)
    journal = tmp_path / "results" / "run"
    until = time.monotonic() + 300
    while not list(journal.glob("**/g1/*/*.jsonl")) and time.monotonic() < until and run.poll() is None:
        time.sleep(0.05)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    time.sleep(1)
    with pytest.raises(ProcessLookupError):
        os.killpg(run.pid, 0)  # nobody of its group lives
    subprocess.run(command, env=environment, check=True)
    lines = (journal / "scores.jsonl").read_text("utf-8").splitlines()
    evaluator = RAGEvaluator({"metrics": metrics, "judge": judge})
    expected = evaluator.evaluate(rows)
    assert [[json.loads(line)[name] for name in metrics] for line in lines] == [
        [expected.scores[name][row].value for name in metrics] for row in range(len(rows))
    ]
