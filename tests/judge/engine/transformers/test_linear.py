"""Weights in the order of a CPU's kernels give the same bytes; where they do not, they are put back."""

from typing import Any

import pytest
import torch
from tiny_models import Tiny
from transformers import AutoModelForCausalLM

IDS = torch.arange(66).view(2, 33)


def as_saved(judge: Any) -> Any:
    """The judge's model, loaded by transformers alone."""
    model = judge.inner.engine.model
    return AutoModelForCausalLM.from_pretrained(model.name_or_path, dtype=model.dtype).eval()


@torch.inference_mode()
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_logits_have_the_same_bytes_and_float32_is_left_alone(tiny: Tiny, dtype: str) -> None:
    judge = tiny("llama-bytelevel", dtype=dtype)
    model = judge.inner.engine.model
    assert torch.equal(model(IDS).logits, as_saved(judge)(IDS).logits)
    is_reordered = dtype == "bfloat16" and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    assert model.lm_head.weight.is_mkldnn == is_reordered


@torch.inference_mode()
def test_where_logits_change_all_weights_are_put_back(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = torch.ops.mkldnn._linear_pointwise
    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", lambda *inputs: 2 * kernel(*inputs))
    judge = tiny("llama-bytelevel", dtype="bfloat16")
    model = judge.inner.engine.model
    weights = model.state_dict()
    assert all(torch.equal(weights[name], weight) for name, weight in as_saved(judge).state_dict().items())
    assert torch.equal(model(IDS).logits, as_saved(judge)(IDS).logits)
