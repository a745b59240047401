"""A tokenizer as the grammar engine llguidance reads it: the bytes of each token, and the one that ends a text."""

import functools
import json
import re
import string
from collections import abc
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import llguidance
import torch
from llguidance import LLTokenizer
from tokenizers import AddedToken, decoders

from rag_evaluator.errors import JudgementError, ModelError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

NEEDED = string.ascii_letters + string.digits + '{}[]":, '  # of answers in JSON, whatever the data is written with
PIECES = frozenset({"Metaspace", "Replace", "ByteFallback", "Fuse", "Strip"})  # of a SentencePiece decoder
COMPILED = 64  # grammars that are kept, those used last
END = "<|rag_evaluator_end|>"
OTHERS = (
    "Take a model whose tokenizer is byte-level BPE or SentencePiece (Llama, Qwen, Mistral, Gemma), or serve this one "
    "and judge with engine: server and dialect: openai"
)


class Vocabulary:
    """The tokenizer as the grammar engine sees it, and what the budget needs to know of each token's bytes.

    Attributes:
        size: number of logits the model gives; entries beyond the tokenizer's are never chosen.
        quotes: tokens that are exactly one double quote.
        commas: bool `(size,)`, tokens that begin with a comma.
        ends_text: bool `(size,)`, tokens that end a string and contain more: they contain `",`.
        ends_object: bool `(size,)`, tokens that end an object and contain more: they contain `},`.
        digits: `(size,)`, the digit that a token begins with, spaces aside; -1 for all others.
        known: bool `(size,)`, tokens that the tokenizer has.
        markers: texts that a tokenizer may read as tokens of another meaning.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerFast", size: int) -> None:
        self.size = size
        self.engine = grammar_tokenizer(tokenizer, size)
        self.texts = [self.engine.decode_bytes([token]) for token in range(size)]
        check_writable(self.texts)
        self.quotes = [token for token, text in enumerate(self.texts) if text == b'"']
        self.commas = torch.tensor([text.startswith(b",") for text in self.texts])
        self.ends_text = torch.tensor([b'",' in text for text in self.texts])
        self.ends_object = torch.tensor([b"}," in text for text in self.texts])
        self.digits = torch.tensor([_digit(text) for text in self.texts])
        self.known = torch.zeros(size, dtype=torch.bool)
        self.known[[token for token in tokenizer.get_vocab().values() if token < size]] = True
        added = (token.content for token in tokenizer.added_tokens_decoder.values() if token.content.strip())
        self.markers = re.compile("|".join([r"<0x[0-9A-Fa-f]{2}>", *map(re.escape, added)]))
        self._compiled = functools.lru_cache(COMPILED)(self._compile)

    def matcher(self, grammar: str) -> llguidance.LLMatcher:
        """A new matcher: compiling takes hundreds of times longer than copying. Raises `JudgementError`."""
        return self._compiled(grammar).deep_copy()

    def _compile(self, grammar: str) -> llguidance.LLMatcher:
        matcher = llguidance.LLMatcher(self.engine, grammar, log_level=0)
        if matcher.is_error():
            raise JudgementError(f"the answer's grammar is not valid: {matcher.get_error()[:300]}")
        return matcher


def grammar_tokenizer(tokenizer: "PreTrainedTokenizerFast", size: int) -> LLTokenizer:
    """The tokenizer for grammars. Raises `ModelError` if it cannot write under one, or is not the model's.

    A tokenizer without an end gets a token of its own for it, which no text has: an ordinary word must not end an
    answer.

    Args:
        size: number of logits the model gives. The result may have more tokens: a padding token that was added for
            batches has no logit.
    """
    backend = copy(tokenizer.backend_tokenizer)
    backend.no_padding()
    backend.no_truncation()
    _make_plain(backend)
    beyond = {number for number in backend.get_vocab().values() if number >= size}
    if beyond - {tokenizer.pad_token_id}:
        raise ModelError(
            f"judge.model: tokenizer and model do not belong together: the tokenizer has the token {max(beyond)}, the "
            f"model gives numbers for {size} tokens. Take tokenizer and weights of the same model."
        )
    end = tokenizer.eos_token_id
    if end is None:
        backend.add_special_tokens([AddedToken(END, special=True, normalized=False)])
        end = backend.token_to_id(END)
    most = max(size, backend.get_vocab_size(), 1 + max(backend.get_vocab().values()))
    try:
        return LLTokenizer(backend.to_str(), n_vocab=most, eos_token=end)
    except ValueError as error:
        raise ModelError(f"judge.model: no grammar can be built on its tokenizer: {error}. {OTHERS}.") from error


def check_writable(texts: abc.Sequence[bytes]) -> None:
    """Refuse a vocabulary that JSON cannot be written in. Raises `ModelError`.

    Args:
        texts: of each token.
    """
    known = set(texts)
    if missing := [sign for sign in NEEDED if sign.encode() not in known]:
        named = " ".join("a space" if sign == " " else sign for sign in missing[:8])
        raise ModelError(
            f"judge.model: its tokenizer has no token for {named}, so it cannot write the answers, which are JSON. "
            f"{OTHERS}."
        )


def _make_plain(backend: "Tokenizer") -> None:
    """Give a tokenizer the decoder by which llguidance sees the bytes of each token. Raises `ModelError`."""
    steps = _steps(backend.decoder)
    kinds = [str(step.get("type")) for step in steps]
    if "ByteLevel" in kinds:
        return
    space = _space(steps)
    if space is None or not PIECES.issuperset(kinds):
        named = " and ".join(kinds) or "none"
        raise ModelError(
            f"judge.model: the decoder of its tokenizer ({named}) does not say which bytes a token stands for, so no "
            f"grammar can be built on it. {OTHERS}."
        )
    backend.decoder = decoders.Sequence([decoders.Replace(space, " "), decoders.ByteFallback(), decoders.Fuse()])


def _steps(decoder: Any) -> list[Mapping[str, Any]]:
    """The parts of a decoder as JSON, those of sequences too. Any: tokenizers gives no type for what it is made of."""
    if decoder is None:
        return []
    return _flat(json.loads(decoder.__getstate__()))


def _flat(step: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [part for inner in step["decoders"] for part in _flat(inner)] if step.get("type") == "Sequence" else [step]


def _space(steps: abc.Sequence[Mapping[str, Any]]) -> str | None:
    """The sign for a space in tokens."""
    for step in steps:
        if step.get("type") == "Metaspace":
            return str(step["replacement"])
        if step.get("type") == "Replace" and step.get("content") == " ":
            sign: str | None = step["pattern"].get("String")
            return sign
    return None


def _digit(text: bytes) -> int:
    first = text.lstrip(b" ")[:1]
    return int(first) if first.isdigit() else -1
