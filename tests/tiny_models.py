"""Tiny random-weight models of the common kinds, made on the spot and saved as a user's model folder is."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
import transformers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from tools.architectures import ARCHITECTURES
from tools.random_models import save_model

if TYPE_CHECKING:
    from rag_evaluator import Judge

Tiny = Callable[..., "Judge"]

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SHAPE: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 8192,
}
CORPUS = [
    json.dumps(
        {
            "question": f"Where was the painter Nolu Brak {i} born?",
            "statements": [
                {"statement": f"He was born in {1900 + i}.", "reason": "The context says so.", "verdict": i % 2}
            ],
            "answer": "Nació en Corvania, según dicen los documentos; no se sabe más. 他出生于一座小城市。",
        },
        indent=4,
        ensure_ascii=False,
    )
    for i in range(60)
]


def byte_level(specials: list[str]) -> Tokenizer:
    """Byte-level BPE, as GPT-2, Llama 3 and Qwen have it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def metaspace_bpe(specials: list[str]) -> Tokenizer:
    """SentencePiece-like BPE with byte fallback, as Llama 2 and Mistral have it."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = _sentencepiece_decoder()
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=[*specials, *_BYTES], show_progress=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"(?=[▁\n])"), "isolated")
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.pre_tokenizer = None
    return _with_byte_tokens_as_text(tokenizer)


def metaspace_unigram(specials: list[str]) -> Tokenizer:
    """SentencePiece-like Unigram with Metaspace and byte fallback, as T5-style and Gemma-like vocabularies have it."""
    trained = Tokenizer(models.Unigram())
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trained.train_from_iterator(CORPUS, trainers.UnigramTrainer(vocab_size=500, show_progress=False))
    pieces = [(piece, score) for piece, score in json.loads(trained.to_str())["model"]["vocab"] if piece != "\n"]
    vocab = [(special, 0.0) for special in specials] + [(byte, -20.0) for byte in _BYTES] + pieces
    tokenizer = Tokenizer(models.Unigram(vocab, unk_id=specials.index("<unk>"), byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = _sentencepiece_decoder()
    tokenizer.add_special_tokens([AddedToken(special, special=True) for special in specials])
    return tokenizer


_BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def _sentencepiece_decoder() -> Any:
    return decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )


def _with_byte_tokens_as_text(tokenizer: Tokenizer) -> Tokenizer:
    """The trainer takes the byte tokens in as special ones; in real vocabularies they are ordinary entries."""
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = [token for token in data["added_tokens"] if token["content"] not in _BYTES]
    return Tokenizer.from_str(json.dumps(data))


@dataclass(frozen=True)
class Kind:
    """A model family: how to make its tokenizer, and what the class of its configuration begins with."""

    tokenizer: Callable[[list[str]], Tokenizer]
    specials: list[str]
    model: str
    chat_template: str | None = None
    pad_token: str | None = None
    eos_token: str | None = "</s>"
    bos_token: str | None = None
    extra_vocab: int = 0
    markers: list[str] = field(default_factory=list)  # added tokens that are not special ones
    settings: dict[str, Any] = field(default_factory=dict)  # of the model


SPM = ["<unk>", "<s>", "</s>"]
KINDS = {
    "llama-bytelevel": Kind(byte_level, ["<s>", "</s>"], "Llama", bos_token="<s>", extra_vocab=37),
    "qwen2-chat": Kind(
        byte_level,
        ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"],
        "Qwen2",
        chat_template=CHATML,
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
        extra_vocab=64,
    ),
    "mistral-metaspace-bpe": Kind(metaspace_bpe, SPM, "Mistral", bos_token="<s>"),
    "gemma-metaspace-unigram": Kind(
        metaspace_unigram, [*SPM, "<pad>"], "Gemma", pad_token="<pad>", bos_token="<s>", extra_vocab=8
    ),
    "gpt2": Kind(byte_level, ["<|endoftext|>"], "GPT2", eos_token="<|endoftext|>"),
}


STEEP = {"initializer_range": 0.5, "pad_token_id": 0}  # so large that what a row sees changes what it answers
LLAMA = Kind(byte_level, ["<s>", "</s>"], "Llama", bos_token="<s>", settings=STEEP)


def thinker(template: str, specials: str, markers: str = "") -> Kind:
    """A model that thinks, with the tokens and the end of the template that its family has."""
    return replace(
        LLAMA,
        specials=["<s>", "</s>", *specials.split()],
        markers=markers.split(),
        chat_template=template,
        bos_token=None,
    )


QWEN3 = CHATML.replace(
    "assistant\n{% endif %}",
    "assistant\n{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}"
    "{% endif %}",
)
THINKERS = {  # family -> a model of it
    "r1": thinker(
        "<|User|>{{ messages[0].content }}<|Assistant|>{{ '<think>\n' }}", "<|User|> <|Assistant|>", "<think> </think>"
    ),
    "qwen3": thinker(QWEN3, "<|im_start|> <|im_end|>", "<think> </think>"),
    "deepseek": thinker(
        "<|User|>{{ messages[0].content }}<|Assistant|>{% if thinking %}<think>{% else %}</think>{% endif %}",
        "<|User|> <|Assistant|>",
        "<think> </think>",
    ),
    "harmony": thinker(  # GPT-OSS
        "<|start|>user<|message|>{{ messages[0].content }}<|end|>"
        "{% if add_generation_prompt %}<|start|>assistant{% endif %}",
        "<|start|> <|message|> <|end|> <|channel|> <|return|>",
    ),
    "magistral": thinker("[INST]{{ messages[0].content }}[/INST][THINK]", "[INST] [/INST] [THINK] [/THINK]"),
}
ENDS = dict.fromkeys(THINKERS, "</think>") | {"harmony": "<|end|>", "magistral": "[/THINK]"}


def make(kind: str | Kind, folder: Path, seed: int = 0, **shape: Any) -> Path:
    """Save a random-weight model of a kind with its tokenizer into `folder`.

    Args:
        kind: one of these here, or a name in `tools/architectures.py`.
        eager: of a model that thinks: how many times as much its token for the end of a thought weighs.
    """
    spec = kind if isinstance(kind, Kind) else {**KINDS, "llama": LLAMA, **THINKERS}.get(kind)
    if spec is None:
        return save_model(ARCHITECTURES[kind], folder)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=spec.tokenizer(spec.specials),
        eos_token=spec.eos_token,
        bos_token=spec.bos_token,
        pad_token=spec.pad_token,
        unk_token="<unk>" if "<unk>" in spec.specials else None,
    )
    tokenizer.add_tokens([AddedToken(marker, special=False, normalized=False) for marker in spec.markers])
    tokenizer.chat_template = spec.chat_template
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    eager = shape.pop("eager", None)
    settings = {**SHAPE, "vocab_size": len(tokenizer) + spec.extra_vocab, **spec.settings, **shape}
    model = AutoModelForCausalLM.from_config(getattr(transformers, f"{spec.model}Config")(**settings))
    if eager is not None:
        assert isinstance(kind, str)  # one of THINKERS
        with torch.no_grad():
            model.get_output_embeddings().weight[tokenizer.convert_tokens_to_ids(ENDS[kind])] *= eager
    model.save_pretrained(folder)
    return folder


PARTS = (  # as templates of vision-text models read a message: a list of parts, with pictures among them
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{% for part in message.content %}"
    "{% if part.type == 'image' %}<image>{% elif part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def judge_of(tokenizer: Any, size: int | None = None, **settings: Any) -> Any:
    """A judge with a tokenizer, whose model has so many logits."""
    from rag_evaluator import Judge
    from rag_evaluator.config import JudgeConfig

    config = transformers.GPT2Config(vocab_size=size or len(tokenizer), n_embd=8, n_layer=1, n_head=1)
    loaded = SimpleNamespace(model=AutoModelForCausalLM.from_config(config), tokenizer=tokenizer)
    return Judge(loaded, JudgeConfig(**settings))


def padding_decoder(judge: Any, batch_size: int = 1) -> Any:
    """The decoder of padded batches for a judge's model, whatever decoder the judge has."""
    from rag_evaluator.judge.engines.transformers.plain import PlainDecoder

    engine = judge.inner.engine
    return PlainDecoder(engine.model, engine.vocabulary, engine.padding, engine.window, batch_size)


def plain_of(judge: Any) -> Any:
    """The loop of transformers' own `generate` for a judge's model."""
    decoder = padding_decoder(judge)
    decoder.together = 0
    return decoder
