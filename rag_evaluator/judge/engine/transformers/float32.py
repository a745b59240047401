"""A model of half precision computed in float32, without a copy of its weights."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

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


def _float32(item: Any) -> Any:
    if isinstance(item, torch.Tensor) and item.dtype in HALVES:
        return item.detach().to(torch.float32)
    return torch.float32 if isinstance(item, torch.dtype) and item in HALVES else item
