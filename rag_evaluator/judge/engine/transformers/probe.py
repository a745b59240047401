"""Whether a model gives on packed rows the logits that it gives for each row alone: measured when it is loaded."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from rag_evaluator.judge.engine.transformers.attention import NotPackableError
from rag_evaluator.judge.engine.transformers.float32 import in_float32
from rag_evaluator.judge.engine.transformers.neighbours import WINDOWS, rope_switch
from rag_evaluator.judge.engine.transformers.tail_cache import TailCache

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Run = Callable[[TailCache, Sequence[Sequence[int]], Sequence[int], Sequence[int]], torch.Tensor]
WINDOW = 8  # tokens of all attention windows while a model is tried out
PREFIX, TAILS, FIRST = 13, (14, 9), (3, 2)  # tokens; those of the tails that are fed first
KINDS = {"full_attention", "sliding_attention"}  # layers that only attend to the tokens before
LIMIT, HALF_LIMIT = 1e-4, 5e-2  # of the largest logit


def other_layers(config: Any) -> str | None:
    """Why, by its configuration, a model cannot be packed; for what a trial with short rows would not show."""
    if kinds := set(getattr(config, "layer_types", None) or ()) - KINDS:
        return f"it has layers of the kind {', '.join(sorted(kinds))}"
    return None if rope_switch(config) is None else "its position encoding depends on the length of the longest row"


def try_out(model: "PreTrainedModel", configs: Sequence[Any], layers: int, run: Run) -> int:
    """Compare packed logits with the model's own. Returns the bytes that keys and values of one token take.

    Two rows of different lengths share a prefix and are fed in two steps; each is compared with the model's own pass
    over it alone. Meanwhile all attention windows of the model have `WINDOW` tokens, in both ways, and prefix and
    tails are longer than that. Rows longer than the real windows could take minutes.

    A model of half precision is compared in float32 (`in_float32`); in its own type it is only run.

    Args:
        configs: all configurations that the model's modules read.
        run: `PackedModel.run`.

    Raises `NotPackableError` where logits differ, and whatever the model raises.
    """
    size = int(model.config.get_text_config().vocab_size)
    tokens = [(7 * i + 3) % size for i in range(PREFIX + sum(TAILS))]
    prefix, tails = tokens[:PREFIX], (tokens[PREFIX : PREFIX + TAILS[0]], tokens[-TAILS[1] :])

    def compared() -> tuple[torch.Tensor, torch.Tensor]:
        return _own(model, [[*prefix, *tail] for tail in tails]), _packed(layers, run, prefix, tails)[0]

    with torch.inference_mode(), _small_windows([*model.modules(), *configs]):
        packed, slot_bytes = _packed(layers, run, prefix, tails)
        (own, packed), exact = in_float32(model, compared)
    scale = own.abs().max()
    difference = float((packed.float() - own.float()).abs().max() / scale)
    if not difference <= (LIMIT if exact else HALF_LIMIT):
        raise NotPackableError(f"its logits change when rows are packed, by {difference:.2g} of them")
    return slot_bytes


def _own(model: "PreTrainedModel", rows: Sequence[Sequence[int]]) -> torch.Tensor:
    """`(rows, vocab)` logits after the last token of each row, which is alone."""
    passes = (model(torch.tensor([row], device=model.device), logits_to_keep=1) for row in rows)
    return torch.stack([output.logits[0, -1] for output in passes])


def _packed(layers: int, run: Run, prefix: Sequence[int], tails: Sequence[Sequence[int]]) -> tuple[torch.Tensor, int]:
    """`(rows, vocab)` logits after the last token of each row, and the bytes that a token of the prefix takes."""
    alone = TailCache(layers, 1, len(prefix))
    run(alone, [prefix], [0], [0])
    if any(tail is None for tail in alone.tails):
        raise NotPackableError("not all of its layers are attention layers")
    if max(alone.windows, default=0) > WINDOW:
        raise NotPackableError("its attention windows cannot be made small to try it out")
    shared = TailCache(layers, len(tails), max(map(len, tails)))
    shared.prefix = alone.copy_of(0, len(prefix))
    rows = list(range(len(tails)))
    run(shared, [tail[:first] for tail, first in zip(tails, FIRST, strict=True)], rows, [0] * len(rows))
    logits = run(shared, [tail[first:] for tail, first in zip(tails, FIRST, strict=True)], rows, FIRST)
    return logits, sum(keys.nbytes + values.nbytes for keys, values in shared.prefix) // len(prefix)


@contextmanager
def _small_windows(holders: Sequence[Any]) -> Iterator[None]:
    """Let modules and configurations say meanwhile that attention windows have `WINDOW` tokens at most."""
    known = [(holder, name, vars(holder).get(name)) for holder in holders for name in WINDOWS]
    larger = [(holder, name, size) for holder, name, size in known if type(size) is int and size > WINDOW]
    for holder, name, _ in larger:
        setattr(holder, name, WINDOW)
    try:
        yield
    finally:
        for holder, name, size in larger:
            setattr(holder, name, size)
