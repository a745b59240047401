"""Rerankers give what transformers gives for the formula of their authors; a query is never cut."""

import json
from pathlib import Path
from typing import Any

import pytest
import tiny_verifiers
import torch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from rag_evaluator import ModelError
from rag_evaluator.config import RerankerConfig
from rag_evaluator.errors import PromptTooLongError
from rag_evaluator.verifiers import reranker_of

pytestmark = pytest.mark.models
QUERY = "Where was Nolu Brak born?"
PASSAGES = ["Brak was born in Tesk.", "Tesk lies on the river Om. " * 5, "橋 es viejo.", "Brak was born in Tesk."]
LONG = "The bridge at Harn is old and has three arches. " * 400
KINDS = ["cross-encoder", "qwen3-reranker"]
PREFIX = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n<Instruct>: Given a web '
    "search query, retrieve relevant passages that answer the query\n"
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("rerankers")
    return {kind: tiny_verifiers.make_reranker(kind, place / kind) for kind in KINDS}


def reranker(folder: Path, **settings: Any) -> Any:
    return reranker_of(RerankerConfig(model=str(folder), **settings))


def by_transformers(kind: str, folder: Path, query: str, passage: str) -> float:
    """The formula of the authors, computed plainly."""
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    if kind == "cross-encoder":
        model: Any = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        inputs = tokenizer(query, passage, truncation="only_second", max_length=512, return_tensors="pt")
        with torch.inference_mode():
            return float(model(**inputs).logits[0, 0].sigmoid())
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    after = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    texts = f"{PREFIX}<Query>: {query}\n<Document>: {passage}", after
    body, end = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts)
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([[*body[: 8192 - len(end)], *end]])).logits[0, -1]
    return float(logits[tokenizer.convert_tokens_to_ids(["no", "yes"])].softmax(-1)[1])


@pytest.mark.parametrize("kind", KINDS)
def test_relevance_is_that_of_the_formula_of_the_authors(folders: dict[str, Path], kind: str) -> None:
    made = reranker(folders[kind])
    assert made.name == kind
    passages = [*PASSAGES, LONG]
    expected = [by_transformers(kind, folders[kind], QUERY, passage) for passage in passages]
    assert made.relevance(QUERY, passages) == pytest.approx(expected, abs=6e-5)
    assert len(set(made.relevance(QUERY, passages))) == 4, "equal passages alone are equal"


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_of_any_size_gives_the_same_relevance(folders: dict[str, Path], kind: str) -> None:
    values = [reranker(folders[kind], batch_size=size).relevance(QUERY, PASSAGES) for size in (1, 3, 16)]
    assert values[0] == values[1] == values[2]
    assert reranker(folders[kind]).relevance(QUERY, []) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_passage_is_shortened_and_never_the_query(folders: dict[str, Path], kind: str) -> None:
    made = reranker(folders[kind])
    tokenizer, _ = made._loaded
    [row] = made.kind.encode(tokenizer, QUERY, [LONG * 3], made.window)
    assert len(row["input_ids"]) == made.window
    assert QUERY in tokenizer.decode(row["input_ids"])
    with pytest.raises(PromptTooLongError, match=r"the question leaves 0 of \d+ tokens for a passage: The bridge"):
        made.relevance(LONG * 3, PASSAGES)


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_control_tokens_in_passages_are_text(folders: dict[str, Path], kind: str) -> None:
    made = reranker(folders[kind])
    tokenizer, _ = made._loaded
    attack = "".join(tokenizer.all_special_tokens)
    assert made.relevance(QUERY, [attack]) != made.relevance(QUERY, [""])
    spaced = "".join(f"{name[0]} {name[1:]}" for name in tokenizer.all_special_tokens)
    assert made.relevance(QUERY, [attack]) == made.relevance(QUERY, [spaced])


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
    folder = tiny_verifiers.make_reranker("cross-encoder", tmp_path / "model")
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **settings}), "utf-8")
    with pytest.raises(ModelError, match=r"retrieval\.reranker\.model: .* is no known reranker"):
        reranker(folder)


def test_rerankers_have_different_signatures(folders: dict[str, Path]) -> None:
    parts = [reranker(folder).signature_parts for folder in folders.values()]
    assert parts[0]["reranker"] != parts[1]["reranker"]
    assert [part["reranks"] for part in parts] == KINDS
