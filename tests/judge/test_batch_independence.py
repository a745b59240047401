"""An answer does not depend on who is decoded beside it, whatever the model's architecture."""

import logging
import random
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
import tiny_models
import torch
from pydantic import BaseModel
from test_judge import PIECES, ask, load
from tiny_models import plain_of

from rag_evaluator import Judge
from rag_evaluator.judge import Opinion, PromptText, why_alone

pytestmark = pytest.mark.models

SWITCH = tiny_models.ROPE_SWITCH
ANSWER = 20  # new tokens


class Verdict(BaseModel):
    note: str
    verdict: Literal[0, 1]


def prompts(judge: Judge) -> list[PromptText]:
    """Prompts that end well before, just before and after the length at which rope factors change."""
    rng = random.Random(0)
    sizes = [SWITCH // 8, SWITCH // 2, SWITCH - 2 * ANSWER, SWITCH - 8, SWITCH - 2, SWITCH + 20, 2 * SWITCH]
    return [_of_size(judge, size, rng) for size in sizes + sizes[:1]]


def _of_size(judge: Judge, size: int, rng: random.Random) -> PromptText:
    text = f"{rng.random()}"
    while len(judge.inner.encoder.encode(f"{text}\nOutput: ")) < size:
        text += f" {rng.choice(PIECES[:2])}"[: rng.randint(2, 30)]
    return PromptText(f"{text}\nOutput: ")


KINDS = sorted(tiny_models.ARCHITECTURES.keys() - {"bert"})
ELSEWHERE = {"lfm2", "jamba", "mamba2"}  # their batches are tested in test_plain_path
MOST_KINDS = [pytest.param(kind, marks=[pytest.mark.slow] if kind in ELSEWHERE else []) for kind in KINDS]


@pytest.mark.parametrize("kind", MOST_KINDS)
def test_answers_do_not_depend_on_the_batch_size(model_folder: Callable[..., Path], kind: str) -> None:
    together, alone = (
        load(model_folder(kind), max_new_tokens=ANSWER, dtype="float32", batch_size=size) for size in (16, 1)
    )
    asked = [(prompt, Verdict) for prompt in prompts(together)]
    for one, other in zip(ask(together, asked), ask(alone, asked), strict=True):
        assert isinstance(one, Opinion) and isinstance(other, Opinion), (one, other)
        assert one.answer == other.answer
        assert one.confidence == pytest.approx(other.confidence, abs=2e-5)  # matrices of another size: other last bits


@pytest.mark.parametrize("kind", MOST_KINDS)
def test_choices_do_not_depend_on_the_batch_size(model_folder: Callable[..., Path], kind: str) -> None:
    judge = load(model_folder(kind), dtype="float32", batch_size=16)
    asked = [tuple(judge.inner.encoder.encode(prompt)) for prompt in prompts(judge)]
    together = judge.inner.engine.decoder.next_logits(asked)
    for ids, logits in zip(asked, together, strict=True):
        (alone,) = plain_of(judge).next_logits([ids])
        assert logits.tolist() == pytest.approx(alone.tolist(), abs=2e-3)  # of 8; linear attention rounds in chunks


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    "kind, why",
    [
        ("rwkv", "its logits change beside a longer row"),
        ("recurrent-gemma", "its logits change beside a longer row"),
        ("deepseek-v32", "its sparse attention selects among the padding, too"),
        *((kind, None) for kind in KINDS if kind not in {"rwkv", "recurrent-gemma", "deepseek-v32"}),
    ],
)
def test_only_models_that_heed_their_neighbours_are_decoded_one_row_at_a_time_with_a_warning(
    model_folder: Callable[..., Path], kind: str, why: str | None, dtype: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        judge = load(model_folder(kind), dtype=dtype, batch_size=16)
    assert judge.inner.engine.decoder.alone == why
    assert judge.inner.engine.decoder.batch_size.most == (1 if why else 16)
    assert [record.args for record in caplog.records if "decoded alone" in record.msg] == ([(why,)] if why else [])


@pytest.mark.parametrize("kind, reach", [("mistral-window", 64), ("gemma2-window", 64), ("gpt-oss", 64)])
def test_neighbours_are_tried_out_with_a_row_longer_than_the_attention_window(
    model_folder: Callable[..., Path], kind: str, reach: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = load(model_folder(kind), dtype="float32", batch_size=1)
    seen: list[int] = []

    def logits(sequences: list[tuple[int, ...]], steps: int) -> torch.Tensor:
        seen.append(max(map(len, sequences)))
        return plain_of(judge).logits(sequences, steps)

    model = judge.inner.engine.model
    assert why_alone(model, logits, judge.inner.window) is None
    assert max(seen) > reach
    monkeypatch.setattr(model, "num_parameters", lambda: 8 * 10**9)
    seen.clear()
    why_alone(model, logits, judge.inner.window)
    assert max(seen) <= 64, "a large model on a CPU must not be tried out for minutes"


def test_a_trial_that_does_not_fit_the_memory_is_made_with_a_shorter_row(model_folder: Callable[..., Path]) -> None:
    judge = load(model_folder("mistral-window"), dtype="float32", batch_size=1)

    def logits(sequences: list[tuple[int, ...]], steps: int) -> torch.Tensor:
        if max(map(len, sequences)) > 40:
            raise RuntimeError("CUDA error: out of memory")
        return plain_of(judge).logits(sequences, steps)

    assert why_alone(judge.inner.engine.model, logits, judge.inner.window) is None
