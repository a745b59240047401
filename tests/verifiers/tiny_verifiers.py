"""Tiny random verifiers, saved as their authors save theirs."""

from pathlib import Path
from typing import Any

import tiny_models
import torch
from aliases import Json
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing
from transformers import (
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    EuroBertConfig,
    EuroBertForTokenClassification,
    ModernBertConfig,
    ModernBertForTokenClassification,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
    RobertaConfig,
    RobertaForSequenceClassification,
    T5Config,
    T5ForConditionalGeneration,
    T5ForTokenClassification,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
)

ENCODER: Json = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
T5_SHAPE: Json = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
NLI = {"id2label": {0: "contradiction", 1: "entailment", 2: "neutral"}}


def _tokenizer(folder: Path, specials: list[str], one: str, pair: str, **names: str) -> Tokenizer:
    tokenizer = tiny_models.byte_level(specials)
    ids = [(name, tokenizer.token_to_id(name)) for name in specials]
    tokenizer.post_processor = TemplateProcessing(single=one, pair=pair, special_tokens=ids)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    return tokenizer


def _bert_like(folder: Path) -> Tokenizer:
    names = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "eos_token": "[SEP]"}
    pair = "[CLS] $A [SEP] $B [SEP]"
    return _tokenizer(folder, ["[PAD]", "[CLS]", "[SEP]"], "[CLS] $A [SEP]", pair, **names)


def _roberta_like(folder: Path) -> Tokenizer:
    names = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
    pair = "<s> $A </s> </s> $B </s>"
    return _tokenizer(folder, ["<s>", "<pad>", "</s>"], "<s> $A </s>", pair, **names)


def _t5_like(folder: Path) -> Tokenizer:
    names = {"pad_token": "<pad>", "eos_token": "</s>"}
    return _tokenizer(folder, ["<pad>", "</s>"], "$A </s>", "$A </s> $B </s>", **names)


def make(kind: str, folder: Path, **settings: Any) -> Path:
    """The folder of a random model of a kind of `VERIFIERS`; HHEM's base is `base` in it."""
    torch.manual_seed(7)
    folder.mkdir(parents=True, exist_ok=True)
    others = {"hhem": _hhem, "minicheck-t5": _minicheck_t5, "lettucedetect": _tokens}
    others.get(kind, _encoder)(kind, folder, **settings)
    return folder


def _encoder(kind: str, folder: Path, **settings: Any) -> None:
    is_roberta = kind == "minicheck-roberta"
    vocabulary = (_roberta_like if is_roberta else _bert_like)(folder).get_vocab_size()
    shape = {**ENCODER, "vocab_size": vocabulary, "initializer_range": 0.2, **settings}
    model: Any
    if is_roberta:
        config = RobertaConfig(
            **{"max_position_embeddings": 514, "pad_token_id": 1, "id2label": {0: "0", 1: "1"}, **shape}
        )
        model = RobertaForSequenceClassification(config)
    else:
        labels = NLI if kind == "nli" else {"num_labels": 2}
        wide = {"max_position_embeddings": 512, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
        wide |= {"position_biased_input": False, "position_buckets": 256, "max_relative_positions": -1}  # as v3
        model = DebertaV2ForSequenceClassification(DebertaV2Config(**{**wide, "pad_token_id": 0, **labels, **shape}))
    model.save_pretrained(folder)


def _minicheck_t5(kind: str, folder: Path, **settings: Any) -> None:
    vocabulary = _t5_like(folder).get_vocab_size()
    config = T5Config(**{**T5_SHAPE, "vocab_size": vocabulary, "decoder_start_token_id": 0, **settings})
    T5ForConditionalGeneration(config).save_pretrained(folder)


def _hhem(kind: str, folder: Path, **settings: Any) -> None:
    """Weights alone, with the keys of its authors' class: prefix `t5.`, the embeddings once."""
    base = folder / "base"
    base.mkdir()
    config = T5Config(**{**T5_SHAPE, "vocab_size": _t5_like(base).get_vocab_size(), "num_labels": 2, **settings})
    config.save_pretrained(base)
    T5ForTokenClassification(config).save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    named = {f"t5.{key}": value for key, value in weights.items() if not key.endswith("embed_tokens.weight")}
    assert "t5.transformer.shared.weight" in named
    save_file(named, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(
        '{"architectures": ["HHEMv2ForSequenceClassification"], "model_type": "HHEMv2Config"}', "utf-8"
    )


def _tokens(kind: str, folder: Path, encoder: str = "modernbert", **settings: Any) -> None:
    """ModernBERT, as mmBERT is too, or EuroBERT, whose tokenizer is Llama's."""
    rows: Json = {
        "modernbert": (_bert_like, ModernBertConfig, ModernBertForTokenClassification, {"sep_token_id": 2}),
        "eurobert": (_llama_like, EuroBertConfig, EuroBertForTokenClassification, {"num_key_value_heads": 2}),
    }
    tokenizer, config, model, more = rows[encoder]
    vocabulary = tokenizer(folder).get_vocab_size()
    names = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "mask_token_id": 0}
    shape = {**ENCODER, "vocab_size": vocabulary, "initializer_range": 0.3, "max_position_embeddings": 8192}
    model(config(**{**shape, **names, **more, **settings})).save_pretrained(folder)


def _llama_like(folder: Path) -> Tokenizer:
    names = {"pad_token": "<|pad|>", "bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"}
    pair = "<|begin_of_text|> $A <|end_of_text|> $B <|end_of_text|>"
    return _tokenizer(folder, list(names.values()), "<|begin_of_text|> $A <|end_of_text|>", pair, **names)


def make_reranker(kind: str, folder: Path, **settings: Any) -> Path:
    """The folder of a random model of a kind of `RERANKERS`."""
    torch.manual_seed(11)
    folder.mkdir(parents=True, exist_ok=True)
    {"cross-encoder": _cross_encoder, "qwen3-reranker": _qwen3_reranker}[kind](folder, **settings)
    return folder


def _cross_encoder(folder: Path, **settings: Any) -> None:
    vocabulary = _roberta_like(folder).get_vocab_size()
    names = {"vocab_size": vocabulary, "max_position_embeddings": 514, "pad_token_id": 1, "num_labels": 1}
    config = XLMRobertaConfig(**{**ENCODER, **names, "initializer_range": 0.3, **settings})
    XLMRobertaForSequenceClassification(config).save_pretrained(folder)


def _qwen3_reranker(folder: Path, **settings: Any) -> None:
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer = tiny_models.byte_level(specials)
    tokenizer.add_tokens(["yes", "no"])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
        additional_special_tokens=specials[1:2],
    ).save_pretrained(folder)
    names = {"vocab_size": tokenizer.get_vocab_size(), "pad_token_id": 0, "num_key_value_heads": 2, "head_dim": 8}
    shape = {**ENCODER, **names, "max_position_embeddings": 8192, "initializer_range": 0.3}
    Qwen3ForCausalLM(Qwen3Config(**{**shape, **settings})).save_pretrained(folder)
