"""The judge's network, and its logits for a batch of rows under a shared head."""

from __future__ import annotations

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tools.demo_judge.batches import Batch
from tools.demo_judge.induction import start_with_induction
from tools.demo_judge.tokenizer import CONTEXT_TOKENS


def build_model(tokenizer: PreTrainedTokenizerFast, seed: int) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=192,
            intermediate_size=512,
            num_hidden_layers=5,
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


def answer_logits(model: LlamaForCausalLM, made: Batch) -> torch.Tensor:
    """Logits `(answer tokens, vocab)` of the weighted tokens; the head is read once for all rows, without gradient.

    Eager attention is twice as fast as the fused one for short rows on a CPU; for the head it is the other way round.
    """
    rows, width = made.input_ids.shape
    if len(made.head) == 1:
        return _headless_logits(model, made)
    model.set_attn_implementation("sdpa")
    with torch.no_grad():
        cache = model.model(input_ids=made.head[None], use_cache=True).past_key_values
    model.set_attn_implementation("eager")
    cache.batch_repeat_interleave(rows)
    seen = torch.ones(rows, len(made.head) + width, dtype=torch.long, device=made.head.device)
    states = model.model(
        input_ids=made.input_ids, position_ids=made.positions, attention_mask=seen, past_key_values=cache
    ).last_hidden_state
    return model.lm_head(states[:, :-1][made.weights[:, 1:] > 0])


def _headless_logits(model: LlamaForCausalLM, made: Batch) -> torch.Tensor:
    rows = len(made.input_ids)
    model.set_attn_implementation("eager")
    ids = torch.cat([made.head.expand(rows, 1), made.input_ids], dim=1)
    places = torch.cat([torch.zeros_like(made.positions[:, :1]), made.positions], dim=1)
    states = model.model(
        input_ids=ids, position_ids=places, attention_mask=torch.ones_like(ids), use_cache=False
    ).last_hidden_state
    return model.lm_head(states[:, 1:-1][made.weights[:, 1:] > 0])
