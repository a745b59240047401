"""The attention of packed rows: to the prefix once for all rows, and to the tail of each row, merged by log-sum-exp."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import pad
from transformers import AttentionInterface

from rag_evaluator.judge.engines.transformers.decoder import HALVES
from rag_evaluator.judge.engines.transformers.tail_cache import Layer, LayerKind, Step, TailCache, VisibleKeys

if TYPE_CHECKING:
    pass

logger = logging.getLogger(__name__)


NAME = "rag_evaluator_packed"
WITHOUT_EFFECT = {  # on the attention of a model that is not trained
    *("dropout", "is_causal", "position_ids", "use_cache"),
    *("output_attentions", "output_hidden_states", "output_router_logits", "return_dict"),
}
WIDE = 16  # queries of a row from which padded heads in the fast kernel take less time than products of matrices
Part = tuple[torch.Tensor, torch.Tensor]
"""Output `(tokens, kv_heads, group, value_dim)` and log-sum-exp `(tokens, kv_heads, group)` of a part of the keys."""


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
    size, width = queries.shape[-1], values.shape[-1]
    if has_fused_kernel(queries, width, softcap):
        even = [pad(part, (0, max(size, width) - part.shape[-1])) for part in (queries, keys, values)]
        output, logsumexp = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            *(even if size != width else (queries, keys, values)), 0.0, False, attn_mask=mask, scale=scaling
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


def _to_tails(attend: Callable[..., Part], step: Step, grouped: torch.Tensor, tail: Layer, seen: VisibleKeys) -> Part:
    """Attention of the packed tokens, `(kv_heads, group, tokens, head_dim)`, to the tail of their own row."""
    kv_heads, group, _, size = grouped.shape
    rows, columns = step.shape
    row, column = step.place
    keys, values = (part[step.cached, :, seen.first : step.length] for part in tail)
    padded = grouped.new_zeros(rows, kv_heads, group, columns, size)
    padded[row, :, :, column] = grouped.permute(2, 0, 1, 3)
    output, logsumexp = attend(padded.view(rows, kv_heads, group * columns, size), keys, values, seen.mask)
    output, logsumexp = (part.unflatten(2, (group, columns)) for part in (output, logsumexp))
    return output[row, :, :, column], logsumexp[row, :, :, column]


def _to_prefix(attend: Callable[..., Part], grouped: torch.Tensor, prefix: Layer, seen: VisibleKeys) -> Part:
    """Attention to the prefix, of those packed tokens that see any of it."""
    if seen.tokens is not None:
        grouped = grouped[:, :, seen.tokens]
    keys, values = (part[None, :, seen.first :] for part in prefix)
    output, logsumexp = attend(grouped.flatten(1, 2)[None], keys, values, seen.mask)
    output, logsumexp = (part[0].unflatten(1, grouped.shape[1:3]) for part in (output, logsumexp))
    return output.permute(2, 0, 1, 3), logsumexp.permute(2, 0, 1)


def _merged(first: Part, second: Part) -> Part:
    """Attention to the keys of both parts in float32 (FlashAttention, Dao et al. 2022)."""
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
    """Attention of the packed tokens to the prefix and to the tail of their own row; their keys are stored first.

    Queries of the heads that share keys are put into one dimension, so that keys are not repeated:
    `group = heads / kv_heads`.

    Args:
        queries: `(1, heads, tokens, head_dim)`; keys and values with `kv_heads`.
        window: tokens that a token sees, itself included.
        sinks: `(heads,)` one more score of each head, which takes its share and has no value (GPT-OSS).

    Returns `(1, tokens, heads, value_dim)`.
    """
    step, tail = cache.step(queries.device), cache.store(layer, keys, values)
    cache.kinds.add(LayerKind.of(queries, values, window, softcap))
    grouped = queries[0].unflatten(0, (keys.shape[1], -1))  # (kv_heads, group, tokens, head_dim)
    group = grouped.shape[1]
    attend = partial(_attend, scaling=scaling, softcap=softcap)
    output, logsumexp = _to_tails(attend, step, grouped, tail, step.tail(window, group, queries.dtype))
    if (seen := step.of_prefix(window, group, queries.dtype)) is not None:
        seeing = slice(None) if seen.tokens is None else seen.tokens
        part = _to_prefix(attend, grouped, cache.prefix[layer], seen)
        output = output.float()
        output[seeing], logsumexp[seeing] = _merged((output[seeing], logsumexp[seeing]), part)
    if sinks is not None:
        output = output.float() * torch.sigmoid(logsumexp - sinks.view(grouped.shape[:2]))[..., None]
    return output.flatten(1, 2)[None].to(queries.dtype)


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
