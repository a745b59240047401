"""Weights in the order of a CPU's kernels give the same bytes; where they do not, they are put back."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from rag_evaluator.judge.engines.transformers.linear import reorder_weights

SHAPE = {"vocab_size": 300, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
IDS = torch.arange(66).view(2, 33)


def model(dtype: torch.dtype) -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**SHAPE, num_attention_heads=4)).to(dtype).eval()


@torch.inference_mode()
def test_logits_have_the_same_bytes_and_float32_is_left_alone() -> None:
    for dtype in (torch.bfloat16, torch.float32):
        judge = model(dtype)
        expected = judge(IDS).logits
        reorder_weights(judge)
        assert torch.equal(judge(IDS).logits, expected)
        is_reordered = dtype == torch.bfloat16 and torch.ops.mkldnn._is_mkldnn_bf16_supported()
        assert judge.lm_head.weight.is_mkldnn == is_reordered


@torch.inference_mode()
def test_where_logits_change_all_weights_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = model(torch.bfloat16)
    before = {name: weight.clone() for name, weight in judge.state_dict().items()}
    expected = judge(IDS).logits
    kernel = torch.ops.mkldnn._linear_pointwise
    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", lambda *inputs: 2 * kernel(*inputs))
    reorder_weights(judge)
    assert all(torch.equal(judge.state_dict()[name], weight) for name, weight in before.items())
    assert torch.equal(judge(IDS).logits, expected)
