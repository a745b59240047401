"""The demo judge loads from disk, its tokenizer keeps every text, its examples are judged as they are labelled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ragas.metrics.collections.faithfulness.util import NLIStatementInput

from rag_evaluator.demo import DEMO_JUDGE

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="module")
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(DEMO_JUDGE)


def test_the_judge_loads_offline_and_answers_greedily(tokenizer) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(DEMO_JUDGE, use_safetensors=True)
    assert type(model).__name__ == "LlamaForCausalLM"
    assert model.config.max_position_embeddings == 8192
    assert 2e6 < sum(p.numel() for p in model.parameters()) < 8e6
    asked = NLIStatementInput(context="Lena was born in Marlow.", statements=["Lena was born in Marlow."])
    encoded = tokenizer(f"input: {asked.model_dump_json(indent=4)}\nOutput:", return_tensors="pt")
    with torch.inference_mode():
        found = model.generate(input_ids=encoded.input_ids, attention_mask=encoded.attention_mask, max_new_tokens=20)
    assert tokenizer.decode(found[0, encoded.input_ids.shape[1] :]).startswith(' {\n    "statements": [\n')


def test_the_folder_is_at_most_16_megabytes_and_has_a_card_and_a_licence() -> None:
    assert sum(file.stat().st_size for file in DEMO_JUDGE.iterdir()) <= 16_000_000
    assert {"README.md", "LICENSE", "model.safetensors", "tokenizer.json"} <= {f.name for f in DEMO_JUDGE.iterdir()}


@pytest.mark.parametrize(
    "text",
    [
        "😀👩‍🚀 ok",
        "مرحبا بالعالم",
        "你好，世界",
        "a\n\n  b\tc",
        '"quoted" \'single\' \\"',
        "¿Dónde nació Núria?",
        "x́ \x00 \U0010ffff",
    ],
)
def test_any_text_survives_the_tokenizer(tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer(text, add_special_tokens=False).input_ids) == text


def test_digits_stand_alone_and_texts_begin_with_bos_only(tokenizer) -> None:
    ids = tokenizer("1987").input_ids
    assert tokenizer.convert_ids_to_tokens(ids) == ["<s>", "1", "9", "8", "7"]
    assert len({tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id}) == 3
    assert tokenizer.chat_template is None


def test_every_right_answer_of_the_examples_is_more_faithful_than_every_wrong_one() -> None:
    from rag_evaluator import RAGEvaluator

    lines = (ROOT / "examples" / "dataset.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    scores = RAGEvaluator({"metrics": ["faithfulness"]}).evaluate(rows).to_pandas()["faithfulness"].tolist()
    of = {
        label: [score for made, score in zip(rows, scores, strict=True) if made["label"] == label]
        for label in ("right", "wrong", "evasive")
    }
    assert min(of["right"]) > max(of["wrong"])
    assert of["evasive"] == [0.0, 0.0, 0.0]
