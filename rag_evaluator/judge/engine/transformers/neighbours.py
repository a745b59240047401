"""Whether what a model answers depends on the rows decoded beside it: read from its configuration, or measured."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from rag_evaluator.judge.engine.transformers.float32 import in_float32
from rag_evaluator.judge.engine.transformers.memory import out_of_memory

if TYPE_CHECKING:
    from transformers import PreTrainedModel

WINDOWS = ("sliding_window", "attention_chunk_size", "attention_window_size", "window_size")
SHORT = 9  # tokens of the row that is tried alone and beside a long one
STEPS = 2  # tokens after it: the first is computed from the prompt, the second from the cache
CPU_WORK, GPU_WORK = 1e12, 1e15  # floating point operations that the trial may take: some seconds
Found = TypeVar("Found")
Logits = Callable[[Sequence[tuple[int, ...]], int], torch.Tensor]


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
        (alone, beside), exact = in_float32(model, lambda: [logits(one, STEPS)[0].float() for one in rows])
        difference, scale = (alone - beside).abs().max(), alone.abs().max()
        limit = 1e-4 if exact else 0.2  # in bfloat16 the experts of a token may change
        return None if bool(difference <= limit * scale) else "its logits change beside a longer row"

    return tried(model, window, STEPS, trial)


def tried(
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
