"""Runs a model on many rows that share a common prefix, without computing or copying the prefix per row.

The tokens of all rows are packed into one sequence for the linear layers, so a row costs no more beside a longer one.
Attention reads the prefix's keys and values once for all rows, and each row's own tail from a pre-allocated cache; the
two parts are merged by their log-sum-exp (as in FlashAttention, Dao et al. 2022). Keys are not repeated.
"""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from transformers import AttentionInterface

from rag_evaluator.judge.engine.transformers.neighbours import rope_switch
from rag_evaluator.progress import ACTIVITY

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PARAMETERS = {"position_ids", "past_key_values", "logits_to_keep"}
NAME = "rag_evaluator_packed"
CHUNK = 512  # tokens of a row in one pass at most
Layer = tuple[torch.Tensor, torch.Tensor]
"""Keys and values: `(width, kv_heads, length, head_dim)` of tails, `(kv_heads, length, head_dim)` of a prefix."""


class NotPackableError(Exception):
    """A model that must be run by transformers' `generate`, and why."""


@dataclass(frozen=True)
class Step:
    """Where the packed tokens of one forward pass belong.

    Attributes:
        rows: `(tokens,)` row of the cache each token belongs to.
        slots: `(tokens,)` position of each token in its row's tail.
        place: `(tokens,)` x 2, row and column of each token in the padded view that attention uses.
        cached: the rows of the cache that take part, as a slice or as indices.
        length: tail slots that are read.
        mask: `(rows, 1, columns, length)`, 0 where a token may look, else -inf.
    """

    rows: torch.Tensor
    slots: torch.Tensor
    place: tuple[torch.Tensor, torch.Tensor]
    cached: slice | torch.Tensor
    length: int
    mask: torch.Tensor


class TailCache:
    """Keys and values of the rows' tails, pre-allocated; used as the transformers `Cache` of a forward pass.

    Args:
        layers: number of attention layers.
        width: rows at most.
        length: tail slots per row.

    Attributes:
        tails: keys and values per layer, `(width, kv_heads, length, head_dim)` each; None before the first pass.
        prefix: keys and values per layer of what all rows begin with, `(kv_heads, prefix, head_dim)` each; or empty.
        step: the pass that is running.
    """

    def __init__(self, layers: int, width: int, length: int) -> None:
        self.width, self.length = width, length
        self.tails: list[Layer | None] = [None] * layers
        self.prefix: Sequence[Layer] = ()
        self.step: Step | None = None

    def update(self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_: Any, **__: Any) -> Layer:
        """Store the keys and values `(1, kv_heads, tokens, head_dim)` of the packed tokens."""
        assert self.step is not None
        tail = self._tail(layer, keys[0], values[0])
        rows, slots = self.step.rows.to(keys.device), self.step.slots.to(keys.device)  # layers may be spread over GPUs
        tail[0][rows, :, slots] = keys[0].transpose(0, 1)
        tail[1][rows, :, slots] = values[0].transpose(0, 1)
        return keys, values

    def get_seq_length(self, layer: int = 0) -> int:
        return 0  # positions are always given

    def _tail(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> Layer:
        """The tails of a layer; if there are none, made for keys and values like these `(kv_heads, any, head_dim)`."""
        tail = self.tails[layer]
        if tail is None:
            shape = (self.width, keys.shape[0], self.length)
            tail = (keys.new_zeros(*shape, keys.shape[-1]), values.new_zeros(*shape, values.shape[-1]))
            self.tails[layer] = tail
        return tail

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
        return [(keys[row, :, :length].clone(), values[row, :, :length].clone()) for keys, values in tails]

    def put(self, row: int, layers: Sequence[Layer]) -> None:
        """Fill the first slots of a row with keys and values, as `copy_of` gives them."""
        for layer, parts in enumerate(layers):
            for tail, part in zip(self._tail(layer, *parts), parts, strict=True):
                tail[row, :, : part.shape[1]] = part


class PackedModel:
    """A causal language model that can be run on packed rows.

    Use `PackedModel.of(model)`, which finds out whether the model can.

    Attributes:
        layers: number of attention layers.
        slot_bytes: memory that the keys and values of one token take.
    """

    def __init__(self, model: "PreTrainedModel") -> None:
        self.model = model
        self.layers = int(model.config.get_text_config().num_hidden_layers)
        configs = [module.config for module in model.modules() if hasattr(module, "config")]
        self.configs = list({id(config): config for config in configs}.values())
        self.slot_bytes = 0

    @classmethod
    def of(cls, model: "PreTrainedModel") -> "PackedModel":
        """The packed form of a model. Raises `NotPackableError` where it does not give the model's own logits.

        Its logits are compared with the model's own: another kind of attention or cache gives others, or fails.
        """
        missing = PARAMETERS - inspect.signature(model.forward).parameters.keys()
        if missing:
            raise NotPackableError(f"its forward pass takes no {', '.join(sorted(missing))}")
        if reason := _other_attention(model):
            raise NotPackableError(reason)
        packed = cls(model)
        try:
            packed._check()
        except NotPackableError:
            raise
        except Exception as error:  # models of other architectures raise errors of any kind
            message = " ".join(str(error).split())[:200]
            raise NotPackableError(f"packed rows fail with {type(error).__name__}: {message}") from error
        return packed

    def run(self, cache: TailCache, tokens: Sequence[Sequence[int]], rows: Sequence[int], starts: Sequence[int]) -> Any:
        """Logits `(rows, vocab)` after the last token of each row.

        Args:
            cache: tails of all rows, and the prefix they share.
            tokens: new tokens of each row, at least one.
            rows: rows of the cache they belong to.
            starts: tail slots that each row has filled already.
        """
        tokens, starts = list(tokens), list(starts)
        while long := [index for index, part in enumerate(tokens) if len(part) > CHUNK]:
            self._pass(cache, [tokens[i][:CHUNK] for i in long], [rows[i] for i in long], [starts[i] for i in long])
            for index in long:
                tokens[index], starts[index] = tokens[index][CHUNK:], starts[index] + CHUNK
        return self._pass(cache, tokens, rows, starts)

    def _pass(
        self, cache: TailCache, tokens: Sequence[Sequence[int]], rows: Sequence[int], starts: Sequence[int]
    ) -> Any:
        """One forward pass; memory for attention grows with the columns, which is why `run` cuts long ones."""
        device = self.model.device
        counts = [len(part) for part in tokens]
        cache.step = _step(counts, rows, starts, device)
        prefix = cache.prefix[0][0].shape[1] if cache.prefix else 0
        last = torch.tensor(counts).cumsum(0) - 1
        with _attention(self.configs, cache):
            output = self.model(
                input_ids=torch.tensor([[token for part in tokens for token in part]], device=device),
                position_ids=(cache.step.slots + prefix)[None],
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=last,  # on the CPU: the last layer may be on another device than the first
            )
        ACTIVITY.tokens += sum(counts)
        return output.logits[0]

    def _check(self) -> None:
        """Compare packed logits with the model's own, for a prefix of 9 tokens and tails of 5 and 3, in two steps."""
        size = int(self.model.config.get_text_config().vocab_size)
        tokens = [(7 * i + 3) % size for i in range(17)]
        prefix, tails = tokens[:9], (tokens[9:14], tokens[14:])
        cache = TailCache(self.layers, 2, 9)
        with torch.inference_mode():
            self.run(cache, [prefix], [0], [0])
            shared = TailCache(self.layers, 2, 8)
            shared.prefix = cache.copy_of(0, len(prefix))
            self.slot_bytes = sum(keys.nbytes + values.nbytes for keys, values in shared.prefix) // len(prefix)
            self.run(shared, [tails[0][:2], tails[1][:2]], [0, 1], [0, 0])
            packed = self.run(shared, [tails[0][2:], tails[1][2:]], [0, 1], [2, 2])
            device = self.model.device
            own = [self.model(torch.tensor([[*prefix, *tail]], device=device)).logits[0, -1] for tail in tails]
        difference = (packed.float() - torch.stack(own).float()).abs().max()
        scale = torch.stack(own).float().abs().max()
        limit = 1e-4 if packed.dtype == torch.float32 else 5e-2
        if not bool(difference <= limit * scale):
            raise NotPackableError(
                f"its logits change when rows are packed, by {float(difference / scale):.2g} of them"
            )


def _other_attention(model: "PreTrainedModel") -> str | None:
    """Why, by its configuration, a model's layers do not just attend to all tokens before; None if they do."""
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"]) - {"full_attention"}
    if kinds:
        return f"it has layers of the kind {', '.join(sorted(kinds))}"
    if getattr(config, "sliding_window", None) is not None:
        return f"its layers see a window of {config.sliding_window} tokens"
    return None if rope_switch(config) is None else "its position encoding depends on the length of the longest row"


def _step(counts: Sequence[int], rows: Sequence[int], starts: Sequence[int], device: torch.device) -> Step:
    columns = max(counts)
    length = max(start + count for start, count in zip(starts, counts, strict=True))
    column = torch.cat([torch.arange(count) for count in counts])
    view = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    slots = torch.tensor(starts)[view] + column
    queries = torch.zeros(len(counts), columns, dtype=torch.long)
    queries[view, column] = slots
    mask = torch.zeros(len(counts), 1, columns, length)
    mask.masked_fill_((torch.arange(length) > queries[:, :, None])[:, None], float("-inf"))
    in_order = list(rows) == list(range(rows[0], rows[0] + len(rows)))
    return Step(
        rows=torch.tensor(rows)[view].to(device),
        slots=slots.to(device),
        place=(view.to(device), column.to(device)),
        cached=slice(rows[0], rows[0] + len(rows)) if in_order else torch.tensor(rows, device=device),
        length=length,
        mask=mask.to(device),
    )


def _attend(queries: Any, keys: Any, values: Any, scaling: float, mask: Any = None) -> tuple[Any, Any]:
    """Output `(batch, heads, queries, value_dim)` and log-sum-exp `(batch, heads, queries)` of the scores.

    Args:
        queries: `(batch, heads, queries, head_dim)`.
        keys: `(batch, heads, length, head_dim)`.
        values: `(batch, heads, length, value_dim)`.
        mask: added to the scores, `(batch, 1, queries, length)`.
    """
    if queries.device.type == "cpu" and queries.shape[-1] == values.shape[-1]:
        output, logsumexp = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            queries, keys, values, 0.0, False, attn_mask=None if mask is None else mask.to(queries.dtype), scale=scaling
        )
        return output, logsumexp
    scores = (queries @ keys.transpose(-1, -2)).float() * scaling
    if mask is not None:
        scores = scores + mask
    logsumexp = torch.logsumexp(scores, dim=-1)
    return (scores - logsumexp[..., None]).exp().to(values.dtype) @ values, logsumexp


def _packed_attention(cache: TailCache, module: Any, queries: Any, scaling: float) -> Any:
    """Attention of the packed tokens to the prefix and to the tail of their own row.

    Queries of the heads that share keys are put into one dimension, so that keys are not repeated:
    `group = heads / kv_heads`.

    Args:
        queries: `(1, heads, tokens, head_dim)`.

    Returns `(1, tokens, heads, value_dim)`.
    """
    step, tail = cache.step, cache.tails[module.layer_idx]
    assert step is not None and tail is not None
    device = queries.device
    cached = step.cached if isinstance(step.cached, slice) else step.cached.to(device)
    place = (step.place[0].to(device), step.place[1].to(device))
    keys, values = (part[cached, :, : step.length] for part in tail)
    heads, tokens, size = queries.shape[1:]
    kv_heads = keys.shape[1]
    group = heads // kv_heads
    grouped = queries[0].view(kv_heads, group, tokens, size)  # (kv_heads, group, tokens, head_dim)
    rows, _, columns, length = step.mask.shape
    step_mask = step.mask.to(device)
    padded = queries.new_zeros(rows, kv_heads, group, columns, size)
    padded[place[0], :, :, place[1]] = grouped.permute(2, 0, 1, 3)
    mask = step_mask[:, :, None].expand(rows, 1, group, columns, length).reshape(rows, 1, group * columns, length)
    output, logsumexp = _attend(padded.view(rows, kv_heads, group * columns, size), keys, values, scaling, mask)
    width = output.shape[-1]
    output = output.reshape(rows, kv_heads, group, columns, width)[place[0], :, :, place[1]]
    # output is (tokens, kv_heads, group, value_dim) from here on; logsumexp and seen_logsumexp lack the last dimension
    if cache.prefix:
        logsumexp = logsumexp.reshape(rows, kv_heads, group, columns)[place[0], :, :, place[1]]
        prefix_keys, prefix_values = cache.prefix[module.layer_idx]
        flat = grouped.reshape(1, kv_heads, group * tokens, size)
        seen, seen_logsumexp = _attend(flat, prefix_keys[None], prefix_values[None], scaling)
        seen = seen.reshape(kv_heads, group, tokens, width).permute(2, 0, 1, 3)
        seen_logsumexp = seen_logsumexp.reshape(kv_heads, group, tokens).permute(2, 0, 1)
        share = torch.sigmoid(logsumexp - seen_logsumexp)[..., None]
        output = (seen.float() + (output.float() - seen.float()) * share).to(queries.dtype)
    return output.reshape(1, tokens, heads, width)


_current: list[TailCache] = []


def _interface(module: Any, query: Any, key: Any, value: Any, mask: Any, scaling: Any = None, **_: Any) -> Any:
    """The attention function that transformers calls; the cache of the running pass is the last of `_current`."""
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    return _packed_attention(_current[-1], module, query, float(scaling)), None


AttentionInterface.register(NAME, _interface)


@contextmanager
def _attention(configs: Sequence[Any], cache: TailCache) -> Iterator[None]:
    """Let the model's attention layers call `_interface` during one forward pass."""
    theirs = [config._attn_implementation for config in configs]
    _current.append(cache)
    for config in configs:
        config._attn_implementation = NAME
    try:
        yield
    finally:
        _current.pop()
        for config, name in zip(configs, theirs, strict=True):
            config._attn_implementation = name
