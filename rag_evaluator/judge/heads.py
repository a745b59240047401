"""The common beginnings of prompts: found on token ids, their keys and values computed once and kept."""

from collections import OrderedDict
from collections.abc import Sequence

from rag_evaluator.judge.packed import Layer, PackedModel, TailCache
from rag_evaluator.judge.requests import Request, common_beginning

HEAD_TOKENS = 8192  # of all heads whose keys and values are kept


class Heads:
    """Heads of groups of requests; the least recently used go first."""

    def __init__(self, packed: PackedModel) -> None:
        self.packed = packed
        self.computed = 0  # tokens, ever
        self._kept: OrderedDict[tuple[int, ...], Sequence[Layer]] = OrderedDict()
        self._known: dict[str, tuple[int, ...]] = {}

    def common(self, requests: Sequence[Request]) -> tuple[int, ...]:
        """Token ids that all requests of the group begin with, those of earlier calls included."""
        group = requests[0].group
        known = self._known.get(group)
        sequences = [request.input_ids for request in requests]
        if known is None and len(sequences) == 1:  # nothing to share yet: a whole prompt is no head
            self._known[group] = sequences[0]
            return ()
        head = shared(sequences if known is None else [*sequences, (*known, -1)])
        self._known[group] = head
        return head

    def cache(self, head: tuple[int, ...]) -> Sequence[Layer]:
        """Keys and values of a head, computed once and kept while they are among the last used."""
        if not head:
            return ()
        if head not in self._kept:
            cache = TailCache(self.packed.layers, 1, len(head))
            self.packed.run(cache, [head], [0], [0])
            self.computed += len(head)
            self._kept[head] = cache.copy_of(0, len(head))
        self._kept.move_to_end(head)
        while len(self._kept) > 1 and sum(map(len, self._kept)) > HEAD_TOKENS:
            self._kept.popitem(last=False)
        return self._kept[head]


def shared(sequences: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The longest common beginning that leaves at least one token of each sequence."""
    return common_beginning(sequences)[: min(map(len, sequences)) - 1]
