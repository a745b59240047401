"""The judge's network, and what it makes of a batch of rows under a shared head."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tools.demo_judge.batches import Batch
from tools.demo_judge.induction import start_with_induction
from tools.demo_judge.links import DECISION, DECISION_SUBJECT, FACT, GROUPED, SUBJECT
from tools.demo_judge.tokenizer import CONTEXT_TOKENS

# Kind of link -> layer and attention head that learn it.
GUIDED = {SUBJECT: (2, 5), FACT: (3, 5), GROUPED: (4, 5), DECISION: (5, 5), DECISION_SUBJECT: (5, 4)}


def build_model(tokenizer: PreTrainedTokenizerFast, seed: int) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=192,
            intermediate_size=512,
            num_hidden_layers=6,
            num_attention_heads=6,
            num_key_value_heads=6,
            max_position_embeddings=CONTEXT_TOKENS,
            tie_word_embeddings=True,
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
        for layer in {layer for layer, _ in GUIDED.values()}
    ]
    alone = len(made.head) == 1
    states = _headless_states(model, made) if alone else _headed_states(model, made)
    for hook in hooks:
        hook.remove()
    logits = model.lm_head(states[:, :-1][made.weights[:, 1:] > 0])
    return Seen(logits, _looked(caught, made, len(made.head), int(alone)))


def _headed_states(model: LlamaForCausalLM, made: Batch) -> torch.Tensor:
    rows, width = made.input_ids.shape
    model.set_attn_implementation("sdpa")
    with torch.no_grad():
        cache = model.model(input_ids=made.head[None], use_cache=True).past_key_values
    model.set_attn_implementation("eager")
    cache.batch_repeat_interleave(rows)
    mask = torch.ones(rows, len(made.head) + width, dtype=torch.long, device=made.head.device)
    return model.model(
        input_ids=made.input_ids, position_ids=made.positions, attention_mask=mask, past_key_values=cache
    ).last_hidden_state


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
    for kind, (layer, number) in GUIDED.items():
        for found in (True, False):
            some = (kinds == kind) & ((keys >= 0) == found)
            if some.any():
                at = torch.where(keys[some] < 0, 0, keys[some] + head)
                given = caught[layer][rows[some], number, queries[some] + before, at]
                losses.append(-given.float().clamp_min(1e-9).log().mean())
    return torch.stack(losses) if losses else torch.zeros(0)
