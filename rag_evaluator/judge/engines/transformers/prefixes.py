"""Prefixes of prompts and beginnings of tails whose keys and values are kept, so that they are computed once."""

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Generic, TypeVar

from rag_evaluator.judge.protocol import Ids, Request, common_beginning

from .attention import Layer, TailCache

NEARLY = 0.75  # of what sequences have in common: a kept prefix of that length is used as it is
LEAST = 8  # tokens: to look up and copy fewer is not worth it
WORTH_WAITING = 64  # tokens in common with a tail of the same batch, for which a second pass is made
SEEN_TOKENS = 2**19  # of the tails whose ids are known
KEPT_TOKENS = 2**15  # of the beginnings whose keys and values are kept, if the memory holds as many
Value = TypeVar("Value")


class PrefixCache:
    """Prefixes of groups of requests; the least recently used are removed first.

    Args:
        compute: keys and values of a prefix.
    """

    most = 8192  # tokens of all that are kept

    def __init__(self, compute: Callable[[Ids], Sequence[Layer]]) -> None:
        self.compute = compute
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
        elif len(sequences) == 1 and group not in self._lone:  # what it shares with later ones is a part of this
            self._lone[group] = sequences[0]
            return shared(sequences)
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
            end = len(prefix)
            longer = next((layers for kept, layers in self._kept.items() if kept[:end] == prefix), None)
            if longer is None:
                self._kept[prefix] = self.compute(prefix)
                self.computed += end
            else:
                self._kept[prefix] = [(keys[:, :end].clone(), values[:, :end].clone()) for keys, values in longer]
        self._kept.move_to_end(prefix)
        while len(self._kept) > 1 and sum(map(len, self._kept)) > self.most:
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
        self.most = most
        self.tokens = 0
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


def leaders_of(tails: Sequence[Ids], filled: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Rows whose tails begin as another one: that row, and the tokens that both have in common, but for the last one.

    Args:
        filled: tokens of each tail that are known already; a tail is led only where it gains `WORTH_WAITING` tokens.
    """
    led: dict[int, tuple[int, int]] = {}
    leader: int | None = None
    for row in sorted(range(len(tails)), key=lambda row: tails[row]):
        if leader is not None:
            common = min(len(common_beginning([tails[leader], tails[row]])), len(tails[row]) - 1)
            if common - filled[row] >= WORTH_WAITING:
                led[row] = leader, common
                continue
        leader = row
    return led


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
