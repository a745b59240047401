"""A reranker gives what transformers gives for the formula of its authors; a query is never cut."""

import json
from pathlib import Path
from typing import Any

import pytest
import tiny_verifiers
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from rag_evaluator import ModelError
from rag_evaluator.errors import PromptTooLongError
from rag_evaluator.verifiers import Reranker

pytestmark = pytest.mark.models
QUERY = "Where was Nolu Brak born?"
PASSAGES = ["Brak was born in Tesk.", "Tesk lies on the river Om. " * 5, "橋 es viejo.", "Brak was born in Tesk."]
LONG = "The bridge at Harn is old and has three arches. " * 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_verifiers.make_reranker(tmp_path_factory.mktemp("rerankers") / "model")


def test_relevance_is_that_of_the_formula_of_the_authors_whatever_the_batch(folder: Path) -> None:
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    passages, expected = [*PASSAGES, LONG], []
    for passage in passages:
        inputs = tokenizer(QUERY, passage, truncation="only_second", max_length=512, return_tensors="pt")
        with torch.inference_mode():
            expected.append(float(model(**inputs).logits[0, 0].sigmoid()))
    values = Reranker(folder).relevance(QUERY, passages)
    assert values == pytest.approx(expected, abs=6e-5)
    assert len(set(values)) == 4, "equal passages alone are equal"
    assert all(Reranker(folder, batch_size=size).relevance(QUERY, passages) == values for size in (1, 3, 16))
    assert Reranker(folder).relevance(QUERY, []) == []


def test_a_query_is_never_shortened(folder: Path) -> None:
    with pytest.raises(PromptTooLongError, match=r"the question leaves 0 of 512 tokens for a passage: The bridge"):
        Reranker(folder).relevance(LONG, PASSAGES)


def test_names_of_control_tokens_in_passages_are_text(folder: Path) -> None:
    reranker, names = Reranker(folder), AutoTokenizer.from_pretrained(folder).all_special_tokens
    [attack, nothing, spaced] = reranker.relevance(
        QUERY, ["".join(names), "", "".join(f"{name[0]} {name[1:]}" for name in names)]
    )
    assert attack == spaced != nothing


@pytest.mark.parametrize(
    "settings",
    [
        {"id2label": {"0": "a", "1": "b"}},
        {"architectures": ["Qwen3ForSequenceClassification"]},
        {"architectures": ["Qwen3ForCausalLM"]},
        {"architectures": []},
    ],
)
def test_a_folder_that_is_no_reranker_is_refused_before_it_is_loaded(tmp_path: Path, settings: dict[str, Any]) -> None:
    folder = tiny_verifiers.make_reranker(tmp_path / "model")
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **settings}), encoding="utf-8")
    with pytest.raises(ModelError, match=r"retrieval\.reranker\.model: .* is no known reranker"):
        Reranker(folder)
