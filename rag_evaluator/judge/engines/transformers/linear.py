"""Weights in the order in which a CPU's kernels for bfloat16 read them; else they are put in it for each pass.

Whether bfloat16 is faster depends on the CPU: `seconds_by_dtype` measures it.
"""

import ctypes
import logging
import sys
import time
from functools import partial
from mmap import PAGESIZE
from typing import TYPE_CHECKING, Any

import torch

from .decoder import InParts

if TYPE_CHECKING:
    from transformers import PreTrainedModel

BATCH = 16  # rows of a pass that the order is chosen for; any other number gives the same result
USUAL_LAYER = (1024, 1024)
MEASURED = 0.15  # seconds for a dtype
LEAST = 10  # passes; another program may have the cores in some
PAGE_OUT = 21  # MADV_PAGEOUT; an older Linux refuses it, which does no harm
LIMIT = 2e-2  # of the largest logit: a bias may be added before or after rounding
logger = logging.getLogger(__name__)


@torch.inference_mode()
def reorder_weights(model: "PreTrainedModel") -> None:
    """Put the weights of the linear layers of a model in bfloat16 on a CPU in order; other models stay as they are.

    A layer gives the same numbers as before, in half the time where a pass has few tokens: it is `mkldnn` of torch
    (oneDNN) in both. If the model's logits change or it fails, as one that computes with the weights themselves, all
    is undone. The weights of a layer cannot be trained or saved afterwards.
    """
    layers = [layer for layer in model.modules() if type(layer) is torch.nn.Linear and _is_slow(layer.weight)]
    if not layers or not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return
    ids = torch.tensor([[1, 2, 3]])
    with InParts():
        expected = model(ids).logits
    try:
        for layer in layers:
            _reorder(layer)
        for tensor in (*model.parameters(), *model.buffers()):
            if not tensor.is_mkldnn:
                tensor.data = tensor.clone()  # the rest, so that the file of the weights is not held in memory, too
        difference = float((model(ids).logits - expected).abs().max() / expected.abs().max())
        if not difference <= LIMIT:
            raise ValueError(f"logits change by {difference:.2g} of them")
    except Exception as error:  # kernels and models raise errors of any kind
        logger.debug("weights stay in their order: %s", error, exc_info=True)
        for layer in layers:
            if layer.weight.is_mkldnn:
                layer.weight = torch.nn.Parameter(layer.weight.to_dense(), requires_grad=False)
            vars(layer).pop("forward", None)


def _reorder(layer: torch.nn.Linear) -> None:
    weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight, BATCH)
    _page_out(layer.weight)
    layer.weight = torch.nn.Parameter(weight, requires_grad=False)
    vars(layer)["forward"] = partial(_linear, layer)


def _page_out(weight: torch.Tensor) -> None:
    """Let the system take back the memory of a weight that is not read again soon; what it holds stays as it is."""
    if sys.platform == "linux":
        begin = -(-weight.data_ptr() // PAGESIZE) * PAGESIZE
        size = weight.data_ptr() + weight.nbytes - begin
        ctypes.CDLL(None).madvise(ctypes.c_void_p(begin), ctypes.c_size_t(max(size, 0)), PAGE_OUT)


@torch.inference_mode()
def seconds_by_dtype(model: "PreTrainedModel | None" = None) -> dict[str, float]:
    """Seconds that a layer of random weights takes for few tokens, by dtype; it is as large as one of the model's.

    Nothing for a model on a GPU, and without a model where there is one.
    """
    if torch.cuda.is_available() if model is None else model.device.type != "cpu":
        return {}
    layers = [] if model is None else [layer for layer in model.modules() if isinstance(layer, torch.nn.Linear)]
    sizes = [(layer.in_features, layer.out_features) for layer in layers] or [USUAL_LAYER]
    seconds: dict[str, float] = {}
    for dtype in (torch.float32, torch.bfloat16):
        layer = torch.nn.Linear(*sorted(sizes)[len(sizes) // 2], dtype=dtype)
        if _is_slow(layer.weight) and torch.ops.mkldnn._is_mkldnn_bf16_supported():
            _reorder(layer)
        inputs = torch.ones(BATCH, layer.in_features, dtype=dtype)
        took = list[float]()
        layer(inputs)  # the first time is longer
        end = time.monotonic() + MEASURED
        while time.monotonic() < end or len(took) < LEAST:
            began = time.perf_counter()
            layer(inputs)
            took.append(time.perf_counter() - began)
        seconds[str(dtype).removeprefix("torch.")] = min(took)
    return seconds


def _is_slow(weight: torch.Tensor) -> bool:
    return weight.dtype == torch.bfloat16 and weight.device.type == "cpu"


def _linear(layer: Any, inputs: torch.Tensor) -> torch.Tensor:
    output: torch.Tensor = torch.ops.mkldnn._linear_pointwise(inputs, layer.weight, layer.bias, "none", [], "")
    return output
