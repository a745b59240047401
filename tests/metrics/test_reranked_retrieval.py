"""Retrieval metrics with a reranker: values by hand, what needs no judge, what is refused."""

import asyncio
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import METRICS, ConfigError, ModelError, RAGEvaluator
from rag_evaluator.config import RerankerConfig, RetrievalConfig, load_config
from rag_evaluator.verifiers import reranker_of
from tests.verifiers.tiny_verifiers import make_reranker

NAMES = ["retrieval_precision", "retrieval_ndcg", "retrieval_map", "retrieval_mrr"]
KNOWN_VALUES = {"high": 0.9, "middle": 0.5, "low": 0.2}


class KnownRanker:
    """Says of each passage the number that stands for it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    async def relevance(self, query: str, passages: Sequence[str]) -> list[float]:
        self.asked.append((query, tuple(passages)))
        return [KNOWN_VALUES[passage] for passage in passages]


def scored(name: str, contexts: list[str], **reranker: Any) -> Any:
    options = RetrievalConfig.model_validate({"match": "reranker", "reranker": {"model": "m", **reranker}})
    metric: Any = METRICS[name].with_options(options).create(None, None, reranker=KnownRanker())  # type: ignore[arg-type]
    return asyncio.run(metric.ascore(user_input="q", retrieved_contexts=contexts))


def test_a_threshold_decides() -> None:
    gains = 1 / math.log2(3) + 1 / math.log2(4), 1 + 1 / math.log2(3)  # found and ideal
    assert scored("retrieval_ndcg", ["low", "high", "middle", " "]).value == pytest.approx(gains[0] / gains[1])
    assert scored("retrieval_map", ["low", "high", "middle", " "]).value == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert scored("retrieval_mrr", ["low", "high", "middle", " "]).value == 1 / 2
    assert scored("retrieval_precision", ["low", "high", "middle", " "]).value == 2 / 4
    assert scored("retrieval_precision", ["low", "high", "middle"], threshold=0.6).value == pytest.approx(1 / 3)
    assert scored("retrieval_precision", ["low", "high", "middle"], threshold=0.1).value == 1
    assert scored("retrieval_precision", []).value == 0
    assert scored("retrieval_precision", [" "]).value == 0


def test_the_number_of_relevant_documents_is_not_known() -> None:
    for name in ("retrieval_ndcg", "retrieval_map"):
        assert scored(name, ["high"]).reason == "total_relevant: unknown"
    spec = METRICS["retrieval_ndcg"].with_options(RetrievalConfig.model_validate({"match": "reranker"}))
    assert (spec.judge, list(spec.prompts), spec.owner) == (False, [], "")
    assert spec.reads == ("user_input", "retrieved_contexts", "document_score")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_reranker("cross-encoder", tmp_path_factory.mktemp("ranked") / "model")


ROWS = [
    {"user_input": f"Who built bridge {n}?", "retrieved_contexts": [f"Brak built {n}.", " ", f"Harn has {n} bridges."]}
    for n in range(6)
]


def config(folder: Path | None, place: Path, **settings: Any) -> dict[str, Any]:
    reranker = {} if folder is None else {"model": str(folder)}
    section = {"match": "reranker", "reranker": {**reranker, **settings.pop("reranker", {})}}
    return {"metrics": NAMES, "retrieval": section, "output_dir": str(place), **settings}


@pytest.mark.models
def test_scores_need_no_judge_and_keep_what_the_reranker_says(folder: Path, tmp_path: Path) -> None:
    results = RAGEvaluator(config(folder, tmp_path)).evaluate(ROWS)
    assert {name: len(results.scores[name]) for name in NAMES} == dict.fromkeys(NAMES, 6)
    assert all("|judge:" not in line and "|reranker:" in line for line in results.signatures.values())
    assert all(str(folder) not in line for line in results.signatures.values())
    ranked = results.scores["retrieval_precision"][0].judgements[0]["response"]["ranked"]
    assert [row["contexts"] for row in ranked] == [[0], [1], [2]]
    assert [row["verdict"] for row in ranked] == [int(row["probability"] >= 0.5) for row in ranked]
    assert ranked[1] == {"verdict": 0, "probability": 0.0, "contexts": [1]}


@pytest.mark.models
def test_a_row_is_asked_once_for_all_metrics(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ask = reranker_of(RerankerConfig(model=str(folder))).relevance

    def counted(self: Any, query: str, passages: Sequence[str]) -> list[float]:
        asked.append(query)
        return ask(query, passages)

    monkeypatch.setattr("rag_evaluator.verifiers.reranker.Reranker.relevance", counted)
    RAGEvaluator(config(folder, tmp_path)).evaluate(ROWS)
    assert sorted(asked) == sorted(row["user_input"] for row in ROWS)


@pytest.mark.models
def test_numbers_depend_on_no_other_row_and_on_no_batch(folder: Path, tmp_path: Path) -> None:
    def lines(rows: list[dict[str, Any]], **reranker: Any) -> list[str]:
        results = RAGEvaluator(config(folder, tmp_path, reranker=reranker)).evaluate(rows)
        return [json.dumps([results.scores[name][place].value for name in NAMES]) for place in range(len(rows))]

    assert lines(ROWS) == lines(ROWS, batch_size=3) == [lines([row])[0] for row in ROWS]


def test_recall_is_refused(tmp_path: Path) -> None:
    settings = {**config(tmp_path, tmp_path), "metrics": ["retrieval_recall"]}
    with pytest.raises(ConfigError, match=r"retrieval_recall looks for reference contexts.*judge, exact or overlap"):
        RAGEvaluator(settings)


def test_a_reranker_that_is_not_named_or_not_there_is_an_error_before_loading(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no model is named.*retrieval\.reranker\.model: /models"):
        RAGEvaluator(config(None, tmp_path))
    with pytest.raises(ModelError, match=r"retrieval\.reranker\.model: no such folder"):
        RAGEvaluator(config(tmp_path / "none", tmp_path)).check(ROWS)


def test_the_folder_of_a_reranker_counts_from_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "reranker").mkdir()
    path = tmp_path / "config.yaml"
    section = "retrieval: {match: reranker, reranker: {model: ./reranker}}"
    path.write_text(f"metrics: [retrieval_mrr]\ndataset: rows.jsonl\n{section}\n", "utf-8")
    config = load_config(path)
    assert config.retrieval.reranker.model == str(tmp_path / "reranker")


@pytest.mark.models
def test_the_signature_changes_with_what_changes_numbers(folder: Path, tmp_path: Path) -> None:
    def lines(**reranker: Any) -> dict[str, str]:
        return RAGEvaluator(config(folder, tmp_path, reranker=reranker)).signatures()

    assert lines() == lines(batch_size=7)
    assert lines() != lines(threshold=0.4)
