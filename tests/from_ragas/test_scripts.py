"""Scripts written for ragas 0.1 to 0.4, of which only the imports were changed: they score as `RAGEvaluator` does."""

import os
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aliases import Json
from langchain_huggingface import HuggingFaceEmbeddings, HuggingFacePipeline

from rag_evaluator import RAGEvaluator
from rag_evaluator.demo import DEMO_JUDGE, demo_embeddings
from rag_evaluator.ragas.result import EvaluationResult

pytestmark = pytest.mark.models
SCRIPTS = Path(__file__).parent / "scripts"
Run = Callable[[str], Json]  # a script's name -> its variables


@pytest.fixture(scope="module")
def pipeline() -> HuggingFacePipeline:
    return HuggingFacePipeline.from_model_id(
        str(DEMO_JUDGE), task="text-generation", pipeline_kwargs={"max_new_tokens": 512}
    )


@pytest.fixture(scope="module")
def vectors() -> HuggingFaceEmbeddings:
    return HuggingFaceEmbeddings(model_name=str(demo_embeddings()))


SCRIPT_NAMES_NO_MODEL = pytest.mark.parametrize("models", ["demo judge"], indirect=True)
SCRIPT_NAMES_ITS_MODEL = pytest.mark.parametrize("models", ["HuggingFacePipeline"], indirect=True)


@pytest.fixture(params=["demo judge", "HuggingFacePipeline"])
def models(request: pytest.FixtureRequest) -> Json:
    """What the scripts name as their models: nothing, or a pipeline and embeddings of LangChain."""
    if request.param == "demo judge":
        return {"llm": None, "embeddings": None}
    return {"llm": request.getfixturevalue("pipeline"), "embeddings": request.getfixturevalue("vectors")}


@pytest.fixture
def run(models: Json, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Run]:
    monkeypatch.setitem(sys.modules, "local_models", SimpleNamespace(**models))
    monkeypatch.setitem(os.environ, "JUDGE_MODEL", str(DEMO_JUDGE))
    monkeypatch.setitem(os.environ, "EMBEDDING_MODEL", str(demo_embeddings()))
    monkeypatch.chdir(tmp_path)
    yield lambda name: runpy.run_path(str(SCRIPTS / f"{name}.py"))


def scores(models: Mapping[str, Any], metrics: Sequence[Any], rows: Any, **config: Any) -> dict[str, list[float]]:
    """What `RAGEvaluator` gives for the same."""
    evaluator = RAGEvaluator({"metrics": metrics, **config}, models["llm"], models["embeddings"])
    table = evaluator.evaluate(rows).scores
    return {name: [score.value for score in row] for name, row in table.items()}


def values(result: EvaluationResult) -> list[list[float]]:
    """The scores of each metric, in the order of the metrics."""
    return [result[name] for name in result.results.scores]


@SCRIPT_NAMES_NO_MODEL
def test_v01_super_bowl(run: Run, models: Json) -> None:
    script = run("v01_super_bowl")
    metrics = [
        "faithfulness", "answer_relevancy", "context_recall", "context_precision_with_reference",
        "context_precision_without_reference", "semantic_similarity", "answer_correctness",
    ]  # fmt: skip
    expected = scores(models, metrics, script["data"])
    result = script["result"]
    assert list(result.results.scores) == [
        "faithfulness", "answer_relevancy", "context_recall", "context_precision", "context_utilization",
        "answer_similarity", "answer_correctness",
    ]  # fmt: skip
    assert values(result) == [expected[name] for name in metrics]
    assert repr(result).startswith(
        f"{{'faithfulness': {sum(result['faithfulness']) / 2:.4f} (2/2), 'answer_relevancy': "
    )
    columns = ["user_input", "response", "retrieved_contexts", "reference", *result.results.scores]
    assert sorted(result.to_pandas().columns) == sorted(columns)


def test_v01_rubrics(run: Run, models: Json) -> None:
    script = run("v01_rubrics")
    chosen = ["context_entity_recall", "rubrics_score_with_reference", "noise_sensitivity"]
    relevant = scores(models, chosen, script["rows"])
    options = {"noise_sensitivity": {"mode": "irrelevant"}}
    irrelevant = scores(models, ["noise_sensitivity"], script["rows"], metric_options=options)
    assert values(script["result"]) == [*relevant.values(), *irrelevant.values()]
    assert list(script["result"].results.scores)[1:] == [
        "labelled_rubrics_score", "noise_sensitivity_relevant", "noise_sensitivity_irrelevant",
    ]  # fmt: skip


@SCRIPT_NAMES_ITS_MODEL
def test_v02_local_models(run: Run, models: Json) -> None:
    script = run("v02_local_models")
    metrics = [
        "context_precision_with_reference", "context_precision_without_reference", "context_recall", "faithfulness",
        "answer_relevancy", "context_relevance",
    ]  # fmt: skip
    assert values(script["result"]) == list(scores(models, metrics, script["rows"]).values())
    assert script["path"].with_suffix(".csv").read_text().splitlines()[0].endswith("nv_context_relevance")


def test_v03_own_metric(run: Run, models: Json) -> None:
    script = run("v03_own_metric")
    expected = scores(models, [script["Answers"](), "faithfulness"], script["dataset"].to_list())
    assert values(script["result"]) == list(expected.values())
    assert {*expected["answers"]} <= {0.0, 1.0}


def test_v04_collections(run: Run, models: Json) -> None:
    script = run("v04_collections")
    contexts = script["contexts"]
    similar = {"response": "In Tesk.", "reference": "He was born in Tesk."}
    born = {"user_input": "Where was Nolu Brak born?", "response": "Nolu Brak was born in Tesk."}
    recall = [
        {"user_input": "Where was he born?", "retrieved_contexts": contexts, "reference": "He was born in Tesk."},
        {"user_input": "Where did he die?", "retrieved_contexts": contexts, "reference": "He died in Harn."},
    ]
    assert script["scores"] == {
        **scores(models, ["faithfulness"], [{**born, "retrieved_contexts": contexts}]),
        **scores(models, ["context_recall"], recall),
        **scores(models, ["semantic_similarity"], [similar]),
    }
