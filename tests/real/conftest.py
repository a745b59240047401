"""Models that people trained, for whom `make real-models` was run, and one run that several tests look at."""

import json
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import Judge, RAGEvaluator, Results
from rag_evaluator.demo import demo_embeddings
from rag_evaluator.resources import packaged
from tools.real_models import models_folder

HERE = Path(__file__).parent
METRICS = ["faithfulness", "context_recall", "answer_relevancy", "semantic_similarity"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("real")


def model(name: str) -> Path:
    """The folder with its file."""
    folder = models_folder() / name
    if not list(folder.glob("*.gguf")):
        pytest.skip(f"NOT TESTED: {folder} has no model; make real-models fetches it")
    return folder


@pytest.fixture(scope="session")
def sample() -> list[dict[str, Any]]:
    """A right, a wrong and an evasive answer."""
    return [json.loads(line) for line in packaged("examples/dataset.jsonl").read_text("utf-8").splitlines()[:3]]


@pytest.fixture(scope="session")
def gemma3() -> Path:
    """Gemma 3 270M, a base model."""
    return model("gemma3-270m")


@pytest.fixture(scope="session")
def qwen() -> Path:
    """Qwen2.5-Coder-0.5B-Instruct."""
    (file,) = model("qwen-0.5b").glob("*.gguf")
    return file


@pytest.fixture(scope="session")
def smollm2() -> RAGEvaluator:
    """SmolLM2-135M-Instruct, far too small to judge, and all-MiniLM-L6-v2."""
    (file,) = model("smollm2").glob("*.gguf")
    judge = {"model": str(file), "dtype": "float32", "max_new_tokens": 128}
    return RAGEvaluator({"metrics": METRICS, "judge": judge, "embeddings": {"model": str(demo_embeddings())}})


@pytest.fixture(scope="session")
def smollm2_run(smollm2: RAGEvaluator, sample: list[dict[str, Any]]) -> Results:
    return smollm2.evaluate(sample)


@pytest.fixture(scope="session")
def judge(smollm2: RAGEvaluator, smollm2_run: Results) -> Judge:
    """The judge of that run, which is loaded once and has answered its questions."""
    assert isinstance(smollm2.judge.model, Judge)
    return smollm2.judge.model
