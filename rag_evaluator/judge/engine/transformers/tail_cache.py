"""Keys and values of the rows of a batch, behind the prefix that all of them begin with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from rag_evaluator.judge.engine.transformers.step import Step

Layer = tuple[torch.Tensor, torch.Tensor]
"""Keys and values: `(width, kv_heads, length, head_dim)` of tails, `(kv_heads, length, head_dim)` of a prefix."""


@dataclass(frozen=True)
class LayerKind:
    """What the attention of a layer is computed with and on.

    Attributes:
        size: dimensions of queries and keys in a head.
        width: dimensions of values in a head.
        window: tokens that a token sees; None: all before it.
        softcap: see `packed_attention`.
    """

    device: torch.device
    dtype: torch.dtype
    heads: int
    kv_heads: int
    size: int
    width: int
    window: int | None = None
    softcap: float | None = None

    @classmethod
    def of(cls, queries: torch.Tensor, values: torch.Tensor, window: int | None, softcap: float | None) -> "LayerKind":
        """That of `(1, heads, tokens, head_dim)` queries, and of values with `kv_heads`."""
        heads = queries.shape[1], values.shape[1], queries.shape[3], values.shape[3]
        return cls(queries.device, queries.dtype, *heads, window, softcap)


class TailCache:
    """Keys and values of the rows' tails, pre-allocated; used as the transformers `Cache` of a forward pass.

    They are stored by the attention function (`store`), not where models hand them to their cache (`update`): some
    hand over something smaller, of which they make keys and values afterwards (the latents of DeepSeek), and some have
    layers that take the keys and values of another layer (Gemma 3n).

    Args:
        layers: number of attention layers.
        width: rows at most.
        length: tail slots per row.

    Attributes:
        tails: keys and values per layer, `(width, kv_heads, length, head_dim)` each; None before the first pass.
        prefix: keys and values per layer of what all rows begin with, `(kv_heads, prefix, head_dim)` each; or empty.
        kinds: of the attention layers that ran.
    """

    def __init__(self, layers: int, width: int, length: int) -> None:
        self.width, self.length = width, length
        self.tails: list[Layer | None] = [None] * layers
        self.prefix: Sequence[Layer] = ()
        self.kinds: set[LayerKind] = set()
        self._pass: tuple[Sequence[int], Sequence[int], Sequence[int], int] = ((), (), (), 0)
        self._steps: dict[torch.device, Step] = {}

    def begin(self, counts: Sequence[int], rows: Sequence[int], starts: Sequence[int]) -> None:
        """Begin a forward pass of so many tokens of some rows, of which so many slots are filled."""
        prefix = self.prefix[0][0].shape[1] if self.prefix else 0
        self._pass = (counts, rows, starts, prefix)
        self._steps = {}

    def step(self, device: torch.device) -> Step:
        """The pass that is running; layers may be spread over several devices."""
        if device not in self._steps:
            self._steps[device] = Step(*self._pass, device)
        return self._steps[device]

    def store(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> Layer:
        """The tails of a layer with the keys and values `(1, kv_heads, tokens, head_dim)` of the packed tokens."""
        tail = self._tail(layer, keys[0], values[0])
        step = self.step(keys.device)
        tail[0][step.rows, :, step.slots] = keys[0].transpose(0, 1)
        tail[1][step.rows, :, step.slots] = values[0].transpose(0, 1)
        return tail

    def update(self, keys: torch.Tensor, values: torch.Tensor, *_: Any, **__: Any) -> Layer:
        """What a model's layer calls: it goes on with what it has."""
        return keys, values

    def get_seq_length(self, layer: int = 0) -> int:
        return 0  # positions are always given

    def move(self, source: int, target: int, length: int) -> None:
        """Copy the first `length` slots of one row over another."""
        for tail in self.tails:
            assert tail is not None
            for part in tail:
                part[target, :, :length] = part[source, :, :length]

    def clear(self, row: int) -> None:
        """Forget a row whose numbers overflowed: slots that are masked are still multiplied by zero."""
        for keys, values in filter(None, self.tails):
            keys[row] = 0
            values[row] = 0

    def copy_of(self, row: int, length: int) -> list[Layer]:
        """`(kv_heads, length, head_dim)` keys and values of a row, per layer."""
        tails = [tail for tail in self.tails if tail is not None]
        assert len(tails) == len(self.tails)
        return [(keys[row, :, :length].clone(), values[row, :, :length].clone()) for keys, values in tails]

    def put(self, row: int, layers: Sequence[Layer]) -> None:
        """Fill the first slots of a row with keys and values, as `copy_of` gives them."""
        for layer, parts in enumerate(layers):
            for tail, part in zip(self._tail(layer, *parts), parts, strict=True):
                tail[row, :, : part.shape[1]] = part

    def _tail(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> Layer:
        """The tails of a layer; if there are none, made for keys and values like these, `(kv_heads, any, head_dim)`."""
        tail = self.tails[layer]
        if tail is None:
            shape = (self.width, keys.shape[0], self.length)
            tail = (keys.new_zeros(*shape, keys.shape[-1]), values.new_zeros(*shape, values.shape[-1]))
            self.tails[layer] = tail
        return tail
