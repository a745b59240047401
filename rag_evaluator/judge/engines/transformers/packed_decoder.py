"""Batched decoding under grammars: the common prefix of prompts computed once, forced tokens fed without sampling.

decode -> for each group of prompts with a common prefix: admit sequences, run, choose, until all are done
"""

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Generic, TypeVar

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
from rag_evaluator.judge.engines.transformers.tail_cache import Layer, TailCache
from rag_evaluator.judge.requests import Request, common_beginning

Ids = tuple[int, ...]
PREFIX_TOKENS = 8192  # of all prefixes whose keys and values are kept
NEARLY = 0.75  # of what sequences have in common: a kept prefix of that length is used as it is
Value = TypeVar("Value")
LEAST = 8  # tokens: to look up and copy fewer is not worth it
SEEN_TOKENS = 2**19  # of the tails whose ids are known
KEPT_TOKENS = 2**15  # of the beginnings whose keys and values are kept, if the memory holds as many


class PrefixCache:
    """Prefixes of groups of requests; the least recently used are removed first."""

    def __init__(self, packed: PackedModel) -> None:
        self.packed = packed
        self.computed = 0  # tokens, ever
        self._kept: OrderedDict[Ids, Sequence[Layer]] = OrderedDict()
        self._known: dict[str, Ids] = {}
        self._lone: dict[str, Ids] = {}  # the only prompt of its group so far

    def shared_by(self, requests: Sequence[Request]) -> Iterator[tuple[Ids, list[int]]]:
        """Prefixes, and the positions of the requests that begin with them; each request once.

        A prompt that differs from the others of its group early (its data spells a control token, for instance) is
        handled apart, so that it does not shorten the prefix of all later ones.
        """
        groups: dict[str, list[int]] = {}
        for position, request in enumerate(requests):
            groups.setdefault(request.group, []).append(position)
        for group, members in sorted(groups.items()):
            sequences = [requests[position].input_ids for position in members]
            alike = self._alike(group, sequences)
            for name, chosen in ((group, True), (f"{group} apart", False)):
                part = [index for index, usual in enumerate(alike) if usual == chosen]
                if part:
                    yield self._common(name, [sequences[i] for i in part]), [members[i] for i in part]

    def _alike(self, group: str, sequences: Sequence[Ids]) -> list[bool]:
        """Whether each sequence shares at least half of the prefix that is usual in its group."""
        if group in self._known:
            model = self._known[group]
            usual = len(model)
        else:
            model = sorted(sequences)[len(sequences) // 2]  # most are alike, so the one in the middle is
            usual = int(median(len(common_beginning([model, sequence])) for sequence in sequences))
        return [2 * len(common_beginning([model, sequence])) >= usual for sequence in sequences]

    def _common(self, group: str, sequences: Sequence[Ids]) -> Ids:
        """Token ids that all of the sequences begin with, those of earlier calls included."""
        if group in self._known:
            sequences = [*sequences, (*self._known[group], -1)]
        elif len(sequences) == 1 and group not in self._lone:  # nothing to share yet: a whole prompt is no prefix
            self._lone[group] = sequences[0]
            return ()
        else:
            sequences = [*sequences, self._lone.pop(group, sequences[0])]
        self._known[group] = shared(sequences)
        return self._known[group]

    def kept_by(self, sequences: Sequence[Ids]) -> Ids:
        """What the sequences begin with; a kept prefix, where it is nearly all of that.

        So a batch whose sequences begin alike by chance does not need a prefix of its own. For one sequence alone no
        prefix is computed, but a kept one is used.
        """
        common = shared(sequences)
        kept = max((prefix for prefix in self._kept if common[: len(prefix)] == prefix), key=len, default=())
        return kept if len(sequences) == 1 or len(kept) >= NEARLY * len(common) else common

    def cache(self, prefix: Ids) -> Sequence[Layer]:
        """Keys and values of a prefix, computed once and kept while they are among the last used."""
        if not prefix:
            return ()
        if prefix not in self._kept:
            cache = TailCache(self.packed.layers, 1, len(prefix))
            self.packed.run(cache, [prefix], [0], [0])
            self.computed += len(prefix)
            self._kept[prefix] = cache.copy_of(0, len(prefix))
        self._kept.move_to_end(prefix)
        while len(self._kept) > 1 and sum(map(len, self._kept)) > PREFIX_TOKENS:
            self._kept.popitem(last=False)
        return self._kept[prefix]


def shared(sequences: Sequence[Ids]) -> Ids:
    """The longest common beginning that leaves at least one token of each sequence."""
    return common_beginning(sequences)[: min(map(len, sequences)) - 1]


class Beginnings(Generic[Value]):
    """Token sequences with values, found by what they begin with; the least recently used are removed first.

    Args:
        most: tokens in sum, prefixes apart.

    Attributes:
        tokens: how many there are now.
    """

    def __init__(self, most: int) -> None:
        self.most, self.tokens = most, 0
        self._values: OrderedDict[tuple[Ids, Ids], Value] = OrderedDict()
        self._sorted: dict[Ids, list[Ids]] = {}  # tails by prefix

    def nearest(self, prefix: Ids, tail: Ids) -> tuple[int, Value | None]:
        """How many tokens a tail has in common with the most similar one after the same prefix, and its value."""
        tails = self._sorted.get(prefix, [])
        place = bisect_left(tails, tail)  # of all tails in order, the two beside it have most in common with it
        beside = [(len(common_beginning([tail, other])), other) for other in tails[max(place - 1, 0) : place + 1]]
        length, other = max(beside, default=(0, ()))
        if not length:
            return 0, None
        self._values.move_to_end((prefix, other))
        return length, self._values[prefix, other]

    def add(self, prefix: Ids, tail: Ids, value: Value) -> None:
        """Keep a tail and remove the oldest ones; one that is longer than all that may be kept is not kept."""
        if (prefix, tail) in self._values or len(tail) > self.most:
            return
        self._values[prefix, tail] = value
        insort(self._sorted.setdefault(prefix, []), tail)
        self.tokens += len(tail)
        while self.tokens > self.most:
            self._remove_oldest()

    def _remove_oldest(self) -> None:
        (prefix, tail), _ = self._values.popitem(last=False)
        self.tokens -= len(tail)
        tails = self._sorted[prefix]
        del tails[bisect_left(tails, tail)]
        if not tails:
            del self._sorted[prefix]


class KeptBeginnings:
    """Keys and values of the beginnings of tails.

    Args:
        room: bytes that they may take.
        slot_bytes: what those of one token take; 0 if it is not known.
    """

    def __init__(self, room: int, slot_bytes: int) -> None:
        self.seen: Beginnings[None] = Beginnings(SEEN_TOKENS)
        self.kept: Beginnings[Sequence[Layer]] = Beginnings(
            min(KEPT_TOKENS, room // slot_bytes) if slot_bytes else KEPT_TOKENS
        )

    def fill(self, cache: TailCache, row: int, prefix: Ids, tail: Ids) -> int:
        """Copy what is kept of a tail's beginning to a row; how many tokens that is, at least one less than all."""
        length, layers = self.kept.nearest(prefix, tail)
        length = min(length, len(tail) - 1)
        if layers is None or length < LEAST:
            return 0
        cache.put(row, [(keys[:, :length], values[:, :length]) for keys, values in layers])
        return length

    def learn(self, cache: TailCache, row: int, prefix: Ids, tail: Ids, filled: int) -> None:
        """Keep the beginning of a row that was computed, if an earlier tail had it, too.

        Args:
            filled: tokens of it that were known already.
        """
        length, _ = self.seen.nearest(prefix, tail)
        self.seen.add(prefix, tail, None)
        if length - filled >= LEAST:
            self.kept.add(prefix, tail[:length], cache.copy_of(row, length))


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
