"""The attention of packed rows: to a prefix once for its rows, and to the tail of each row, merged by log-sum-exp.

`TailCache` has the keys and values of the rows behind their prefix, `Step` which of them the tokens of a pass may see.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from typing import Any

import torch
from torch.nn.functional import pad
from transformers import AttentionInterface

from .decoder import HALVES

NAME = "rag_evaluator_packed"
WITHOUT_EFFECT = {  # on the attention of a model that is not trained
    *("dropout", "is_causal", "position_ids", "use_cache"),
    *("output_attentions", "output_hidden_states", "output_router_logits", "return_dict"),
}
WIDE = 16  # queries of a row from which padded heads in the fast kernel take less time than products of matrices
LONG = 4  # kind of rows with more tokens
BLOCK = 128  # they are cut into blocks, which do not read the keys behind
MOST_EMPTY = 2  # times as many rows of the cache are computed, where that spares copying those of a view
Layer = tuple[torch.Tensor, torch.Tensor]
"""Keys and values: `(width, kv_heads, length, head_dim)` of tails, `(kv_heads, length, head_dim)` of a prefix."""

Prefix = Sequence[Layer]
"""Those of what rows begin with, per layer; empty where it is nothing."""

Part = tuple[torch.Tensor, torch.Tensor]
"""Output `(tokens, group, kv_heads, value_dim)` and log-sum-exp `(tokens, group, kv_heads)` of a part of the keys."""
ALIGNED = 8  # numbers; a row of a mask begins at such a place in the memory of a GPU


@dataclass(frozen=True)
class VisibleKeys:
    """Which of some keys the packed tokens see.

    Attributes:
        first: the keys before this one are seen by no token, and are not read.
        mask: 0 where a token sees a key, else -inf; None: each token sees all keys that are read.
        tokens: `(tokens,)` indices of the packed tokens that see any of the keys; None: all do. No other tokens take
            part: kernels do not agree on what the attention to nothing is (the one for CPUs gives a log-sum-exp of 0).
    """

    first: int = 0
    mask: torch.Tensor | None = None
    tokens: torch.Tensor | None = None


def on_device(numbers: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A tensor of the CPU on a device; a GPU's copy does not wait for what the device computes."""
    return numbers.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else numbers.to(device)


@dataclass(frozen=True)
class View:
    """Rows of a pass that stand behind each other in it, as many queries each, in which attention sees their tails.

    Attributes:
        tokens: which of the packed tokens it has.
        places: `(tokens,)` place of each of them in `shape`, row by row; None: they fill it.
        shape: rows and columns; what has no token is padding, as whole rows may be.
        cached: its rows of the cache, as a slice or as indices.
        earliest: tail slots that are filled before, in the shortest row.
        length: tail slots that are filled afterwards, in the longest row.
    """

    tokens: slice
    places: torch.Tensor | None
    shape: tuple[int, int]
    cached: slice | torch.Tensor
    earliest: int
    length: int


def parted(counts: Sequence[int], device: torch.device, dtype: torch.dtype) -> list[int]:
    """The view to which each row belongs by its number of tokens: up to 2, 8, 32, 128 or more.

    A view is padded to its longest row. In float32 there is one, as the last digits would change; so there is on GPUs.
    """
    is_parted = device.type == "cpu" and dtype in HALVES
    return [(count - 1).bit_length() // 2 if is_parted else 0 for count in counts]


class Step:
    """The packed tokens of one forward pass, on one device.

    A token at position p of its sequence sees the keys at the positions from p - window + 1 to p.

    Args:
        counts: tokens of each row that takes part.
        rows: rows of the cache.
        starts: slots of its tail that each row has filled before.
        prefixes: keys and values per layer of what each of these rows begins with; rows may share them.

    Attributes:
        rows: `(tokens,)` row of the cache each token belongs to.
        slots: `(tokens,)` position of each token in its row's tail.
        positions: `(tokens,)` position of each token in its sequence.
    """

    def __init__(
        self,
        counts: Sequence[int],
        rows: Sequence[int],
        starts: Sequence[int],
        prefixes: Sequence[Prefix],
        device: torch.device,
    ) -> None:
        self.device = device
        self._feeds = list(zip(counts, rows, starts, strict=True))
        self._column = torch.cat([torch.arange(count) for count in counts])
        self._view = view = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
        self._slots = torch.tensor(starts)[view] + self._column  # on the CPU
        before = torch.tensor([prefix[0][0].shape[1] if prefix else 0 for prefix in prefixes])[view]
        numbers = [torch.tensor(rows)[view], self._slots, before + self._slots]
        self.rows, self.slots, self.positions = on_device(torch.stack(numbers), device).unbind()
        numbered = {id(prefix): prefix for prefix in prefixes if prefix}
        of_token = torch.tensor(list(map(id, prefixes)))[view]
        self._prefixes = [(prefix, (of_token == name).nonzero()[:, 0]) for name, prefix in numbered.items()]
        self._known: dict[Any, Seen] = {}  # layers with the same window see the same

    def visible(self, window: int | None, group: int, dtype: torch.dtype) -> "Seen":
        """What the tokens see of the tail of their own row, themselves at least, and of each prefix of which any sees.

        Args:
            group: heads that share keys; their queries are put into one dimension.

        The masks are `(rows, 1, columns * group, slots)` and `(1, 1, tokens * group, slots)`. The padding of a view
        sees something, too, as no row of a mask may be empty.
        """
        key = window, group, dtype
        if key not in self._known:
            tails = [(view, self._of_tail(view, *key)) for view in self._views(dtype)]
            self._known[key] = tails, list(self._of_prefixes(*key))
        return self._known[key]

    def _views(self, dtype: torch.dtype) -> Iterator[View]:
        end = 0
        for feeds in self._parts(dtype):
            counts, rows, starts = zip(*feeds, strict=True)
            begin = end
            end += sum(counts)
            span = range(min(rows), max(rows) + 1)
            copied = len(span) > MOST_EMPTY * len(rows) or list(rows) != sorted(rows)
            numbers = torch.arange(len(rows)) if copied else torch.tensor(rows) - span.start
            shape = len(rows) if copied else len(span), max(counts)
            places = numbers.repeat_interleave(torch.tensor(counts)) * shape[1] + self._column[begin:end]
            yield View(
                slice(begin, end),
                None if end - begin == shape[0] * shape[1] else on_device(places, self.device),
                shape,
                torch.tensor(rows, device=self.device) if copied else slice(span.start, span.stop),
                min(starts),
                max(start + count for start, count in zip(starts, counts, strict=True)),
            )

    def _parts(self, dtype: torch.dtype) -> Iterator[list[tuple[int, int, int]]]:
        """Tokens, row and start of what each view has, see `parted`; of a long row each block, alone."""
        kinds = parted([count for count, *_ in self._feeds], self.device, dtype)
        for kind, group in groupby(zip(kinds, self._feeds, strict=True), key=lambda pair: pair[0]):
            feeds = [feed for _, feed in group]
            for count, row, start in feeds if kind >= LONG else ():
                yield from ([(min(count - at, BLOCK), row, start + at)] for at in range(0, count, BLOCK))
            if kind < LONG:
                yield feeds

    def _of_tail(self, view: View, window: int | None, group: int, dtype: torch.dtype) -> VisibleKeys:
        rows, columns = view.shape
        first = 0 if window is None else max(0, view.earliest - window + 1)
        queries = self.slots[view.tokens]
        if view.places is not None:
            padding = queries.new_full((rows * columns,), view.length - 1)
            queries = padding.index_copy_(0, view.places, queries)
        keys = torch.arange(first, view.length, device=self.device)
        queries = queries[:, None]
        hidden = keys > queries
        if window is not None:
            hidden |= keys <= queries - window
        return VisibleKeys(first, self._mask(hidden, rows, group, dtype))

    def _of_prefixes(self, window: int | None, group: int, dtype: torch.dtype) -> Iterator[tuple[Prefix, VisibleKeys]]:
        longest = max(start + count for count, _, start in self._feeds)
        earliest = min(start for *_, start in self._feeds)
        for prefix, tokens in self._prefixes:
            length = prefix[0][0].shape[1]
            first = 0
            mask = None
            if window is not None and length + longest > window:
                tokens = tokens[self._slots[tokens] < window - 1]
                if not len(tokens):
                    continue
                first = max(0, length + earliest - window + 1)
                queries = length + self._slots[tokens]
                hidden = on_device(torch.arange(first, length) <= queries[:, None] - window, self.device)
                mask = self._mask(hidden, 1, group, dtype)
            all_see = len(tokens) == len(self._slots)
            yield prefix, VisibleKeys(first, mask, None if all_see else on_device(tokens, self.device))

    def _mask(self, hidden: torch.Tensor, rows: int, group: int, dtype: torch.dtype) -> torch.Tensor:
        """`hidden` is `(queries, slots)`, as many queries for each row; a query is one of each head of a group."""
        slots = hidden.shape[-1]
        flat = hidden[:, None].expand(-1, group, -1).reshape(rows, 1, -1, slots)
        places = slots if self.device.type == "cpu" else -(-slots // ALIGNED) * ALIGNED
        mask = torch.zeros((*flat.shape[:-1], places), dtype=dtype, device=self.device)[..., :slots]
        return mask.masked_fill_(flat, float("-inf"))


Seen = tuple[Sequence[tuple[View, VisibleKeys]], Sequence[tuple[Prefix, VisibleKeys]]]


class TailCache:
    """Keys and values of the rows' tails, pre-allocated; used as the transformers `Cache` of a forward pass.

    They are stored by the attention function (`store`), not where models hand them to their cache (`update`): some
    hand over something smaller, of which they make keys and values afterwards (the latents of DeepSeek), and some have
    layers that take the keys and values of another layer (Gemma 3n).

    Args:
        layers: number of attention layers.
        width: rows at most.
        length: tail slots per row.
        prefix: what all rows begin with.

    Attributes:
        tails: keys and values per layer, `(width, kv_heads, length, head_dim)` each; None before the first pass.
        prefixes: of each row.
        windows: of the attention layers that ran, in tokens; None: a layer that sees all.
    """

    def __init__(self, layers: int, width: int, length: int, prefix: Prefix = ()) -> None:
        self.width = width
        self.length = length
        self.tails: list[Layer | None] = [None] * layers
        self.prefixes: list[Prefix] = [prefix] * width
        self.windows: set[int | None] = set()
        self._pass: tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[Prefix]] = ((), (), (), ())
        self._steps: dict[torch.device, Step] = {}

    def begin(self, counts: Sequence[int], rows: Sequence[int], starts: Sequence[int]) -> None:
        """Begin a forward pass of so many tokens of some rows, of which so many slots are filled."""
        self._pass = (counts, rows, starts, [self.prefixes[row] for row in rows])
        self._steps = {}

    def resize(self, width: int, length: int) -> None:
        """Change the number of rows and of slots; what is in the first ones stays."""
        self.prefixes = [*self.prefixes, *[()] * width][:width]
        old = self.tails
        self.tails = [None] * len(self.tails)
        rows = min(width, self.width)
        self.width = width
        self.length = length
        for layer, tail in enumerate(old):
            old[layer] = None  # so that only one layer is there twice
            if tail is not None:
                kept = tuple(part[:rows, :, :length] for part in tail)
                for new, part in zip(self._tail(layer, kept[0][0], kept[1][0]), kept, strict=True):
                    new[:rows, :, : part.shape[2]] = part

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
        self.prefixes[target] = self.prefixes[source]
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


class NotPackableError(Exception):
    """A model that must be run by transformers' `generate`, and why."""


def _attend(
    queries: Any, keys: Any, values: Any, mask: Any = None, *, scaling: float, softcap: float | None = None
) -> tuple[Any, Any]:
    """Output `(batch, heads, queries, value_dim)` and log-sum-exp `(batch, heads, queries)` of the scores.

    The output is in float32, or in the type of the queries where a fused kernel gives it.

    Args:
        queries: `(batch, heads, queries, head_dim)`.
        keys: `(batch, heads, length, head_dim)`.
        values: `(batch, heads, length, value_dim)`.
        mask: added to the scores, `(batch, 1, queries, length)`; no row of it may be -inf all over.
        softcap: scores are held within this by a hyperbolic tangent (Gemma 2).
    """
    size = queries.shape[-1]
    width = values.shape[-1]
    if softcap is None and _has_gpu_kernel(queries.device.type, queries.dtype, size, width):
        bias = None if mask is None else mask.expand(-1, queries.shape[1], -1, -1)
        output, logsumexp = _on_gpu(queries, keys, values, bias, scaling)
        return output, logsumexp[..., : queries.shape[2]]  # the kernel gives a multiple of 32
    if has_fused_kernel(queries, width, softcap):
        parts = queries, keys, values
        if size != width:
            parts = tuple(pad(part, (0, max(size, width) - part.shape[-1])) for part in parts)  # type: ignore[assignment]
        output, logsumexp = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            *parts, 0.0, False, attn_mask=mask, scale=scaling
        )
        return output[..., :width], logsumexp
    scores = _product(queries, keys.transpose(-1, -2)) * scaling
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if mask is not None:
        scores = scores + mask
    best = scores.amax(dim=-1, keepdim=True)
    weights = (scores - best).exp()  # the largest is 1, which no type rounds
    total = weights.sum(dim=-1, keepdim=True)
    return _product(weights.to(values.dtype), values) / total, (best + total.log())[..., 0]


def _on_gpu(queries: Any, keys: Any, values: Any, bias: Any, scaling: float | None) -> tuple[Any, Any]:
    """The memory-efficient kernel of GPUs, one operation in place of ten."""
    kernel = torch.ops.aten._scaled_dot_product_efficient_attention
    output, logsumexp, *_ = kernel(queries, keys, values, bias, True, 0.0, False, scale=scaling)
    return output, logsumexp


@cache
def _has_gpu_kernel(device: str, dtype: torch.dtype, size: int, width: int) -> bool:
    """Whether a device has that kernel; float32 keeps the digits that products of matrices give."""
    if device != "cuda" or dtype not in HALVES:
        return False
    queries, values = (torch.ones(1, 1, 8, numbers, device=device, dtype=dtype) for numbers in (size, width))
    try:
        _on_gpu(queries, queries, values, torch.zeros(1, 1, 8, 8, device=device, dtype=dtype), None)
    except (RuntimeError, NotImplementedError):  # such dimensions, and builds for other GPUs
        return False
    return True


def has_fused_kernel(queries: torch.Tensor, width: int, softcap: float | None) -> bool:
    """Whether the kernel for CPUs is used, which rounds no score; it has no soft caps.

    Args:
        width: `value_dim`.
    """
    same = queries.shape[-1] == width
    return queries.device.type == "cpu" and softcap is None and (same or queries.shape[2] >= WIDE)


def _product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """`one @ other` in float32, of two batches with heads.

    A product in bfloat16 would round scores before the softmax: attention would be wrong by 0.5 to 1.4 %, where
    rounding its result costs 0.2 %.
    """
    if _gives_float32(left.device.type, left.dtype):
        products = torch.bmm(left.flatten(0, 1), right.flatten(0, 1), out_dtype=torch.float32)
        return products.view(*left.shape[:-1], right.shape[-1])
    return left.float() @ right.float()


@cache
def _gives_float32(device: str, dtype: torch.dtype) -> bool:
    """Whether a device multiplies matrices of half precision into float32, without copies in float32 (CUDA does)."""
    if dtype not in HALVES:
        return False
    square = torch.ones(1, 8, 8, device=device, dtype=dtype)
    try:
        torch.bmm(square, square, out_dtype=torch.float32)
    except (RuntimeError, TypeError):  # other devices, torch before 2.8
        return False
    return True


def _by_token(attend: Callable[..., Part], queries: torch.Tensor, layer: Iterable[torch.Tensor], mask: Any) -> Part:
    """Attention of `(rows, columns, group, kv_heads, head_dim)` to keys and values; a place of a row is a token."""
    output, logsumexp = attend(queries.flatten(1, 2).transpose(1, 2), *layer, mask)
    shape = -1, *queries.shape[2:4]
    return output.transpose(1, 2).reshape(*shape, output.shape[-1]), logsumexp.transpose(1, 2).reshape(shape)


def _to_tails(
    attend: Callable[..., Part], grouped: torch.Tensor, tail: Layer, views: Sequence[tuple[View, VisibleKeys]]
) -> Part:
    """Attention of the packed tokens, `(tokens, group, kv_heads, head_dim)`, to the tail of their own row."""
    parts = [_to_tail(attend, grouped[view.tokens], tail, view, seen) for view, seen in views]
    if len(parts) == 1:
        return parts[0]
    outputs, logsumexps = zip(*parts, strict=True)
    return torch.cat(outputs), torch.cat(logsumexps)


def _to_tail(attend: Callable[..., Part], grouped: torch.Tensor, tail: Layer, view: View, seen: VisibleKeys) -> Part:
    """The same for the tokens of a view."""
    if view.places is not None:
        padding = grouped.new_zeros(view.shape[0] * view.shape[1], *grouped.shape[1:])
        grouped = padding.index_copy_(0, view.places, grouped)
    layer = (part[view.cached, :, seen.first : view.length] for part in tail)
    part = _by_token(attend, grouped.unflatten(0, view.shape), layer, seen.mask)
    return part if view.places is None else (part[0][view.places], part[1][view.places])


def _to_prefix(attend: Callable[..., Part], grouped: torch.Tensor, prefix: Layer, seen: VisibleKeys) -> Part:
    """Attention to the prefix, of those packed tokens that see any of it."""
    some = grouped if seen.tokens is None else grouped.index_select(0, seen.tokens)
    return _by_token(attend, some[None], (part[None, :, seen.first :] for part in prefix), seen.mask)


def _of_all(parts: Sequence[tuple[Any, Part]], size: int) -> Part:
    """One part of so many tokens, of those that some have each (None: all); to the others it adds nothing."""
    tokens, (output, logsumexp) = parts[0]
    if tokens is None:
        return output, logsumexp
    outputs = output.new_zeros(size, *output.shape[1:])
    logsumexps = logsumexp.new_full((size, *logsumexp.shape[1:]), float("-inf"))
    for tokens, (output, logsumexp) in parts:
        outputs.index_copy_(0, tokens, output)
        logsumexps.index_copy_(0, tokens, logsumexp)
    return outputs, logsumexps


def _merged(first: Part, second: Part) -> Part:
    """Attention to the keys of both parts, in float32 (FlashAttention, Dao et al. 2022)."""
    share = torch.sigmoid(first[1] - second[1])[..., None]
    output = second[0].float() + (first[0].float() - second[0].float()) * share
    return output, torch.logaddexp(first[1], second[1])


def packed_attention(
    cache: TailCache,
    layer: int,
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    *,
    scaling: float,
    window: int | None = None,
    softcap: float | None = None,
    sinks: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention of the packed tokens to prefix and tail of their own row; their keys are stored first.

    Queries of the heads that share keys are put into one dimension, so that keys are not repeated:
    `group = heads / kv_heads`.

    Args:
        queries: `(1, heads, tokens, head_dim)`; keys and values with `kv_heads`.
        window: tokens that a token sees, itself included.
        sinks: `(heads,)` one more score of each head, which takes its share and has no value (GPT-OSS).

    Returns `(1, tokens, heads, value_dim)`.
    """
    step = cache.step(queries.device)
    tail = cache.store(layer, keys, values)
    cache.windows.add(window)
    grouped = queries[0].unflatten(0, (keys.shape[1], -1)).permute(2, 1, 0, 3).contiguous()
    group = grouped.shape[1]
    attend = partial(_attend, scaling=scaling, softcap=softcap)
    of_tails, of_prefixes = step.visible(window, group, queries.dtype)
    output, logsumexp = _to_tails(attend, grouped, tail, of_tails)
    if of_prefixes:
        parts = [(seen.tokens, _to_prefix(attend, grouped, prefix[layer], seen)) for prefix, seen in of_prefixes]
        output, logsumexp = _merged((output, logsumexp), _of_all(parts, len(output)))
    if sinks is not None:
        output = output.float() * torch.sigmoid(logsumexp - sinks.view(-1, group).T)[..., None]
    return output.to(queries.dtype).transpose(1, 2).flatten(1, 2)[None]


_current: list[TailCache] = []


def _interface(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Any = None,
    **arguments: Any,
) -> Any:
    """The attention function that transformers calls; the cache of the running pass is the last of `_current`."""
    unknown = {name for name, value in arguments.items() if value is not None and value is not False} - WITHOUT_EFFECT
    if attention_mask is not None or unknown:
        raise NotPackableError(f"its attention has {', '.join(sorted(unknown)) or 'masks of its own'}")
    scaling = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
    output = packed_attention(
        _current[-1],
        module.layer_idx,
        query,
        key,
        value,
        scaling=scaling,
        window=sliding_window,
        softcap=softcap,
        sinks=s_aux,
    )
    return output, None


AttentionInterface.register(NAME, _interface)


@contextmanager
def packed_attention_of(configs: Sequence[Any], cache: TailCache) -> Iterator[None]:
    """Let the attention layers of the model with these configurations call `_interface` during one forward pass."""
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
