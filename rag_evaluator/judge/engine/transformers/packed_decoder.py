"""Batched decoding under grammars: the common prefix of prompts computed once, forced tokens fed without sampling.

decode -> for each group of prompts with a common prefix: admit rows, run, choose, until all are done
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from rag_evaluator.judge.engine.transformers.decoder import Outcome
from rag_evaluator.judge.engine.transformers.memory import SHARE, Rows, free_bytes
from rag_evaluator.judge.engine.transformers.packed import PackedModel, TailCache
from rag_evaluator.judge.engine.transformers.prefix_cache import PrefixCache, shared
from rag_evaluator.judge.engine.transformers.sequence import Chooser, Row, Vocabulary
from rag_evaluator.judge.requests import Request

PREFILL_TOKENS = 4096  # packed in one pass at most, so that memory stays bounded


@dataclass
class Active:
    """A row of the running batch: its answer, the tokens to be fed next, and the tail slots it has filled."""

    row: Row
    position: int
    feed: list[int]
    filled: int = 0

    def follow(self) -> None:
        """Take what the grammar forces next, so that it is fed in the same pass."""
        while forced := self.row.next_forced():
            token = forced[0]
            self.row.push(token)
            self.feed.append(token)


class PackedDecoder:
    """Decodes rows that are packed into one sequence, with the prefix that they share computed once; a `Decoder`.

    Args:
        packed: the model.
        vocabulary: of its tokenizer.
        batch_size: rows decoded together, if the memory that the model leaves holds as many.
    """

    path = "packed"
    alone: str | None = None

    def __init__(self, packed: PackedModel, vocabulary: Vocabulary, batch_size: int = 16) -> None:
        self.packed, self.vocabulary = packed, vocabulary
        self.chooser = Chooser(vocabulary)
        self.prefixes = PrefixCache(packed)
        self.rows = Rows(batch_size, int(SHARE * free_bytes(packed.model)), packed.slot_bytes)
        self._tails = 0  # tokens of prompts computed, prefixes apart

    @property
    def computed(self) -> int:
        return self._tails + self.prefixes.computed

    def decode(self, requests: Sequence[Request]) -> list[Outcome]:
        replies: dict[int, Outcome] = {}
        for prefix, members in self.prefixes.shared_by(requests):
            outcomes = self.rows.halving(partial(self._run_group, prefix), [requests[i] for i in members])
            replies |= zip(members, outcomes, strict=True)
        return [replies[i] for i in range(len(requests))]

    def next_logits(self, sequences: Sequence[tuple[int, ...]]) -> torch.Tensor:
        """`(sequences, vocab)` logits after each sequence; their common prefix is computed once."""
        return torch.stack(self.rows.halving(self._logits, sequences))

    def _run_group(self, prefix: tuple[int, ...], requests: Sequence[Request]) -> list[Outcome]:
        """Decode requests that begin with a prefix: a batch that is refilled as rows finish, longest prompts first."""
        rows = [Row(request, self.vocabulary) for request in requests]
        tails = [list(request.input_ids[len(prefix) :]) for request in requests]
        longest = max(len(tail) + request.budget.max_length for tail, request in zip(tails, requests, strict=True))
        width = min(self.rows.that_fit(longest), len(requests))
        cache = TailCache(self.packed.layers, width, longest)
        cache.prefix = self.prefixes.cache(prefix)
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

    def _logits(self, sequences: Sequence[tuple[int, ...]]) -> list[torch.Tensor]:
        prefix = shared(sequences) if len(sequences) > 1 else ()
        tails = [sequence[len(prefix) :] for sequence in sequences]
        width = min(self.rows.that_fit(max(map(len, tails))), len(tails))
        logits: list[torch.Tensor] = []
        for start in range(0, len(tails), width):
            part = tails[start : start + width]
            cache = TailCache(self.packed.layers, len(part), max(map(len, part)))
            cache.prefix = self.prefixes.cache(prefix)
            for rows in _by_size(part):
                logits += self.packed.run(cache, [part[row] for row in rows], rows, [0] * len(rows))
        self._tails += sum(map(len, tails))
        return logits

    def _advance(self, cache: TailCache, active: Sequence[Active]) -> None:
        """One forward pass over the tokens to be fed, and the choice of each row's next one."""
        active = [one for one in active if not one.row.done]
        if not active:
            return
        feeds, positions, filled = zip(*((one.feed, one.position, one.filled) for one in active), strict=True)
        logits = self.packed.run(cache, feeds, positions, filled)
        tokens = self.chooser.choose([one.row for one in active], logits)
        for one, token in zip(active, tokens, strict=True):
            one.filled += len(one.feed)
            if one.row.failure is not None:
                cache.clear(one.position)
                continue
            one.row.push(token)
            one.feed = [token]
            one.follow()


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
