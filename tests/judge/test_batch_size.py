"""How many sequences are decoded together: as the user says, as memory allows, and the same in two runs."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tiny_models import Tiny

from rag_evaluator.config import USUAL_BATCH
from rag_evaluator.judge.engines.transformers import decoder
from rag_evaluator.judge.engines.transformers.decoder import (
    CPU_HALF_MOST,
    GPU_MOST,
    LEAST_PREFILL,
    LENGTH,
    BatchSize,
    BatchSizeSetting,
)

GB = 1 << 30
SLOT = 1 << 17  # bytes of a token of an 8B model
FLOAT, HALF = (SimpleNamespace(dtype=dtype) for dtype in (torch.float32, torch.bfloat16))


@pytest.mark.parametrize(
    ("asked", "gpu", "free", "slot_bytes", "row_bytes", "most", "model"),
    [
        (5, False, 64 * GB, SLOT, 0, 5, FLOAT),
        (500, True, 64 * GB, SLOT, 0, 500, FLOAT),
        ("auto", False, 64 * GB, SLOT, 0, USUAL_BATCH, FLOAT),
        ("auto", False, 64 * GB, SLOT, 0, CPU_HALF_MOST, HALF),
        ("auto", False, 4 * GB, SLOT, 0, 8, FLOAT),
        ("auto", False, GB // 100, SLOT, 0, 1, FLOAT),
        ("auto", True, 64 * GB, SLOT, 0, 128, FLOAT),
        ("auto", True, 63 * GB, SLOT, 0, 64, FLOAT),
        ("auto", True, 640 * GB, SLOT, 0, GPU_MOST, FLOAT),
        ("auto", True, 64 * GB, 0, GB, 32, FLOAT),
        ("auto", True, 64 * GB, SLOT, GB, 16, FLOAT),
        ("auto", True, 64 * GB, 0, 0, USUAL_BATCH, FLOAT),  # what a token takes is not known
    ],
)
def test_the_batch_size_is_the_users_or_a_power_of_two_that_fits_the_memory(
    asked: BatchSizeSetting,
    gpu: bool,
    free: int,
    slot_bytes: int,
    row_bytes: int,
    most: int,
    model: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decoder, "free_bytes", lambda _: free)
    monkeypatch.setattr(decoder, "on_gpus", lambda _: gpu)
    size = BatchSize.of(model, asked, slot_bytes, row_bytes)
    assert size.most == most
    assert size.that_fit(LENGTH) <= most


@pytest.mark.parametrize("kind", ["llama-bytelevel", "lfm2"])
def test_what_was_chosen_is_what_the_judge_is_kept_busy_with_and_what_the_manifest_says(
    tiny: Tiny, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoder, "on_gpus", lambda _: True)
    judge = tiny(kind)
    most = judge.inner.engine.decoder.batch_size.most
    assert most > USUAL_BATCH
    assert judge.inner.capabilities.in_flight == most
    assert judge.inner.about["batch_size"] == str(most)
    assert tiny(kind, batch_size=3).inner.about["batch_size"] == "3"


def test_what_a_row_of_a_hybrid_takes_is_measured(tiny: Tiny) -> None:
    engine: Any = tiny("lfm2", dtype="float32").inner.engine
    config = engine.model.config
    keys = 2 * config.num_key_value_heads * (config.hidden_size // config.num_attention_heads) * 4
    states = 2 * config.hidden_size * config.conv_L_cache * 4
    assert engine.decoder.batch_size.slot_bytes == keys  # of the layer with attention
    assert engine.decoder.batch_size.row_bytes == states  # of the 2 with a convolution


def test_without_memory_the_tokens_of_a_pass_become_fewer_too_even_for_one_row() -> None:
    size = BatchSize(4, 0, 0)
    size.prefill = 512
    seen: list[tuple[int, int]] = []

    def small(items: Sequence[int]) -> list[int]:
        seen.append((size.most, size.prefill))
        if size.prefill > 100:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return list(items)

    assert size.run_or_halve(small, range(8)) == list(range(8))
    assert seen == [(4, 512), (2, 256), (1, 128), (1, 64)]


@pytest.mark.parametrize(("most", "prefill", "rows"), [(1024, 512, 1024), (1, LEAST_PREFILL, 8)])
def test_however_often_rows_are_halved_a_pass_keeps_some_tokens(most: int, prefill: int, rows: int) -> None:
    size = BatchSize(most, 0, 0)
    size.prefill = prefill

    def never(items: Sequence[int]) -> list[int]:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(torch.OutOfMemoryError):
        size.run_or_halve(never, range(rows))
    assert (size.most, size.prefill) == (1, LEAST_PREFILL)
