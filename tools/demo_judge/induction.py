"""Starts a Llama with working induction heads, so that copying need not be discovered before anything else is learnt.

Layer 0: heads that attend to the token before and store it in dimensions of their own (Elhage et al., 2021, "A
Mathematical Framework for Transformer Circuits"). Layer 1: heads that look for a place whose stored token is the
current one, and say what stands there. A way of its own for late copies: each token has a code in dimensions that
nothing else uses, and a head of layer 5 and of 6 writes the code of the token it looks at into others, which only the
output reads. Without it a token is hard to tell from what the layers have written over it since. Everything is trained
further; nothing is frozen.
"""

from __future__ import annotations

import torch
from transformers import LlamaForCausalLM

_CONTENT = 128  # dimensions of an embedding for what a token is; 0 holds the same number for every token
_CODE, _WRITTEN = slice(192, 224), slice(224, 256)  # dimensions of the codes; those between hold the token before
COPYING = ((5, 6), (6, 6))  # layer and head
MATCHING = ((1, 6), (1, 7))
_SLOW = (*range(7, 16), *range(23, 32))  # dimensions of a head that hardly turn with the distance
_STD = 0.3  # large, so that a step of the optimiser is small beside it
_CONSTANT = 3 * _STD


@torch.no_grad()
def start_with_induction(model: LlamaForCausalLM, seed: int) -> None:
    """Overwrites embeddings and layers 0 and 1 of a fresh model of 8 heads of 32; outputs of the others start at 0, but
    for those of the copying heads."""
    generator = torch.Generator().manual_seed(seed)
    embeddings = model.model.embed_tokens.weight
    embeddings.normal_(0, _STD, generator=generator)
    embeddings[:, 0] = _CONSTANT
    embeddings[:, _CONTENT:] = 0
    codes = torch.sign(torch.randn(len(embeddings), 32, generator=generator))
    codes[[model.config.bos_token_id, model.config.eos_token_id, model.config.pad_token_id]] = 0
    model.lm_head.weight.copy_(embeddings)
    embeddings[:, _CODE] = _STD * codes
    model.lm_head.weight[:, _WRITTEN] = codes
    model.model.norm.weight.fill_(0.2)
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()
    basis, _ = torch.linalg.qr(torch.randn(_CONTENT - 1, _CONTENT - 1, generator=generator))
    stored = torch.zeros(64, model.config.hidden_size)
    stored[:, 1:_CONTENT] = basis[:64]
    for head in range(2):
        _look_back(model, head, stored[32 * head : 32 * head + 32])
    for head in range(4):
        _match(model, head, stored, basis)
    for layer, head in COPYING:
        _copy(model, layer, slice(32 * head, 32 * head + 32))
    for layer, head in MATCHING:
        _match_pairs(model, layer, head, generator)


def _look_back(model: LlamaForCausalLM, head: int, stored: torch.Tensor) -> None:
    """Head of layer 0: the score depends on the distance alone and is highest for the token before."""
    attention, rows = model.model.layers[0].self_attn, slice(32 * head, 32 * head + 32)
    query, key = torch.zeros(32), torch.zeros(32)
    for pair in range(6):
        angle = model.model.rotary_emb.inv_freq[pair]
        query[pair], key[pair], key[pair + 16] = 1.0, torch.cos(angle), torch.sin(angle)
    attention.q_proj.weight[rows] = 0
    attention.k_proj.weight[rows] = 0
    attention.q_proj.weight[rows, 0] = 1.8 * query
    attention.k_proj.weight[rows, 0] = 1.8 * key
    attention.v_proj.weight[rows] = stored
    for index in range(32):
        attention.o_proj.weight[_CONTENT + 32 * head + index, 32 * head + index] = 0.85 * _STD


def _match(model: LlamaForCausalLM, head: int, stored: torch.Tensor, basis: torch.Tensor) -> None:
    """Head of layer 1: compares 16 stored numbers, in the slowly turning half of the rotary pairs, and copies."""
    attention, rows = model.model.layers[1].self_attn, slice(32 * head, 32 * head + 32)
    attention.q_proj.weight[rows] = 0
    attention.k_proj.weight[rows] = 0
    slots = [*range(8, 16), *range(24, 32)]
    for slot, index in zip(slots, range(16 * head, 16 * head + 16), strict=True):
        attention.q_proj.weight[32 * head + slot] = 2.4 * stored[index]
        attention.k_proj.weight[32 * head + slot, _CONTENT + index] = 2.4
    copied = basis[32 * head : 32 * head + 32]
    attention.v_proj.weight[rows] = 0
    attention.v_proj.weight[32 * head : 32 * head + len(copied), 1:_CONTENT] = copied
    attention.o_proj.weight[1:_CONTENT, 32 * head : 32 * head + len(copied)] = 3 * _STD * copied.T


def _match_pairs(model: LlamaForCausalLM, layer: int, head: int, generator: torch.Generator) -> None:
    """Head that looks for the place with the same token and the same token before it: are these words in the text?

    Two of them, with mixtures of their own: what one takes for the same by chance, the other does not.
    """
    attention, rows = model.model.layers[layer].self_attn, slice(32 * head, 32 * head + 32)
    both = slice(_CONTENT, _CODE.stop)  # the token before and the code of the current one
    mixed = torch.randn(len(_SLOW), both.stop - both.start, generator=generator) / (both.stop - both.start) ** 0.5
    for projection in (attention.q_proj.weight, attention.k_proj.weight):
        projection[rows] = 0
        projection[rows.start + torch.tensor(_SLOW), both] = 1.2 * mixed
    attention.q_proj.weight[rows.start : rows.start + 7, 0] = 1.8  # not the token itself: the score of distance 0 falls
    attention.k_proj.weight[rows.start : rows.start + 7, 0] = -1.8
    attention.v_proj.weight[rows] = 0.05 * torch.randn(32, model.config.hidden_size, generator=generator)
    attention.o_proj.weight[:, rows] = 0
    attention.o_proj.weight[:_CONTENT, rows] = 0.05 * torch.randn(_CONTENT, 32, generator=generator)


def _copy(model: LlamaForCausalLM, layer: int, rows: slice) -> None:
    attention = model.model.layers[layer].self_attn
    attention.v_proj.weight[rows] = 0
    attention.v_proj.weight[rows, _CODE] = torch.eye(32)
    attention.o_proj.weight[_WRITTEN, rows] = torch.eye(32)
