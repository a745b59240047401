"""Pairs of like length are computed together; each keeps its place."""

from types import SimpleNamespace
from typing import Any

import torch

from rag_evaluator.verifiers import padded, probabilities


def encoded(*lengths: int) -> list[dict[str, list[int]]]:
    return [{"input_ids": [length] * length, "attention_mask": [1] * length} for length in lengths]


def batches(device: str, batch_size: Any, *lengths: int) -> list[list[int]]:
    """Lengths of the texts of each batch as a model gets them."""
    seen: list[list[int]] = []

    def read(_: Any, inputs: dict[str, Any]) -> Any:
        seen.append(inputs["attention_mask"].sum(-1).tolist())
        return inputs["input_ids"][:, 0] / 1000

    model = SimpleNamespace(device=torch.device(device))
    values = probabilities(model, encoded(*lengths), read, pad_token_id=0, batch_size=batch_size)
    assert [round(value * 1000) for value in values] == list(lengths), "in the order of the texts"
    return seen


def test_texts_are_batched_by_their_length() -> None:
    assert batches("cpu", 2, 5, 3, 9, 3, 7) == [[3, 3], [5, 7], [9]]
    assert batches("cpu", 16, 5, 3) == [[3, 5]]
    assert batches("cpu", 1) == []


def test_auto_fills_batches_with_tokens_on_a_cpu() -> None:
    assert batches("cpu", "auto", 600, 256, 250, 100, 100) == [[100, 100], [250, 256], [600]]
    assert batches("cpu", "auto", *[10] * 40) == [[10] * 32, [10] * 8]


def test_shorter_texts_are_padded_on_the_right_and_masked() -> None:
    inputs = padded(encoded(2, 3), pad_token_id=9, device="cpu")
    assert inputs["input_ids"].tolist() == [[2, 2, 9], [3, 3, 3]]
    assert inputs["attention_mask"].tolist() == [[1, 1, 0], [1, 1, 1]]
