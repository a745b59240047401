"""The judge's network, and what it makes of a batch of rows under a shared head."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers import AttentionInterface, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tools.demo_judge.batches import Batch
from tools.demo_judge.induction import COPYING, MATCHING, start_with_induction
from tools.demo_judge.links import COPIED, DECISION, DECISION_SUBJECT, FACT, GROUPED, MET, PAIRED, SUBJECT
from tools.demo_judge.tokenizer import CONTEXT_TOKENS

# Kind of link, and the layer and attention head that learn it.
GUIDED = (
    *((MET, layer, head) for layer, head in MATCHING),
    (SUBJECT, 2, 5),
    (FACT, 3, 5),
    (PAIRED, 4, 5),
    (GROUPED, 5, 5),
    *((COPIED, layer, head) for layer, head in COPYING),
    (DECISION, 6, 5),
    (DECISION_SUBJECT, 6, 4),
)
# More than half of a head's numbers hardly turn with the distance, so that a token can be told from a thousand others.
ROPE = {
    "rope_type": "llama3",
    "rope_theta": 10_000.0,
    "factor": 64.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 256,
}

SHARED_HEAD = "shared_head"  # name of the attention of rows under a head


def build_model(tokenizer: PreTrainedTokenizerFast, seed: int) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=256,
            intermediate_size=512,
            num_hidden_layers=7,
            num_attention_heads=8,
            num_key_value_heads=8,
            max_position_embeddings=CONTEXT_TOKENS,
            rope_parameters=dict(ROPE),
            tie_word_embeddings=False,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    start_with_induction(model, seed)
    return model


@dataclass(frozen=True)
class Seen:
    """What the network makes of a batch.

    logits: `(answer tokens, vocab)` of the weighted tokens. looked: minus log of the attention that the guided heads
    give to where they should look, one number per kind of link, found or not found, that the batch has.
    """

    logits: torch.Tensor
    looked: torch.Tensor


def seen(model: LlamaForCausalLM, made: Batch) -> Seen:
    """Reads a batch; the head is read once for all rows, without gradient.

    Eager attention is twice as fast as the fused one for short rows on a CPU; for the head it is the other way round.
    """
    caught: dict[int, torch.Tensor] = {}
    hooks = [
        model.model.layers[layer].self_attn.register_forward_hook(
            lambda _module, _given, output, layer=layer: caught.__setitem__(layer, output[1])
        )
        for layer in {layer for _, layer, _ in GUIDED}
    ]
    alone = len(made.head) == 1
    states = _headless_states(model, made) if alone else _headed_states(model, made)
    for hook in hooks:
        hook.remove()
    logits = model.lm_head(states[:, :-1][made.weights[:, 1:] > 0])
    return Seen(logits, _looked(caught, made, len(made.head), int(alone)))


def _headed_states(model: LlamaForCausalLM, made: Batch) -> torch.Tensor:
    model.set_attn_implementation("sdpa")
    with torch.no_grad():
        cache = model.model(input_ids=made.head[None], use_cache=True).past_key_values
    model.set_attn_implementation(SHARED_HEAD)
    heads = [(layer.keys[0], layer.values[0]) for layer in cache.layers]
    states = model.model(input_ids=made.input_ids, position_ids=made.positions, use_cache=False, heads=heads)
    model.set_attn_implementation("eager")
    return states.last_hidden_state


def _attend_with_head(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float,
    heads: list[tuple[torch.Tensor, torch.Tensor]],
    **_: object,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Causal attention of rows to one head and to themselves, without a copy of the head for each row.

    query, key, value: `(rows, attention heads, width, size)`. heads: layer -> keys and values of the head, `(attention
    heads, length, size)`. Returns `(rows, width, attention heads, size)` and the attention `(rows, attention heads,
    width, length + width)`.
    """
    keys, values = (part.to(value.dtype) for part in heads[int(module.layer_idx)])  # type: ignore[arg-type]
    rows, count, width, size = query.shape
    length = keys.shape[1]
    query = (query * scaling).to(value.dtype).transpose(0, 1)
    old = (query.reshape(count, rows * width, size) @ keys.mT).view(count, rows, width, length)
    later = torch.ones(width, width, dtype=torch.bool, device=query.device).triu(1)
    new = (query @ key.to(value.dtype).transpose(0, 1).mT).masked_fill(later, -torch.inf)
    given = torch.softmax(torch.cat([old, new], dim=-1), dim=-1).to(value.dtype)
    seen = given[..., :length].reshape(count, rows * width, length) @ values
    seen = seen.view(count, rows, width, size) + given[..., length:] @ value.transpose(0, 1)
    return seen.permute(1, 2, 0, 3), given.transpose(0, 1)


AttentionInterface.register(SHARED_HEAD, _attend_with_head)


def _headless_states(model: LlamaForCausalLM, made: Batch) -> torch.Tensor:
    rows = len(made.input_ids)
    model.set_attn_implementation("eager")
    ids = torch.cat([made.head.expand(rows, 1), made.input_ids], dim=1)
    places = torch.cat([torch.zeros_like(made.positions[:, :1]), made.positions], dim=1)
    states = model.model(
        input_ids=ids, position_ids=places, attention_mask=torch.ones_like(ids), use_cache=False
    ).last_hidden_state
    return states[:, 1:]


def _looked(caught: dict[int, torch.Tensor], made: Batch, head: int, before: int) -> torch.Tensor:
    """before: tokens of the head among the tokens that look."""
    rows, kinds, queries, keys = made.shown.T
    losses = []
    for kind, layer, number in GUIDED:
        for found in (True, False):
            some = (kinds == kind) & ((keys >= 0) == found)
            if some.any():
                at = torch.where(keys[some] < 0, 0, keys[some] + head)
                given = caught[layer][rows[some], number, queries[some] + before, at]
                losses.append(-given.float().clamp_min(1e-9).log().mean())
    return torch.stack(losses) if losses else torch.zeros(0)
