"""Batched decoding under grammars: the common head of prompts computed once, dictated tokens fed without being sampled.

decode -> for each group of prompts with a common head: admit rows, run, choose, until all are done
"""

import logging
import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from rag_evaluator.errors import JudgementError
from rag_evaluator.judge.engine.transformers.choice import probabilities
from rag_evaluator.judge.engine.transformers.generate import PlainDecoder
from rag_evaluator.judge.engine.transformers.memory import SHARE, Rows, free_bytes
from rag_evaluator.judge.engine.transformers.neighbours import why_alone
from rag_evaluator.judge.engine.transformers.packed import NotPackableError, PackedModel, TailCache
from rag_evaluator.judge.engine.transformers.prefix_cache import Heads, shared
from rag_evaluator.judge.engine.transformers.sequence import Row, Vocabulary
from rag_evaluator.judge.requests import Reply, Request

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

logger = logging.getLogger(__name__)
Outcome = Reply | JudgementError
PREFILL_TOKENS = 4096  # packed in one pass at most, so that memory stays bounded


@dataclass(frozen=True)
class Work:
    """What a decoder has done.

    Attributes:
        requests: answered, if only with an error.
        prompt_tokens: of their prompts, all together.
        computed: prompt tokens that went through the model; fewer, as common heads are computed once.
        generated: tokens of the answers, dictated ones included.
    """

    requests: int
    prompt_tokens: int
    computed: int
    generated: int


@dataclass
class Active:
    """A row of the running batch: its answer, the tokens to be fed next, and the tail slots it has filled."""

    row: Row
    position: int
    feed: list[int]
    filled: int = 0

    def follow(self) -> None:
        """Take what the grammar dictates next, so that it is fed in the same pass."""
        while dictated := self.row.dictated():
            token = dictated[0]
            self.row.push(token)
            self.feed.append(token)


class Decoder:
    """Answers requests; owned by one thread at a time.

    Args:
        model: a causal language model.
        tokenizer: its fast tokenizer.
        window: tokens of prompt and answer together that the model can read.
        batch_size: rows decoded together, if the memory that the model leaves holds as many.

    Attributes:
        packed: None where the model must be run by transformers' `generate` (see `PackedModel.of`).
        why: why it must, None if it need not.
        alone: why rows are not decoded side by side, None if they are.
        work: what was done so far.
    """

    def __init__(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerFast",
        window: int = 10**9,
        batch_size: int = 16,
    ) -> None:
        eos, pad = tokenizer.eos_token_id, tokenizer.pad_token_id
        end = eos if eos is not None else pad if pad is not None else 0
        self.model = model
        self.vocabulary = Vocabulary(tokenizer, logits_size(model), end)
        self.plain = PlainDecoder(model, self.vocabulary, pad if pad is not None else end, window)
        self.packed, self.why = _packed(model)
        self.heads = None if self.packed is None else Heads(self.packed)
        slot_bytes = 0 if self.packed is None else self.packed.slot_bytes
        self.alone = why_alone(model, self.plain.logits, window) if self.packed is None and batch_size > 1 else None
        if self.alone:
            logger.warning(
                "judge: each row is decoded alone (judge.batch_size: 1), because of this model: %s", self.alone
            )
        self.rows = Rows(1 if self.alone else batch_size, int(SHARE * free_bytes(model)), slot_bytes)
        self._tails = 0  # tokens of prompts computed, heads apart
        self._requests = self._prompt_tokens = self._generated = 0

    @property
    def path(self) -> str:
        """`packed`, or `plain` where transformers' `generate` runs the model."""
        return "plain" if self.packed is None else "packed"

    @property
    def work(self) -> Work:
        """What was done so far."""
        computed = self._tails + (0 if self.heads is None else self.heads.computed)
        return Work(self._requests, self._prompt_tokens, computed, self._generated)

    def decode(self, requests: Sequence[Request]) -> list[Outcome]:
        """Replies in the order of the requests; an error in place of a reply that could not be made."""
        answer = self._choose if any(request.options for request in requests) else self._write
        with torch.inference_mode():
            outcomes = answer(requests)
        self._requests += len(requests)
        self._prompt_tokens += sum(len(request.input_ids) for request in requests)
        self._generated += sum(len(outcome.token_ids) for outcome in outcomes if isinstance(outcome, Reply))
        return outcomes

    def _write(self, requests: Sequence[Request]) -> list[Outcome]:
        if self.heads is None:
            return self._in_parts(self.plain.decode, requests)
        replies: dict[int, Outcome] = {}
        for head, members in self.heads.shared_by(requests):
            outcomes = self.rows.halving(partial(self._run_group, head), [requests[i] for i in members])
            replies |= zip(members, outcomes, strict=True)
        return [replies[i] for i in range(len(requests))]

    def _in_parts(self, handle: Callable[[Sequence[Any]], Sequence[Any]], items: Sequence[Any]) -> list[Any]:
        """What the plain decoder makes of requests or token sequences, as many at a time as fit."""

        def handle_parts(items: Sequence[Any]) -> list[Any]:
            width = self.rows.most
            return [answer for start in range(0, len(items), width) for answer in handle(items[start : start + width])]

        self._tails += sum(len(getattr(item, "input_ids", item)) for item in items)
        return self.rows.halving(handle_parts, items)

    def _run_group(self, head: tuple[int, ...], requests: Sequence[Request]) -> list[Outcome]:
        """Decode requests that begin with a head: a batch that is refilled as rows finish, longest prompts first."""
        assert self.packed is not None and self.heads is not None
        rows = [Row(request, self.vocabulary) for request in requests]
        tails = [list(request.input_ids[len(head) :]) for request in requests]
        longest = max(len(tail) + request.budget.max_length for tail, request in zip(tails, requests, strict=True))
        width = min(self.rows.that_fit(longest), len(requests))
        cache = TailCache(self.packed.layers, width, longest)
        cache.head = self.heads.cache(head)
        self._tails += sum(map(len, tails))
        order = sorted(range(len(rows)), key=lambda i: len(tails[i]))
        active: list[Active] = []
        while order or active:
            newcomers: list[Active] = []
            while order and len(active) + len(newcomers) < width:
                index = order.pop()
                newcomers.append(Active(rows[index], len(active) + len(newcomers), tails[index]))
                newcomers[-1].follow()
            for part in _by_size([one.feed for one in newcomers]):
                self._advance(cache, [newcomers[index] for index in part])
            active = _in_place(cache, active + newcomers)
            self._advance(cache, active)
            active = _in_place(cache, active)
        return [row.reply() for row in rows]

    def _choose(self, requests: Sequence[Request]) -> list[Outcome]:
        """Replies to requests that have options: their probabilities, and nothing generated."""
        prompts = [request.input_ids for request in requests]
        shares = probabilities(prompts, [request.options for request in requests], self._next_logits)
        return [
            Reply("", array("I"), True, tuple(share))
            if all(map(math.isfinite, share))
            else JudgementError("the model gave no number for any option (NaN or infinite logits); try another dtype")
            for share in shares
        ]

    def _next_logits(self, sequences: Sequence[tuple[int, ...]]) -> torch.Tensor:
        """`(sequences, vocab)` logits after each sequence; their common head is computed once."""
        if self.packed is None:
            return torch.stack(self._in_parts(lambda part: list(self.plain.next_logits(part)), sequences))
        return torch.stack(self.rows.halving(self._packed_logits, sequences))

    def _packed_logits(self, sequences: Sequence[tuple[int, ...]]) -> list[torch.Tensor]:
        assert self.packed is not None and self.heads is not None
        head = shared(sequences) if len(sequences) > 1 else ()
        tails = [sequence[len(head) :] for sequence in sequences]
        width = min(self.rows.that_fit(max(map(len, tails))), len(tails))
        logits: list[torch.Tensor] = []
        for start in range(0, len(tails), width):
            part = tails[start : start + width]
            cache = TailCache(self.packed.layers, len(part), max(map(len, part)))
            cache.head = self.heads.cache(head)
            for rows in _by_size(part):
                logits += self.packed.run(cache, [part[row] for row in rows], rows, [0] * len(rows))
        self._tails += sum(map(len, tails))
        return logits

    def _advance(self, cache: TailCache, active: Sequence[Active]) -> None:
        """One forward pass over the tokens to be fed, and the choice of each row's next one."""
        active = [one for one in active if not one.row.done]
        if not active:
            return
        assert self.packed is not None
        feeds, positions, filled = zip(*((one.feed, one.position, one.filled) for one in active), strict=True)
        logits = self.packed.run(cache, feeds, positions, filled)
        tokens = self.plain.chooser.choose([one.row for one in active], logits)
        for one, token in zip(active, tokens, strict=True):
            one.filled += len(one.feed)
            if one.row.failure is not None:
                cache.clear(one.position)
                continue
            one.row.push(token)
            one.feed = [token]
            one.follow()


def logits_size(model: "PreTrainedModel") -> int:
    """Logits that the model gives for a token; the weights of a quantised output layer have another shape."""
    layer = model.get_output_embeddings()
    size = getattr(layer, "out_features", None) or model.config.get_text_config().vocab_size
    return int(size)


def _packed(model: "PreTrainedModel") -> tuple[PackedModel | None, str | None]:
    """The model's packed form, or why there is none."""
    try:
        return PackedModel.of(model), None
    except NotPackableError as reason:
        logger.warning("judge: the model is run by transformers' generate, which is several times slower: %s", reason)
        return None, str(reason)


def _by_size(feeds: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Indices of the feeds in parts that are small enough for one pass; one that is longer than that goes alone."""
    part: list[int] = []
    for index, feed in enumerate(feeds):
        if part and sum(len(feeds[other]) for other in part) + len(feed) > PREFILL_TOKENS:
            yield part
            part = []
        part.append(index)
    if part:
        yield part


def _in_place(cache: TailCache, active: Sequence[Active]) -> list[Active]:
    """The rows that go on, moved up so that they stand side by side in the cache."""
    going_on = [one for one in active if not one.row.done]
    holes = sorted(set(range(len(going_on))) - {one.position for one in going_on})
    for one in going_on:
        if one.position >= len(going_on):
            target = holes.pop()
            cache.move(one.position, target, one.filled)
            one.position = target
    return sorted(going_on, key=lambda one: one.position)
