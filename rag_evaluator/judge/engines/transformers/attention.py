"""The attention of packed rows: to the prefix once for all rows, and to the tail of each row, merged by log-sum-exp."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch.nn.functional import pad
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map
from transformers import AttentionInterface

from rag_evaluator.judge.engines.transformers.decoder import out_of_memory
from rag_evaluator.judge.engines.transformers.tail_cache import Layer, LayerKind, Step, TailCache, VisibleKeys

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
