"""The path without packing: the tokens of transformers' own `generate`, in fewer passes."""

import random
from typing import Any

import pytest
import torch
from test_judge import random_request
from tiny_models import Tiny, plain_of

from rag_evaluator import Judge
from rag_evaluator.judge.engines.transformers.plain import TOGETHER, PlainDecoder
from rag_evaluator.judge.protocol import Request

pytestmark = pytest.mark.models

TOGETHER_OF = {  # kind -> tokens of a row in one pass; 0: only `generate` is right
    "qwen3-next": TOGETHER,
    "lfm2": TOGETHER,
    "mamba2": TOGETHER,
    "bloom": TOGETHER,
    "mistral-window": TOGETHER,
    "jamba": 1,  # its scan begins anew with every pass of several tokens
    "mamba": 1,
    "recurrent-gemma": 0,  # its state is in the model, not in a cache
    "rwkv": 0,
}
FAST = [kind for kind, together in TOGETHER_OF.items() if together > 1]


def decoder_of(judge: Judge, batch_size: int = 16) -> PlainDecoder:
    engine: Any = judge.inner.engine  # type: ignore[attr-defined]
    return PlainDecoder(engine.model, engine.vocabulary, engine.padding, engine.window, batch_size)


def requests_of(judge: Judge, count: int, seed: int = 0) -> list[Request]:
    rng = random.Random(seed)
    judge.inner.config = judge.config.model_copy(update={"max_new_tokens": 60})
    return [judge.inner.request(*random_request(rng)) for _ in range(count)]


def passes(decoder: PlainDecoder, requests: list[Request]) -> tuple[list[Any], list[int]]:
    """Replies, and the rows of each forward pass."""
    rows: list[int] = []
    hook = decoder.model.register_forward_pre_hook(
        lambda _, args, kwargs: rows.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    with torch.inference_mode():
        replies = decoder.decode(requests)
    hook.remove()
    return replies, rows


@pytest.mark.parametrize("kind", TOGETHER_OF)
def test_it_is_tried_out_how_a_model_goes_on_from_its_cache(tiny: Tiny, kind: str) -> None:
    assert decoder_of(tiny(kind, dtype="float32")).together == TOGETHER_OF[kind]


@pytest.mark.parametrize("kind", FAST)
def test_a_row_alone_takes_one_pass_for_each_run_of_forced_tokens(tiny: Tiny, kind: str) -> None:
    judge = tiny(kind, dtype="float32")
    (request,) = requests_of(judge, 1)
    (reply,), fast = passes(decoder_of(judge, 1), [request])
    _, slow = passes(plain_of(judge), [request])
    assert len(slow) == len(reply.token_ids)
    assert len(fast) < len(slow) / 2


@pytest.mark.parametrize("kind", [kind for kind, together in TOGETHER_OF.items() if together])
def test_a_row_that_is_done_is_left_out_of_the_passes_that_follow(tiny: Tiny, kind: str) -> None:
    judge = tiny(kind, dtype="float32")
    requests = requests_of(judge, 6)
    _, rows = passes(decoder_of(judge, 6), requests)
    assert rows[0] == 6
    assert rows == sorted(rows, reverse=True)
    assert rows[-1] == 1


def test_prompts_of_like_length_are_decoded_together(tiny: Tiny) -> None:
    judge = tiny("lfm2", dtype="float32")
    decoder = decoder_of(judge, 2)
    seen = []
    padded = decoder.padded
    decoder.padded = lambda rows: seen.append([len(row) for row in rows]) or padded(rows)  # type: ignore
    decoder.next_logits([(5,) * length for length in (40, 3, 41, 4, 20)])
    assert seen == [[41, 40], [20, 4], [3]]
