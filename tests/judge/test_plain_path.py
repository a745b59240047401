"""The path without packing: the tokens of transformers' own `generate`, in fewer passes."""

import random
from typing import Any

import pytest
import torch
from test_judge import random_request
from tiny_models import Tiny, padding_decoder, plain_of

from rag_evaluator import Judge

pytestmark = pytest.mark.models

FAST = ["qwen3-next", "lfm2", "mamba2", "bloom", "mistral-window"]
STEPWISE = ["jamba", "mamba"]  # their scan begins anew with every pass of several tokens


def requests_of(judge: Judge, count: int, seed: int = 0) -> list[Any]:
    rng = random.Random(seed)
    judge.inner.config = judge.config.model_copy(update={"max_new_tokens": 60})
    return [judge.inner.request(*random_request(rng)) for _ in range(count)]


def passes(decoder: Any, requests: list[Any]) -> tuple[list[Any], list[int]]:
    """Replies, and the rows of each forward pass."""
    rows: list[int] = []
    hook = decoder.model.register_forward_pre_hook(
        lambda _, args, kwargs: rows.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    with torch.inference_mode():
        replies = decoder.decode(requests)
    hook.remove()
    return replies, rows


@pytest.mark.parametrize("kind", FAST)
def test_a_row_alone_takes_one_pass_for_each_run_of_forced_tokens(tiny: Tiny, kind: str) -> None:
    judge = tiny(kind, dtype="float32")
    (request,) = requests_of(judge, 1)
    (reply,), fast = passes(padding_decoder(judge, 1), [request])
    _, slow = passes(plain_of(judge), [request])
    assert len(slow) == len(reply.token_ids)
    assert len(fast) < len(slow) / 2


@pytest.mark.parametrize("kind", [*FAST, *STEPWISE])
def test_a_row_that_is_done_is_left_out_of_the_passes_that_follow(tiny: Tiny, kind: str) -> None:
    judge = tiny(kind, dtype="float32")
    requests = requests_of(judge, 6)
    _, rows = passes(padding_decoder(judge, 6), requests)
    assert rows[0] == 6
    assert rows == sorted(rows, reverse=True)
    assert rows[-1] == 1
