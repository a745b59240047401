"""How a model is tried out when it is loaded: with a short row and a long one, in float32, if it can be.

`why_alone` finds out whether what a model answers depends on the rows decoded beside it.
"""

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from rag_evaluator.judge.engine.transformers.memory import out_of_memory

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Value = TypeVar("Value")
logger = logging.getLogger(__name__)
HALVES = (torch.bfloat16, torch.float16)
WINDOWS = ("sliding_window", "attention_chunk_size", "attention_window_size", "window_size")
SHORT = 9  # tokens of the row that is tried alone and beside a long one
STEPS = 2  # tokens after it: the first is computed from the prompt, the second from the cache
CPU_WORK, GPU_WORK = 1e12, 1e15  # floating point operations that the trial may take: some seconds
Found = TypeVar("Found")
Logits = Callable[[Sequence[tuple[int, ...]], int], torch.Tensor]


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


def rope_switch(config: Any) -> int | None:
    """The length in tokens beyond which a row gets other rope factors; None if all lengths have the same.

    transformers takes the factors for all rows of a batch from the longest (`modeling_rope_utils`). Dynamic
    factors stay the same, since `window_of` ends where they begin to grow.
    """
    rope = getattr(config, "rope_parameters", None) or {}
    kinds = [kind for kind in rope.values() if isinstance(kind, dict)] or [rope]  # per kind of layer, or one for all
    switches = {
        "longrope": [kind.get("original_max_position_embeddings") for kind in kinds],
        "dynamic": [getattr(config, "max_position_embeddings", None) for _ in kinds],
    }
    lengths = [switches[name][i] for i, kind in enumerate(kinds) if (name := kind.get("rope_type")) in switches]
    return min(map(int, filter(None, lengths)), default=None)


def why_alone(model: "PreTrainedModel", logits: Logits, window: int) -> str | None:
    """Why each row must be decoded alone; None if rows may be in one batch.

    Tried out with a short row, alone and beside one that is longer than the model's attention window.

    Args:
        logits: `(rows, steps, vocab)` logits after each of some sequences, and the tokens that follow.
        window: tokens of prompt and answer together that the model can read.
    """
    config = model.config.get_text_config()
    if any(name.startswith("index_topk") for name in config.to_dict()):  # a short trial would not show it
        return "its sparse attention selects among the padding, too"

    def trial(short: tuple[int, ...], long: tuple[int, ...]) -> str | None:
        rows = [short], [short, long]
        (alone, beside), exact = in_float32(model, lambda: [logits(row, STEPS)[0].float() for row in rows])
        difference, scale = (alone - beside).abs().max(), alone.abs().max()
        limit = 1e-4 if exact else 0.2  # in bfloat16 the experts of a token may change
        return None if bool(difference <= limit * scale) else "its logits change beside a longer row"

    return try_rows(model, window, STEPS, trial)


def try_rows(
    model: "PreTrainedModel",
    window: int,
    steps: int,
    trial: Callable[[tuple[int, ...], tuple[int, ...]], Found],
) -> Found:
    """What a trial with a short row and a long one gives; without enough memory the long one is made shorter.

    Args:
        steps: tokens that follow the rows in the trial.
    """
    size = int(model.config.get_text_config().vocab_size)
    length = _trial_length(model, window, steps)
    while True:
        short, long = (tuple((a * i + b) % size for i in range(n)) for a, b, n in ((7, 3, SHORT), (11, 5, length)))
        try:
            return trial(short, long)
        except RuntimeError as error:
            if not out_of_memory(error) or length <= 2 * SHORT:
                raise
            length //= 2


def _trial_length(model: "PreTrainedModel", window: int, steps: int) -> int:
    """Tokens of the longer row: past the attention window if that takes seconds, and within the first rope factors."""
    config = model.config.get_text_config()
    sizes = [getattr(config, name, None) for name in WINDOWS]
    reach = max((size for size in sizes if isinstance(size, int)), default=0)
    work = CPU_WORK if model.device.type == "cpu" else GPU_WORK
    affordable = int(work / (2 * 2 * max(model.num_parameters(), 1)))  # two rows, a multiplication and an addition
    longest = min(window, rope_switch(config) or window) - steps
    return min(max(min(reach + SHORT, affordable), 4 * SHORT), longest)
