"""Batched decoding under grammars over a Hugging Face causal language model."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import llguidance
import llguidance.hf
import torch
from llguidance.torch import fill_next_token_bitmask
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList, StoppingCriteria, StoppingCriteriaList

from rag_evaluator.errors import JudgementError, ModelError
from rag_evaluator.judge.requests import Reply, Request

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


class Vocabulary:
    """The tokenizer as the grammar engine sees it, and what the budget needs to know of each token's bytes.

    Attributes:
        size: number of logits the model gives; entries beyond the tokenizer's are never chosen.
        quotes: tokens that are exactly one double quote.
        commas: bool `(size,)`, tokens that begin with a comma.
        ends_item: bool `(size,)`, tokens that end a list item and go on: they contain `",` or `},`.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerFast", size: int, eos_token_id: int) -> None:
        self.size = size
        self.engine = llguidance.hf.from_tokenizer(tokenizer, n_vocab=size, eos_token=eos_token_id)
        texts = [self.engine.decode_bytes([token]) for token in range(len(tokenizer))]
        texts += [b""] * (size - len(texts))
        self.texts = texts[:size]
        self.quotes = [token for token, text in enumerate(self.texts) if text == b'"']
        self.commas = torch.tensor([text.startswith(b",") for text in self.texts])
        self.ends_item = torch.tensor([b'",' in text or b"}," in text for text in self.texts])
        if not self.quotes:
            raise ModelError("the tokenizer has no token for a double quote, so it cannot write JSON.")


class Row:
    """One answer in the making: grammar state, tokens so far, and where it stands within its budget."""

    def __init__(self, request: Request, vocabulary: Vocabulary) -> None:
        self.request, self.vocabulary = request, vocabulary
        self.matcher = llguidance.LLMatcher(vocabulary.engine, request.grammar, log_level=0)
        if self.matcher.is_error():
            raise JudgementError(f"the answer's grammar is not valid: {self.matcher.get_error()[:300]}")
        self.tokens: list[int] = []
        self.forced: list[int] = []
        self.in_string = self.escaped = False
        self.string_tokens = 0
        self.generator: torch.Generator | None = None
        if request.temperature > 0:
            self.generator = torch.Generator().manual_seed(request.seed)

    @property
    def complete(self) -> bool:
        return self.matcher.is_stopped() and self.matcher.is_accepting()

    @property
    def done(self) -> bool:
        return self.matcher.is_stopped() or len(self.tokens) >= self.request.max_new_tokens

    def allowed(self) -> torch.Tensor:
        """bool `(vocab,)`: tokens that the grammar and the budget allow next; never empty."""
        if not self.forced:
            self.forced = self._forced_tokens()
        if self.forced:
            return self._only(self.forced[0])
        bits = torch.zeros((1, (self.vocabulary.size + 31) // 32), dtype=torch.int32)
        fill_next_token_bitmask(self.matcher, bits)
        mask = ((bits[0, :, None] >> torch.arange(32)) & 1).bool().flatten()[: self.vocabulary.size]
        return self._within_budget(mask)

    def push(self, token: int) -> None:
        """Accept the chosen token. Raises `JudgementError` if the grammar does not (a fault of ours)."""
        if not self.matcher.consume_token(token):
            raise JudgementError(f"the grammar refused token {token}: {self.matcher.get_error()[:300]}")
        self.tokens.append(token)
        self.forced = self.forced[1:]
        self._follow(self.vocabulary.texts[token])

    def reply(self) -> Reply:
        text = self.vocabulary.engine.decode_bytes(self.tokens).decode("utf-8", "ignore")
        return Reply(text=text, token_ids=tuple(self.tokens), complete=self.complete)

    def _forced_tokens(self) -> list[int]:
        """Tokens of the text that the grammar dictates next, in the tokenizer's own way of writing it."""
        tokens = self.matcher.compute_ff_tokens()
        if not tokens:
            return []
        engine = self.vocabulary.engine
        special = next((i for i, token in enumerate(tokens) if engine.is_special_token(token)), len(tokens))
        right = min(special, self.matcher.validate_tokens(tokens[:special]))
        if right:
            return tokens[:right]
        # The dictated text looks like a token of another meaning ("</s>" or "<0x0A>" in a statement): spell it out.
        return engine.greedy_tokenize(self.matcher.compute_ff_bytes().decode("utf-8", "ignore"))[:1]

    def _only(self, token: int) -> torch.Tensor:
        mask = torch.zeros(self.vocabulary.size, dtype=torch.bool)
        mask[token] = True
        return mask

    def _within_budget(self, mask: torch.Tensor) -> torch.Tensor:
        if self.in_string and self.string_tokens >= self.request.string_tokens:
            quote = next((token for token in self.vocabulary.quotes if mask[token]), None)
            if quote is not None:
                return self._only(quote)
        if self.request.max_new_tokens - len(self.tokens) < self.request.reserve:
            ending = mask & ~self.vocabulary.ends_item
            if not self.in_string:
                ending &= ~self.vocabulary.commas
            return ending if ending.any() else mask
        return mask

    def _follow(self, text: bytes) -> None:
        """Track whether the answer stands inside a JSON string, and for how many tokens."""
        self.string_tokens += 1
        for byte in text:
            if self.escaped:
                self.escaped = False
            elif byte == ord("\\") and self.in_string:
                self.escaped = True
            elif byte == ord('"'):
                self.in_string = not self.in_string
                self.string_tokens = 0


class _Grammars(LogitsProcessor):
    """Lets each row choose only what its grammar allows; sampling happens here, with the row's own random numbers."""

    def __init__(self, rows: Sequence[Row], prompt_length: int) -> None:
        self.rows, self.prompt_length = rows, prompt_length

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        mask = torch.zeros(scores.shape, dtype=torch.bool)
        mask[:, 0] = True  # rows that are done: any token will do
        for index, row in enumerate(self.rows):
            if not row.done:
                mask[index] = row.allowed()
        scores = scores.float().masked_fill(~mask.to(scores.device), float("-inf"))  # type: ignore[assignment]
        for index, row in enumerate(self.rows):
            if not row.done and row.generator is not None:
                probabilities = torch.softmax(scores[index].double().cpu() / row.request.temperature, dim=-1)
                token = int(torch.multinomial(probabilities, 1, generator=row.generator))
                scores[index] = float("-inf")
                scores[index, token] = 0.0
        return scores


class _Finished(StoppingCriteria):
    """Feeds each chosen token to its row's grammar; a row stops when its answer is complete or its budget is spent."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    def __call__(self, input_ids: torch.LongTensor, scores: Any, **kwargs: Any) -> torch.BoolTensor:
        for row, token in zip(self.rows, input_ids[:, -1].tolist(), strict=True):
            if not row.done:
                row.push(token)
        return torch.tensor([row.done for row in self.rows], device=input_ids.device)  # type: ignore[return-value]


class Decoder:
    """Answers batches of requests; owned by one thread at a time.

    Args:
        model: a causal language model.
        tokenizer: its fast tokenizer.
        window: tokens of prompt and answer together that the model can read.
    """

    def __init__(self, model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerFast", window: int = 10**9) -> None:
        self.model, self.window = model, window
        eos, pad = tokenizer.eos_token_id, tokenizer.pad_token_id
        self.end = eos if eos is not None else pad if pad is not None else 0
        self.padding = pad if pad is not None else self.end
        output = model.get_output_embeddings()
        self.vocabulary = Vocabulary(tokenizer, output.weight.shape[0], self.end)

    def decode(self, requests: Sequence[Request]) -> list[Reply]:
        """Replies in the order of the requests. Prompts are padded on the left: neighbours do not matter."""
        parts = self._split(requests)
        if len(parts) > 1:
            replies = {id(request): reply for part in parts for request, reply in self._pairs(part)}
            return [replies[id(request)] for request in requests]
        rows = [Row(request, self.vocabulary) for request in requests]
        input_ids, attention_mask = self._pad(requests)
        with torch.inference_mode(), _own_generation_config(self.model, self.padding):
            self.model.generate(  # type: ignore[operator]  # torch types module attributes as tensors
                input_ids=input_ids,
                attention_mask=attention_mask,
                max_new_tokens=max(request.max_new_tokens for request in requests),
                logits_processor=LogitsProcessorList([_Grammars(rows, input_ids.shape[1])]),
                stopping_criteria=StoppingCriteriaList([_Finished(rows)]),
            )
        return [row.reply() for row in rows]

    def _pairs(self, requests: Sequence[Request]) -> Iterator[tuple[Request, Reply]]:
        return zip(requests, self.decode(requests), strict=True)

    def _split(self, requests: Sequence[Request]) -> list[Sequence[Request]]:
        """The batch in parts in which no row is carried past the model's window by a neighbour's longer answer."""
        longest = max(request.max_new_tokens for request in requests)
        tight = [request for request in requests if len(request.input_ids) + longest > self.window]
        if not tight or len(requests) == 1:
            return [requests]
        if len(tight) < len(requests):
            return [[request for request in requests if request not in tight], tight]
        return [requests[: len(requests) // 2], requests[len(requests) // 2 :]]

    def _pad(self, requests: Sequence[Request]) -> tuple[torch.Tensor, torch.Tensor]:
        """`(batch, longest prompt)` token ids and attention mask."""
        width = max(len(request.input_ids) for request in requests)
        input_ids = torch.full((len(requests), width), self.padding, dtype=torch.long)
        attention_mask = torch.zeros_like(input_ids)
        for index, request in enumerate(requests):
            input_ids[index, width - len(request.input_ids) :] = torch.tensor(request.input_ids)
            attention_mask[index, width - len(request.input_ids) :] = 1
        return input_ids.to(self.model.device), attention_mask.to(self.model.device)


@contextmanager
def _own_generation_config(model: "PreTrainedModel", pad_token_id: int) -> Iterator[None]:
    """Keep the model's own generation defaults (penalties, forced tokens, sampling) out of judging."""
    theirs = model.generation_config
    model.generation_config = GenerationConfig(do_sample=False, num_beams=1, pad_token_id=pad_token_id)
    try:
        yield
    finally:
        model.generation_config = theirs
