"""Where the packed tokens of one forward pass belong, and which keys they may see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Seen:
    """Which of some keys the packed tokens see.

    Attributes:
        first: the keys before this one are seen by no token, and are not read.
        mask: 0 where a token sees a key, else -inf; None: each token sees all keys that are read.
        tokens: `(tokens,)` indices of the packed tokens that see any of the keys; None: all do. No other tokens take
            part: kernels do not agree on what the attention to nothing is (the one for CPUs gives a log-sum-exp of 0).
    """

    first: int = 0
    mask: torch.Tensor | None = None
    tokens: torch.Tensor | None = None


class Step:
    """The packed tokens of one forward pass, on one device.

    A token at position p of its sequence sees the keys at the positions from p - window + 1 to p.

    Args:
        counts: tokens of each row that takes part.
        rows: rows of the cache.
        starts: slots of its tail that each row has filled before.
        prefix: tokens of the prefix that all rows begin with.

    Attributes:
        rows: `(tokens,)` row of the cache each token belongs to.
        slots: `(tokens,)` position of each token in its row's tail.
        place: `(tokens,)` x 2, row and column of each token in the padded view that attention uses.
        shape: rows and columns of that view.
        cached: the rows of the cache that take part, as a slice or as indices.
        length: tail slots that are filled afterwards, in the longest row.
    """

    def __init__(
        self, counts: Sequence[int], rows: Sequence[int], starts: Sequence[int], prefix: int, device: torch.device
    ) -> None:
        self.prefix, self.device = prefix, device
        self.shape = len(counts), max(counts)
        ends = [start + count for start, count in zip(starts, counts, strict=True)]
        self.length, self._earliest = max(ends), min(starts)
        column = torch.cat([torch.arange(count) for count in counts])
        view = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
        self._slots, self._place = torch.tensor(starts)[view] + column, (view, column)  # on the CPU
        self.rows, self.slots = torch.tensor(rows)[view].to(device), self._slots.to(device)
        self.place = view.to(device), column.to(device)
        in_order = list(rows) == list(range(rows[0], rows[0] + len(rows)))
        self.cached: slice | torch.Tensor = torch.tensor(rows, device=device)
        if in_order:
            self.cached = slice(rows[0], rows[0] + len(rows))
        self._known: dict[Any, Seen | None] = {}  # layers with the same window see the same

    def tail(self, window: int | None, group: int, dtype: torch.dtype) -> Seen:
        """What the tokens see of the tail of their own row: themselves at least.

        Args:
            group: heads that share keys; their queries are put into one dimension.

        The mask is `(rows, 1, group * columns, slots)`. The padding of the view sees something, too, as no row of a
        mask may be empty.
        """
        seen = self._once(("tail", window, group, dtype), lambda: self._tail(window, group, dtype))
        assert seen is not None
        return seen

    def of_prefix(self, window: int | None, group: int, dtype: torch.dtype) -> Seen | None:
        """What the tokens see of the prefix, with a mask `(1, 1, group * tokens, slots)`; None: nothing."""
        return self._once(("prefix", window, group, dtype), lambda: self._of_prefix(window, group, dtype))

    def _once(self, key: Any, make: Callable[[], Seen | None]) -> Seen | None:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def _tail(self, window: int | None, group: int, dtype: torch.dtype) -> Seen:
        rows, columns = self.shape
        first = 0 if window is None else max(0, self._earliest - window + 1)
        queries = torch.full((rows, columns, 1), self.length - 1)
        queries[self._place] = self._slots[:, None]
        keys = torch.arange(first, self.length)
        hidden = keys > queries
        if window is not None:
            hidden |= keys <= queries - window
        return Seen(first, self._mask(hidden[:, None].expand(rows, group, *hidden.shape[1:]), rows, dtype))

    def _of_prefix(self, window: int | None, group: int, dtype: torch.dtype) -> Seen | None:
        if not self.prefix:
            return None
        if window is None or self.prefix + self.length <= window:
            return Seen()
        seeing = self._slots < window - 1
        if not seeing.any():
            return None
        first = max(0, self.prefix + self._earliest - window + 1)
        queries = self.prefix + self._slots[seeing]
        hidden = torch.arange(first, self.prefix) <= queries[:, None] - window
        tokens = None if seeing.all() else seeing.nonzero()[:, 0].to(self.device)
        return Seen(first, self._mask(hidden.expand(group, *hidden.shape), 1, dtype), tokens)

    def _mask(self, hidden: torch.Tensor, rows: int, dtype: torch.dtype) -> torch.Tensor:
        """`hidden` is `(..., queries, slots)`; the dimensions before the last are put into one, in each row."""
        flat = hidden.reshape(rows, 1, -1, hidden.shape[-1])
        return torch.zeros(flat.shape, dtype=dtype).masked_fill_(flat, float("-inf")).to(self.device)
