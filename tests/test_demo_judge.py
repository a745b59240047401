"""The demo judge loads from disk, its tokenizer keeps every text, its training rows are reproducible."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from rag_evaluator.demo import DEMO_JUDGE
from tools.demo_judge.tasks import TASKS, Task, heads, row

ROOT = Path(__file__).parent.parent
PROMPTED = [task for task in TASKS if task.prompts]


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
    assert model.config.max_position_embeddings == 4096
    assert 2e6 < sum(p.numel() for p in model.parameters()) < 5e6
    encoded = tokenizer("Output:", return_tensors="pt")
    with torch.inference_mode():
        found = model.generate(input_ids=encoded.input_ids, attention_mask=encoded.attention_mask, max_new_tokens=3)
    assert tokenizer.decode(found[0, encoded.input_ids.shape[1] :]).startswith(" {")


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


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_same_seed_gives_the_same_rows(task: Task) -> None:
    assert [row(task, Random(5), 1.0) for _ in range(3)] == [row(task, Random(5), 1.0) for _ in range(3)]
    assert row(task, Random(5), 1.0) != row(task, Random(6), 1.0)


@pytest.mark.parametrize("task", PROMPTED, ids=lambda task: task.name)
def test_a_row_is_the_prompt_of_ragas_and_its_answer_in_the_layout_of_the_examples(task: Task) -> None:
    prompt = task.prompts[0]()
    asked, answer = task.make(Random(7), 0.5)
    sent = prompt.to_string(asked).rstrip()
    assert sent.startswith(heads(task)[0])
    assert sent.endswith("}\nOutput:")
    made = row(Task(task.name, 1.0, task.prompts[:1], lambda rng, difficulty: (asked, answer)), Random(0), 0.0)
    assert made.head + made.body == sent
    assert made.answer == " " + answer.model_dump_json(indent=4)
    assert prompt.output_model.model_validate_json(made.answer) == answer


@pytest.mark.parametrize("task", PROMPTED, ids=lambda task: task.name)
def test_prompt_and_answer_are_cut_into_tokens_apart_as_together(tokenizer, task: Task) -> None:
    made = row(task, Random(3), 1.0)
    ids = [tokenizer.bos_token_id]
    for text in (made.head, made.body, made.answer):
        ids += tokenizer(text, add_special_tokens=False).input_ids
    assert tokenizer(made.head + made.body + made.answer).input_ids == ids


def test_a_contradicted_statement_gets_verdict_0_and_a_repeated_one_1() -> None:
    nli = next(task for task in TASKS if task.name == "nli")
    for seed in range(50):
        for judged in json.loads(row(nli, Random(seed), 1.0).answer)["statements"]:
            _, _, values = judged["reason"].partition(" says ")
            said, _, claimed = values.rstrip(".").partition(", the statement ")
            assert judged["verdict"] == int(said == claimed)


def test_the_example_dataset_has_the_columns_and_labels_it_promises() -> None:
    lines = (ROOT / "examples" / "dataset.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 12
    assert {example["label"] for example in rows} == {"right", "wrong", "evasive"}
    for example in rows:
        assert set(example) == {"user_input", "retrieved_contexts", "response", "reference", "label"}
        assert 2 <= len(example["retrieved_contexts"]) <= 3


def test_logits_under_a_shared_head_are_those_of_the_whole_text(tokenizer) -> None:
    import torch

    from tools.demo_judge.batches import Batch
    from tools.demo_judge.model import answer_logits, build_model

    model = build_model(tokenizer, seed=0).eval()
    rows = torch.randint(3, 4000, (3, 12), generator=torch.Generator().manual_seed(0))
    weights = torch.ones(3, 12)
    for length in (1, 20):
        head = torch.arange(length)
        places = torch.arange(length, length + 12).expand(3, 12)
        whole = torch.cat([head.expand(3, length), rows], dim=1)
        with torch.inference_mode():
            shared = answer_logits(model, Batch(head, rows, places, weights, 0))
            expected = model(whole).logits[:, length:-1].reshape(33, -1)
        torch.testing.assert_close(shared, expected, atol=1e-4, rtol=1e-4)


def test_a_fresh_model_already_copies_random_tokens(tokenizer) -> None:
    import torch

    from tools.demo_judge.model import build_model

    model = build_model(tokenizer, seed=0).eval()
    tokens = torch.randint(3, 4000, (2, 60), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        guessed = model(torch.cat([tokens, tokens], dim=1)).logits[:, 60:-1].argmax(-1)
    assert (guessed == tokens[:, 1:]).float().mean() > 0.5
