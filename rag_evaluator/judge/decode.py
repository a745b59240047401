"""Batched decoding under grammars: the common head of prompts computed once, dictated tokens fed without being sampled.

decode -> for each group of prompts with a common head: admit rows, run, choose, until all are done
"""

import logging
import math
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import torch

from rag_evaluator.errors import JudgementError
from rag_evaluator.judge.options import probabilities
from rag_evaluator.judge.packed import Layer, PackedModel, TailCache
from rag_evaluator.judge.plain import PlainDecoder
from rag_evaluator.judge.requests import Reply, Request
from rag_evaluator.judge.rows import Row, Vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

Outcome = Reply | JudgementError
logger = logging.getLogger(__name__)
HEAD_TOKENS = 8192  # of all heads whose keys and values are kept
PREFILL_TOKENS = 4096  # packed in one pass at most, so that memory stays bounded


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
        batch_size: rows decoded together.

    Attributes:
        packed: None where the model must be run by transformers' `generate` (see `PackedModel.of`).
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
        self.model, self.batch_size = model, batch_size
        self.vocabulary = Vocabulary(tokenizer, int(model.get_output_embeddings().weight.shape[0]), end)
        self.plain = PlainDecoder(model, self.vocabulary, pad if pad is not None else end, window)
        self.packed = PackedModel.of(model)
        self._heads: OrderedDict[tuple[int, ...], Sequence[Layer]] = OrderedDict()
        self._known_heads: dict[str, tuple[int, ...]] = {}

    def decode(self, requests: Sequence[Request]) -> list[Outcome]:
        """Replies in the order of the requests; an error in place of a reply that could not be made."""
        if any(request.options for request in requests):
            return self._choose(requests)
        if self.packed is None:
            batches = [requests[i : i + self.batch_size] for i in range(0, len(requests), self.batch_size)]
            return [reply for batch in batches for reply in self.plain.decode(batch)]
        replies: dict[int, Outcome] = {}
        order = sorted(range(len(requests)), key=lambda i: requests[i].group)
        with torch.inference_mode():
            for _, group in groupby(order, key=lambda i: requests[i].group):
                members = list(group)
                replies |= zip(members, self._decode_group([requests[i] for i in members]), strict=True)
        return [replies[i] for i in range(len(requests))]

    def _decode_group(self, requests: Sequence[Request]) -> list[Outcome]:
        """Decode requests of one group; with half the rows, from now on, if memory does not suffice."""
        try:
            return self._run_group(requests)
        except (RuntimeError, MemoryError) as error:
            rows = min(self.batch_size, len(requests))
            if rows == 1 or not _out_of_memory(error):
                raise
            self.batch_size = rows // 2
            logger.warning("out of memory with %d rows: going on with %d", rows, self.batch_size)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return self._decode_group(requests)

    def _run_group(self, requests: Sequence[Request]) -> list[Outcome]:
        """A batch that is refilled as rows finish, longest prompts first."""
        assert self.packed is not None
        rows = [Row(request, self.vocabulary) for request in requests]
        head = self._common_head(requests)
        tails = [list(request.input_ids[len(head) :]) for request in requests]
        width = min(self.batch_size, len(requests))
        longest = max(len(tail) + request.budget.max_length for tail, request in zip(tails, requests, strict=True))
        cache = TailCache(self.packed.layers, width, longest)
        cache.head = self._head_cache(head)
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
        with torch.inference_mode():
            shares = probabilities(prompts, [request.options for request in requests], self._next_logits)
        return [
            Reply("", array("I"), True, tuple(share))
            if all(map(math.isfinite, share))
            else JudgementError("the model gave no number for any option (NaN or infinite logits); try another dtype")
            for share in shares
        ]

    def _next_logits(self, sequences: Sequence[tuple[int, ...]]) -> torch.Tensor:
        """`(sequences, vocab)` logits after each sequence, in parts that fit; their common head is computed once."""
        width = self.batch_size
        parts = [sequences[start : start + width] for start in range(0, len(sequences), width)]
        if self.packed is None:
            return torch.cat([self.plain.next_logits(part) for part in parts])
        head = _shared(sequences) if len(sequences) > 1 else ()
        logits = []
        for part in parts:
            tails = [sequence[len(head) :] for sequence in part]
            cache = TailCache(self.packed.layers, len(part), max(map(len, tails)))
            cache.head = self._head_cache(head)
            for rows in _by_size(tails):
                logits.append(self.packed.run(cache, [tails[row] for row in rows], rows, [0] * len(rows)))
        return torch.cat(logits)

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

    def _common_head(self, requests: Sequence[Request]) -> tuple[int, ...]:
        """Token ids that all requests of the group begin with, those of earlier calls included."""
        group = requests[0].group
        known = self._known_heads.get(group)
        sequences = [request.input_ids for request in requests]
        if known is None and len(sequences) == 1:  # nothing to share yet: a whole prompt is no head
            self._known_heads[group] = sequences[0]
            return ()
        head = _shared(sequences if known is None else [*sequences, (*known, -1)])
        self._known_heads[group] = head
        return head

    def _head_cache(self, head: tuple[int, ...]) -> Sequence[Layer]:
        """Keys and values of a head, computed once and kept while they are among the last used."""
        if not head:
            return ()
        if head not in self._heads:
            assert self.packed is not None
            cache = TailCache(self.packed.layers, 1, len(head))
            self.packed.run(cache, [head], [0], [0])
            self._heads[head] = cache.copy_of(0, len(head))
        self._heads.move_to_end(head)
        while len(self._heads) > 1 and sum(map(len, self._heads)) > HEAD_TOKENS:
            self._heads.popitem(last=False)
        return self._heads[head]


def _shared(sequences: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The longest common beginning that leaves at least one token of each sequence."""
    first = min(sequences, key=len)[:-1]
    for sequence in sequences:
        parted = (i for i, (one, other) in enumerate(zip(first, sequence, strict=False)) if one != other)
        first = first[: next(parted, len(first))]
    return first


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


def _out_of_memory(error: Exception) -> bool:
    text = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in text
