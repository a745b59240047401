"""How many sequences are decoded together: as the user says, as memory allows, and the same in two runs."""

from collections.abc import Sequence
from typing import Any, Literal

import pytest
import torch
from tiny_models import Tiny

from rag_evaluator.config import USUAL_BATCH

DECODER = "rag_evaluator.judge.engines.transformers.decoder"


@pytest.mark.parametrize(
    ("kind", "asked", "gpu", "rows", "dtype", "most"),
    [
        ("llama-bytelevel", 5, False, 500, "float32", 5),
        ("llama-bytelevel", 500, True, 1000, "float32", 500),
        ("llama-bytelevel", "auto", False, 128, "float32", 16),
        ("llama-bytelevel", "auto", False, 128, "bfloat16", 32),
        ("llama-bytelevel", "auto", False, 8, "float32", 8),
        ("llama-bytelevel", "auto", False, 0.1, "float32", 1),
        ("llama-bytelevel", "auto", True, 128, "float32", 128),
        ("llama-bytelevel", "auto", True, 127, "float32", 64),
        ("llama-bytelevel", "auto", True, 5000, "float32", 256),
        ("lfm2", "auto", True, 32, "float32", 32),  # each row has a state beside its tokens
        ("mamba2", "auto", True, 32, "float32", 32),  # and nothing else
    ],
)
def test_the_batch_size_is_the_users_or_a_power_of_two_that_fits_half_of_the_memory(
    kind: str,
    asked: int | Literal["auto"],
    gpu: bool,
    rows: float,
    dtype: str,
    most: int,
    tiny: Tiny,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured = tiny(kind, dtype=dtype).inner.engine.decoder.batch_size
    row = 2048 * measured.slot_bytes + measured.row_bytes
    monkeypatch.setattr(f"{DECODER}.free_bytes", lambda _: int(rows * row / 0.5))
    monkeypatch.setattr(f"{DECODER}.on_gpus", lambda _: gpu)
    size = tiny(kind, dtype=dtype, batch_size=asked).inner.engine.decoder.batch_size
    assert size.most == most
    assert size.that_fit(2048) <= most


@pytest.mark.parametrize("kind", ["llama-bytelevel", "lfm2"])
def test_what_was_chosen_is_what_the_judge_is_kept_busy_with_and_what_the_manifest_says(
    tiny: Tiny, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{DECODER}.on_gpus", lambda _: True)
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


def test_without_memory_the_tokens_of_a_pass_become_fewer_too_even_for_one_row(tiny: Tiny) -> None:
    size: Any = tiny("llama-bytelevel", batch_size=4).inner.engine.decoder.batch_size
    size.prefill = 512
    seen: list[tuple[int, int]] = []

    def small(items: Sequence[int]) -> list[int]:
        seen.append((size.most, size.prefill))
        if size.prefill > 100:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return list(items)

    assert size.run_or_halve(small, range(8)) == list(range(8))
    assert seen == [(4, 512), (2, 256), (1, 128), (1, 64)]
