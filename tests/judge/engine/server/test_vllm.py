"""A real vLLM on the CPU beside our own engine; `make test-vllm VLLM_PYTHON=/path/to/python` runs it."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from test_llamacpp import NEAR, answers

from rag_evaluator import Judge, RAGEvaluator
from rag_evaluator.config import JudgeConfig
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.judge import ServerEngine, TransformersEngine
from tools.requests48 import requests

PYTHON = os.environ.get("VLLM_PYTHON", "")
START = 240.0  # seconds
pytestmark = [pytest.mark.vllm, pytest.mark.skipif(not PYTHON, reason="VLLM_PYTHON names no Python with vLLM")]
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_KVCACHE_SPACE": "2",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a vLLM server with the demo judge in float32."""
    folder = tmp_path_factory.mktemp("vllm")
    socket, log = folder / "s", folder / "log"
    command = [
        PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--model", str(DEMO_JUDGE), "--served-model-name", "demo",
        "--dtype", "float32", "--enforce-eager", "--uds", str(socket),
        "--structured-outputs-config", '{"backend": "guidance"}',
    ]  # fmt: skip
    with log.open("w") as output:
        process = subprocess.Popen(
            command, env={**os.environ, **ENVIRONMENT}, stdout=output, stderr=output, start_new_session=True
        )
    try:
        _wait_for(socket, process, log)
        yield f"unix:{socket}"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=30)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _wait_for(socket: Path, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + START
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(socket)), base_url="http://localhost") as client:
        while time.monotonic() < end:
            assert process.poll() is None, log.read_text()[-3000:]
            try:
                if client.get("/health").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.5)
    raise AssertionError(f"vLLM was not ready in {START} s: {log.read_text()[-3000:]}")


def settings_of(url: str) -> dict[str, Any]:
    return {"engine": "server", "url": url}


def test_vllm_writes_our_tokens_and_weighs_verdicts_as_we_do(server: str) -> None:
    ours = TransformersEngine.load(JudgeConfig(dtype="float32"), True)
    theirs = ServerEngine.load(JudgeConfig(**settings_of(server)), True)
    asked = requests(ours)
    for number, (reply, own) in enumerate(zip(answers(theirs, asked), answers(ours, asked), strict=True)):
        assert (number, reply.text, reply.token_ids) == (number, own.text, own.token_ids)
        assert (reply.complete, reply.cut) == (own.complete, own.cut)
        assert reply.confidence == pytest.approx(own.confidence, abs=NEAR)


def test_vllm_gives_our_probabilities_of_choices(server: str) -> None:
    options = ['{"verdict": 0}', '{"verdict": 1}', '{"no": 1}', '{"no"']
    expected = Judge.from_config(JudgeConfig(dtype="float32")).choose("Is it </s> useful?", options)
    theirs = Judge.from_config(JudgeConfig(**settings_of(server)))
    assert theirs.choose("Is it </s> useful?", options) == pytest.approx(expected, abs=NEAR)


def test_a_whole_evaluation_runs_through_vllm(server: str, rows: list[dict[str, Any]]) -> None:
    metrics = ["faithfulness", "context_relevance", "factual_correctness"]
    expected = RAGEvaluator({"metrics": metrics, "judge": {"dtype": "float32"}}).evaluate(rows)
    evaluator = RAGEvaluator({"metrics": metrics, "judge": settings_of(server)})
    results = evaluator.evaluate(rows)
    for name in metrics:
        assert [score.value for score in results.scores[name]] == [score.value for score in expected.scores[name]]
    assert "|dialect:vllm|" in evaluator.signatures()["faithfulness"]
    assert "|weights:verified" in evaluator.signatures()["faithfulness"]
