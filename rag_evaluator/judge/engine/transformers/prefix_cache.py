"""The common prefixes of prompts: compared as token ids, their keys and values computed once and kept."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from statistics import median

from rag_evaluator.judge.engine.transformers.packed import Layer, PackedModel, TailCache
from rag_evaluator.judge.requests import Request, common_beginning

Ids = tuple[int, ...]
PREFIX_TOKENS = 8192  # of all prefixes whose keys and values are kept
NEARLY = 0.75  # of what sequences have in common: a kept prefix of that length is used as it is


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
