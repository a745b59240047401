"""Batched decoding under grammars: the common prefix of prompts computed once, forced tokens fed without sampling.

decode -> for each group of prompts with a common prefix: admit sequences, run, choose, until all are done
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from rag_evaluator.judge.encoding.sequence import Chooser, new_sequence
from rag_evaluator.judge.encoding.vocabulary import Vocabulary
from rag_evaluator.judge.engines.transformers.decoder import (
    ActiveSequence,
    BatchSize,
    BatchSizeSetting,
    Outcome,
    free_bytes,
)
from rag_evaluator.judge.engines.transformers.packed import PackedModel
from rag_evaluator.judge.engines.transformers.prefixes import KeptBeginnings, PrefixCache
from rag_evaluator.judge.engines.transformers.tail_cache import TailCache
from rag_evaluator.judge.requests import Request

KEPT_SHARE = 0.125  # of the free memory may hold beginnings that several questions have in common
PREFILL_TOKENS = 4096  # packed in one pass at most, so that memory stays bounded


@dataclass
class PackedSequence(ActiveSequence):
    """A sequence of the running batch: its row of the cache, and the tail slots it has filled."""

    position: int
    filled: int = 0


class PackedDecoder:
    """Decodes packed sequences, with the prefix that they share computed once; a `Decoder`.

    Args:
        packed: the model.
        vocabulary: of its tokenizer.
        batch_size: sequences decoded together, if the memory that the model leaves holds as many; see `BatchSize.of`.
    """

    path = "packed"
    alone: str | None = None

    def __init__(self, packed: PackedModel, vocabulary: Vocabulary, batch_size: BatchSizeSetting = "auto") -> None:
        self.packed, self.vocabulary = packed, vocabulary
        self.chooser = Chooser(vocabulary)
        self.prefixes = PrefixCache(packed)
        self.beginnings = KeptBeginnings(int(KEPT_SHARE * free_bytes(packed.model)), packed.slot_bytes)
        self.batch_size = BatchSize.of(packed.model, batch_size, packed.slot_bytes)
        self._tails = 0  # tokens of prompts computed, prefixes apart

    @property
    def computed(self) -> int:
        return self._tails + self.prefixes.computed

    def decode(self, requests: Sequence[Request]) -> list[Outcome]:
        replies: dict[int, Outcome] = {}
        for prefix, members in self.prefixes.shared_by(requests):
            outcomes = self.batch_size.run_or_halve(partial(self._run_group, prefix), [requests[i] for i in members])
            replies |= zip(members, outcomes, strict=True)
        return [replies[i] for i in range(len(requests))]

    def next_logits(self, sequences: Sequence[tuple[int, ...]]) -> torch.Tensor:
        """`(sequences, vocab)` logits after each sequence; what they have in common is computed once."""
        return torch.stack(self.batch_size.run_or_halve(self._logits, sequences))

    def _run_group(self, prefix: tuple[int, ...], requests: Sequence[Request]) -> list[Outcome]:
        """Decode requests that begin with a prefix: the batch is refilled as sequences end, longest first."""
        sequences = [new_sequence(request, self.vocabulary) for request in requests]
        tails = [list(request.input_ids[len(prefix) :]) for request in requests]
        longest = max(len(tail) + request.budget.max_length for tail, request in zip(tails, requests, strict=True))
        width = min(self.batch_size.that_fit(longest), len(requests))
        cache = TailCache(self.packed.layers, width, longest)
        cache.prefix = self.prefixes.cache(prefix)
        self._tails += sum(map(len, tails))
        order = sorted(range(len(sequences)), key=lambda i: len(tails[i]))
        active: list[PackedSequence] = []
        while order or active:
            newcomers: list[PackedSequence] = []
            while order and len(active) + len(newcomers) < width:
                index = order.pop()
                newcomers.append(PackedSequence(sequences[index], tails[index], len(active) + len(newcomers)))
                newcomers[-1].follow()
            for part in _by_size([entry.feed for entry in newcomers]):
                self._advance(cache, [newcomers[index] for index in part])
            active = _in_place(cache, active + newcomers)
            self._advance(cache, active)
            active = _in_place(cache, active)
        return [sequence.reply() for sequence in sequences]

    def _logits(self, sequences: Sequence[tuple[int, ...]]) -> list[torch.Tensor]:
        prefix = self.prefixes.kept_by(sequences)
        tails = [sequence[len(prefix) :] for sequence in sequences]
        width = min(self.batch_size.that_fit(max(map(len, tails))), len(tails))
        logits: list[torch.Tensor] = []
        for start in range(0, len(tails), width):
            logits += self._tail_logits(prefix, tails[start : start + width])
        return logits

    def _tail_logits(self, prefix: tuple[int, ...], tails: Sequence[tuple[int, ...]]) -> list[torch.Tensor]:
        """Logits after tails that fit into memory together; what earlier ones began with is not computed again."""
        cache = TailCache(self.packed.layers, len(tails), max(map(len, tails)))
        cache.prefix = self.prefixes.cache(prefix)
        filled = [self.beginnings.fill(cache, row, prefix, tail) for row, tail in enumerate(tails)]
        feeds = [tail[start:] for tail, start in zip(tails, filled, strict=True)]
        logits: list[torch.Tensor] = []
        for rows in _by_size(feeds):
            logits += self.packed.run(cache, [feeds[row] for row in rows], rows, [filled[row] for row in rows])
        for row, tail in enumerate(tails):
            self.beginnings.learn(cache, row, prefix, tail, filled[row])
        self._tails += sum(map(len, feeds))
        return logits

    def _advance(self, cache: TailCache, active: Sequence[PackedSequence]) -> None:
        """One forward pass over the tokens to be fed, and the choice of each sequence's next token."""
        active = [entry for entry in active if not entry.sequence.done]
        if not active:
            return
        feeds, positions, filled = zip(*((entry.feed, entry.position, entry.filled) for entry in active), strict=True)
        logits = self.packed.run(cache, feeds, positions, filled)
        tokens = self.chooser.choose([entry.sequence for entry in active], logits)
        for entry, token in zip(active, tokens, strict=True):
            entry.filled += len(entry.feed)
            if entry.sequence.failure is not None:
                cache.clear(entry.position)
                continue
            entry.take(token)


def _by_size(feeds: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Indices of the feeds in parts that are small enough for one pass, a longer one alone."""
    part: list[int] = []
    for index, feed in enumerate(feeds):
        if part and sum(len(feeds[other]) for other in part) + len(feed) > PREFILL_TOKENS:
            yield part
            part = []
        part.append(index)
    if part:
        yield part


def _in_place(cache: TailCache, active: Sequence[PackedSequence]) -> list[PackedSequence]:
    """The sequences that go on, moved up so that their rows of the cache are the first ones."""
    going_on = [entry for entry in active if not entry.sequence.done]
    holes = sorted(set(range(len(going_on))) - {entry.position for entry in going_on})
    for entry in going_on:
        if entry.position >= len(going_on):
            target = holes.pop()
            cache.move(entry.position, target, entry.filled)
            entry.position = target
    return sorted(going_on, key=lambda entry: entry.position)
