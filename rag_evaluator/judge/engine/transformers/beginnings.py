"""What questions have in common beyond the prefix of their batch, the first context of many comparisons: kept.

A tail is what follows the prefix. As soon as two tails have begun alike, the keys and values of their beginning are
kept, and copied to the rows of later tails that begin so. What was seen once only costs no memory but its token ids.
"""

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Sequence
from typing import Generic, TypeVar

from rag_evaluator.judge.engine.transformers.packed import Layer, TailCache
from rag_evaluator.judge.requests import common_beginning

Ids = tuple[int, ...]
Value = TypeVar("Value")
LEAST = 8  # tokens: to look up and copy fewer is not worth it
SEEN_TOKENS = 2**19  # of the tails whose ids are known
KEPT_TOKENS = 2**15  # of the beginnings whose keys and values are kept, if the memory holds as many


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
