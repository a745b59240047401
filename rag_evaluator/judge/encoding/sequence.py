"""An answer that is being decoded: what its grammar and budget allow next, as bits, and which token is chosen.

The grammar engine llguidance reads the tokenizer as a `Vocabulary`: the bytes of each token, and the one that ends a
text.
"""

import functools
import itertools
import math
import re
from abc import ABC, abstractmethod
from array import array
from collections import abc
from copy import copy
from typing import TYPE_CHECKING

import llguidance
import numpy as np
import torch
from llguidance import LLTokenizer
from tokenizers import AddedToken

from rag_evaluator.errors import JudgementError, ModelError
from rag_evaluator.judge.grammar.lark import LONGEST_REASON, REASONS
from rag_evaluator.judge.protocol import Reply, Request

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

TRIES = 2  # tokens, the best ones, before all that a grammar allows are computed
COMPILED = 64  # grammars that are kept, those used last
SPACE = "\u2581"  # of SentencePiece
LAST_WORD = re.compile(r'(?<=[^\s"])\s+[^\s"]{1,40}$')  # of a text in which words are parted by spaces
NO_NUMBER = "the model gave no number for any allowed token (NaN or infinite logits); try another dtype"
END = "<|rag_evaluator_end|>"
OTHERS = (
    "Take a model whose tokenizer is byte-level BPE or SentencePiece (Llama, Qwen, Mistral, Gemma), or serve this one "
    "and judge with engine: server"
)


class Vocabulary:
    """The tokenizer as the grammar engine sees it, and what the budget needs to know of each token's bytes.

    Attributes:
        size: number of logits the model gives; entries beyond the tokenizer's are never chosen.
        quotes: tokens that are exactly one double quote.
        digits: `(size,)`, the digit that a token begins with, spaces aside; -1 for all others.
        known: bool `(size,)`, tokens that the tokenizer has.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerFast", size: int) -> None:
        self.size = size
        self.engine = grammar_tokenizer(tokenizer, size)
        self.texts = [self.engine.decode_bytes([token]) for token in range(size)]
        self.quotes = [token for token, text in enumerate(self.texts) if text == b'"']
        firsts = (text.lstrip(b" ")[:1] for text in self.texts)
        self.digits = torch.tensor([int(first) if first.isdigit() else -1 for first in firsts])
        self.known = torch.zeros(size, dtype=torch.bool)
        self.known[[token for token in tokenizer.get_vocab().values() if token < size]] = True
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
        engine = LLTokenizer(backend.to_str(), n_vocab=most, eos_token=end)
    except ValueError as error:
        raise ModelError(f"judge.model: no grammar can be built on its tokenizer: {error}. {OTHERS}.") from error
    space = backend.token_to_id(SPACE)
    if space is not None and engine.decode_bytes([space]) == SPACE.encode():
        raise ModelError(
            f"judge.model: no grammar can be built on its tokenizer, which writes {SPACE} for a space. {OTHERS}."
        )
    return engine


class _Decoding(ABC):
    """What answers and free texts that are being decoded have in common.

    Attributes:
        tokens: so far.
        failure: why the text ends without a result; None while it does not.
        generator: the request's own random numbers; None if it is greedy.
    """

    def __init__(self, request: Request, vocabulary: Vocabulary) -> None:
        self.request = request
        self.vocabulary = vocabulary
        self.tokens: list[int] = []
        self.failure: str | None = None
        self.confidence: list[float] = []
        self.cut: set[str] = set()  # what was ended by its limit
        self.generator = torch.Generator().manual_seed(request.seed) if request.temperature > 0 else None

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether it has come to its end."""

    def reply(self) -> Reply | JudgementError:
        """The text, or why there is none."""
        if self.failure is not None:
            return JudgementError(self.failure)
        return Reply(self._text(), array("I", self.tokens), self.complete, tuple(self.confidence), frozenset(self.cut))

    def _text(self) -> str:
        return self.vocabulary.engine.decode_bytes(self.tokens).decode("utf-8", "ignore")


class Sequence(_Decoding):
    """One answer that is being decoded: grammar state, tokens so far, and what is left of its budget.

    Its grammar changes once in mid-answer where the request has a `rest`.
    """

    def __init__(self, request: Request, vocabulary: Vocabulary) -> None:
        super().__init__(request, vocabulary)
        assert request.grammar is not None
        self.matcher = vocabulary.matcher(request.grammar)
        self.rest = request.rest
        self.chosen = 0
        self.forced: list[int] = []
        self.in_string = self.escaped = False
        self.lists = 0  # that are open
        self.string = self.key = b""  # the last string; the last one before a colon
        self.string_tokens = 0
        self.limited_at: list[int] = []  # tokens before the end of each string that its limit ended

    @property
    def complete(self) -> bool:
        return self.matcher.is_stopped() and self.matcher.is_accepting()

    @property
    def done(self) -> bool:
        is_spent = self.chosen >= self.request.budget.max_new_tokens
        return self._ended() or (is_spent and not self.next_forced())

    def next_forced(self) -> list[int]:
        """Tokens that leave no choice, because the grammar forces the text that comes next; may be empty."""
        if self._ended():
            return []
        self.forced = self.forced or self._forced_tokens()
        return self.forced

    def push(self, token: int) -> None:
        """Accept the chosen token. Raises `JudgementError` if the grammar does not (a fault of ours)."""
        if not self.matcher.consume_token(token):
            raise JudgementError(f"the grammar refused token {token}: {self.matcher.get_error()[:300]}")
        self.tokens.append(token)
        self.chosen += not self.forced
        self.forced = self.forced[1:]
        self._follow(self.vocabulary.texts[token])
        if self.rest is not None and self.complete:
            self.matcher = self.vocabulary.matcher(self.rest(self._text()))
            self.rest = None

    @property
    def limited(self) -> bool:
        """Whether the budget may take something away from what the grammar allows next."""
        if not self.in_string or self.string_tokens < min(limit := self.request.budget.string_tokens, LONGEST_REASON):
            return False
        key = self.key.decode()
        return key in REASONS or (not self.lists and self.string_tokens >= limit)

    @property
    def spare_length(self) -> int:
        """Tokens that the answer may still have, forced ones included."""
        return self.request.budget.max_length - len(self.tokens)

    def mask(self) -> torch.Tensor:
        """bool `(vocab,)`: what the grammar allows next."""
        bits = torch.frombuffer(bytearray(self.matcher.compute_bitmask()), dtype=torch.int32)
        return to_mask(bits, self.vocabulary.size)

    def allows(self, token: int) -> bool:
        """Whether the grammar allows a token next."""
        return self.matcher.validate_tokens([token]) == 1

    def takes(self, token: int) -> bool | None:
        """Whether the best of the tokens that are left is chosen; None where all that are allowed must be known."""
        if self.generator is not None or self.limited or self.is_weighed(token):
            return None
        return self.allows(token)

    def is_weighed(self, token: int) -> bool:
        """Whether a token that is about to be pushed has a confidence: a digit outside of strings."""
        return int(self.vocabulary.digits[token]) >= 0 and not self.in_string

    def share(self, token: int, logprobs: abc.Mapping[int, float]) -> float:
        """The confidence of a digit: its share among the allowed tokens.

        Args:
            logprobs: of the allowed tokens, by token id; their sum need not be 1.
        """
        digits = self.vocabulary.digits
        most = max(logprobs.values())
        weights = {other: math.exp(logprob - most) for other, logprob in logprobs.items()}
        same = sum(weight for other, weight in weights.items() if digits[other] == digits[token])
        return round(same / sum(weights.values()), 6)

    def _ended(self) -> bool:
        return self.failure is not None or self.matcher.is_stopped() or self.spare_length <= 0

    def _forced_tokens(self) -> list[int]:
        """Tokens of the text that the grammar forces next, as the tokenizer splits it."""
        tokens = self.matcher.compute_ff_tokens()
        if not tokens:
            return []
        engine = self.vocabulary.engine
        special = next((i for i, token in enumerate(tokens) if engine.is_special_token(token)), len(tokens))
        right = min(special, self.matcher.validate_tokens(tokens[:special]))
        if right:
            return tokens[:right]
        # The forced text looks like a token of another meaning ("</s>", "<0x0A>" in a statement): use ordinary tokens.
        text = self.matcher.compute_ff_bytes().decode("utf-8", "ignore")
        ordinary: list[int] = engine.greedy_tokenize(text)[:1]
        if not ordinary or self.matcher.validate_tokens(ordinary) != 1:
            self.failure = f"the model's tokenizer has no token for {text[:1]!r}, which the answer must contain"
            return []
        return ordinary

    def within_budget(self, mask: torch.Tensor) -> torch.Tensor:
        """What of the allowed tokens, bool `(vocab,)`, the budget leaves: of a string that is too long its end."""
        quote = next((token for token in self.vocabulary.quotes if mask[token]), None) if self.limited else None
        if quote is None:  # there is no limit, or the text is in the middle of a character or of an escape
            return mask
        only = torch.zeros_like(mask)
        only[quote] = True
        self.cut.add("reason" if self.key.decode() in REASONS else "string")
        self.limited_at.append(len(self.tokens))
        return only

    def _text(self) -> str:
        """The answer; strings that their limit ended end at a word."""
        decode = self.vocabulary.engine.decode_bytes
        parts = []
        for start, end in itertools.pairwise([0, *self.limited_at, len(self.tokens)]):
            text = decode(self.tokens[start:end]).decode("utf-8", "ignore")
            parts.append(LAST_WORD.sub("", text) if end in self.limited_at else text)
        return "".join(parts)

    def _follow(self, text: bytes) -> None:
        """Track the place in the JSON that the answer has reached, and the tokens of the string it is in."""
        self.string_tokens += 1
        for byte in text:
            if byte == ord('"') and not self.escaped:
                self.in_string = not self.in_string
                self.string_tokens = 0
                self.string = b"" if self.in_string else self.string
            elif self.in_string:
                self.escaped = byte == ord("\\") and not self.escaped
                self.string += bytes([byte])
            elif byte == ord(":"):
                self.key = self.string
            elif byte in b"[]":
                self.lists += 1 if byte == ord("[") else -1


class FreeText(_Decoding):
    """A text without a grammar that is being decoded, a thought: it ends at its stop or with its budget."""

    in_string = True  # what it says of numbers is no verdict
    limited = True  # to the tokens that the tokenizer has
    matcher = None
    complete = False

    def __init__(self, request: Request, vocabulary: Vocabulary) -> None:
        super().__init__(request, vocabulary)
        assert request.stop is not None
        self.stop = request.stop
        self._end = request.stop.text.encode()
        self._last = b""  # bytes of the text, in which the beginning of its end may be

    @property
    def done(self) -> bool:
        return self.complete or self.failure is not None or len(self.tokens) >= self.request.budget.max_new_tokens

    def next_forced(self) -> list[int]:
        return []

    def push(self, token: int) -> None:
        """Accept the chosen token."""
        self.tokens.append(token)
        self._last += self.vocabulary.texts[token]
        self.complete = token in self.stop.token_ids or self._end in self._last
        self._last = self._last[-len(self._end) :]

    def takes(self, token: int) -> bool | None:
        """Whether the best of the tokens that are left is chosen; None where one is drawn."""
        return None if self.generator is not None else bool(self.vocabulary.known[token])

    def within_budget(self, mask: torch.Tensor) -> torch.Tensor:
        """Every token of the tokenizer is allowed, bool `(vocab,)`."""
        return self.vocabulary.known


Decoded = Sequence | FreeText


def new_sequence(request: Request, vocabulary: Vocabulary) -> Decoded:
    """What a request asks for, before its first token."""
    return FreeText(request, vocabulary) if request.grammar is None else Sequence(request, vocabulary)


class Chooser:
    """Chooses the next token of many sequences at once.

    Args:
        vocabulary: of the sequences' model.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.executor = llguidance.LLExecutor()

    def choose(self, sequences: abc.Sequence[Decoded], logits: torch.Tensor) -> list[int]:
        """The best of the allowed tokens for each sequence, or one drawn with the sequence's own random numbers.

        Most often the best of all tokens is allowed, or the best but one: then nothing else of the grammar is computed.

        Args:
            sequences: none of them done or forced.
            logits: `(sequences, vocab)`, on any device; in float32 they may be overwritten.
        """
        with torch.inference_mode():
            scores = logits.float()
            tokens = [0] * len(sequences)
            others: list[int] = []  # rows of which all allowed tokens must be known
            left = list(range(len(sequences)))
            for _ in range(TRIES):
                refused = []
                for index, token, finite in zip(left, *best_of(_rows(scores, left)), strict=True):
                    tokens[index] = token
                    takes = sequences[index].takes(token) if finite else None
                    if takes is None:
                        others.append(index)
                    elif not takes:
                        refused.append(index)
                if not refused:
                    break
                left = refused
                scores[left, [tokens[index] for index in left]] = float("-inf")
            others = sorted({*others, *refused})
        if others:
            chosen = self._choose_allowed([sequences[index] for index in others], _rows(scores, others))
            for index, token in zip(others, chosen, strict=True):
                tokens[index] = token
        return tokens

    def _choose_allowed(self, sequences: abc.Sequence[Decoded], logits: torch.Tensor) -> list[int]:
        """The same by what grammar and budget allow of all tokens; the logits, in float32, are overwritten."""
        with torch.inference_mode():
            allowed = to_mask(self._bits(sequences, logits.device), self.vocabulary.size)
            scores = logits.masked_fill_(~allowed, float("-inf"))
            tokens, finite = best_of(scores)
        for index, sequence in enumerate(sequences):
            if not finite[index]:
                sequence.failure = NO_NUMBER
                continue
            if sequence.generator is not None:
                probabilities = torch.softmax(scores[index].double().cpu() / sequence.request.temperature, dim=-1)
                tokens[index] = int(torch.multinomial(probabilities, 1, generator=sequence.generator))
            digit = self.vocabulary.digits[tokens[index]]
            if digit >= 0 and not sequence.in_string:
                share = torch.softmax(scores[index].cpu(), dim=-1)[self.vocabulary.digits == digit].sum()
                sequence.confidence.append(round(float(share), 6))
        return tokens

    def _bits(self, sequences: abc.Sequence[Decoded], device: torch.device) -> torch.Tensor:
        """int32 `(sequences, words)` of bits on a device: what grammar and budget allow."""
        bits = no_tokens(len(sequences), self.vocabulary.engine.vocab_size, device)
        words = bits.shape[1]
        matchers = [(entry.matcher, index) for index, entry in enumerate(sequences) if entry.matcher is not None]
        if matchers:
            self.executor.unsafe_compute_mask_ptr(matchers, bits.data_ptr(), words * 4, len(sequences))
        for index, sequence in enumerate(sequences):
            if sequence.limited:
                left = sequence.within_budget(to_mask(bits[index], self.vocabulary.size))
                bits[index] = to_bits(left, words)
        return bits.to(device, non_blocking=True)


def _rows(scores: torch.Tensor, indices: abc.Sequence[int]) -> torch.Tensor:
    """Some rows; all of them without a copy."""
    return scores if len(indices) == len(scores) else scores[indices]


def best_of(scores: torch.Tensor) -> tuple[list[int], list[bool]]:
    """The place of the highest number of each row, the first of equal ones, and whether it is a finite number.

    NaN counts as the highest one.
    """
    if scores.device.type == "cpu":
        places = torch.from_numpy(scores.numpy().argmax(axis=-1))  # torch looks at one number after the other
        return places.tolist(), scores.gather(1, places[:, None])[:, 0].isfinite().tolist()
    best, places = scores.max(dim=-1)
    found = torch.stack([places, best.isfinite().to(places.dtype)]).tolist()  # one copy, for which the device is waited
    return found[0], list(map(bool, found[1]))


def no_tokens(rows: int, size: int, device: torch.device) -> torch.Tensor:
    """int32 `(rows, words)` of bits, none of them set, in host memory from which a copy to the device need not wait."""
    return torch.zeros((rows, -(-size // 32)), dtype=torch.int32, pin_memory=device.type == "cuda")


def to_bits(mask: torch.Tensor, words: int) -> torch.Tensor:
    """int32 `(words,)` of bits of a bool `(vocab,)` on the host."""
    bits = np.zeros(4 * words, dtype=np.uint8)
    known = np.packbits(mask.numpy(), bitorder="little")
    bits[: len(known)] = known
    return torch.from_numpy(bits.view(np.int32))


def to_mask(bits: torch.Tensor, size: int) -> torch.Tensor:
    """bool `(..., size)` of int32 `(..., words)`, on their device."""
    if bits.device.type == "cpu":  # 30 times faster than torch's operations there
        octets = bits.contiguous().numpy().view(np.uint8)
        return torch.from_numpy(np.unpackbits(octets, axis=-1, count=size, bitorder="little").view(np.bool_))
    return expand(bits, size)


def expand(bits: torch.Tensor, size: int) -> torch.Tensor:
    """The same by operations that every device has."""
    places = 2 ** torch.arange(8, dtype=torch.uint8, device=bits.device)
    return (bits.view(torch.uint8)[..., None] & places).bool().flatten(-2)[..., :size]
