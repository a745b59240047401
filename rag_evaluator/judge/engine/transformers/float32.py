"""A model of half precision computed in float32, without a copy of its weights."""

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Value = TypeVar("Value")
logger = logging.getLogger(__name__)
HALVES = (torch.bfloat16, torch.float16)


class InFloat32(TorchFunctionMode):
    """Inside, each function of torch gets float32 in place of half precision: numbers, and types that it is to make.

    A weight is converted where it is used and freed afterwards, so it takes the memory of the largest one only.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        if func is torch.nn.functional.embedding:  # picks rows: these are converted, not the whole table
            return tree_map(_float32, func(*args, **(kwargs or {})))
        return func(*tree_map(_float32, args), **tree_map(_float32, kwargs or {}))


def in_float32(model: "PreTrainedModel", compute: Callable[[], Value]) -> tuple[Value, bool]:
    """What a function makes of a model in float32, so that no difference is one of rounding; and whether it did so.

    In bfloat16 the last bit decides which experts a token gets, and logits change then as much as by a fault. Quantised
    models, and those for which float32 fails (no memory for the largest weight), compute in their own type.
    """
    if not getattr(model, "hf_quantizer", None):
        try:
            with InFloat32():
                return compute(), True
        except Exception as error:  # kernels that know no float32 raise errors of any kind
            logger.debug("the model cannot be computed in float32: %s", error, exc_info=True)
    return compute(), model.dtype == torch.float32


def _float32(item: Any) -> Any:
    if isinstance(item, torch.Tensor) and item.dtype in HALVES:
        return item.detach().to(torch.float32)
    return torch.float32 if isinstance(item, torch.dtype) and item in HALVES else item
