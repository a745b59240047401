"""Decoding of padded batches, for any causal model: in the model's own cache, or by transformers' `generate`."""

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import torch

from rag_evaluator.judge.encoding.sequence import Chooser, new_sequence
from rag_evaluator.judge.encoding.vocabulary import Vocabulary
from rag_evaluator.judge.engines.transformers.attention import rope_switch, why_alone
from rag_evaluator.judge.engines.transformers.decoder import ActiveSequence, BatchSize, BatchSizeSetting, Outcome
from rag_evaluator.judge.engines.transformers.plain import ByGenerate, CachedRows, find_cache_use
from rag_evaluator.judge.requests import Request

if TYPE_CHECKING:
    from transformers import PreTrainedModel

logger = logging.getLogger(__name__)
Item = TypeVar("Item")
Answer = TypeVar("Answer")


class PlainDecoder:
    """Decodes padded batches; a `Decoder`.

    Args:
        model: a causal language model.
        vocabulary: of its tokenizer.
        padding: token id for padding, never seen by the model.
        window: tokens of prompt and answer together that the model can read.
        batch_size: sequences decoded together, unless an answer depends on its neighbours; see `BatchSize.of`.

    Attributes:
        together: tokens of a row in one pass at most, after its prompt; 0: the batch is left to `generate`.
    """

    path = "plain"

    def __init__(
        self,
        model: "PreTrainedModel",
        vocabulary: Vocabulary,
        padding: int,
        window: int,
        batch_size: BatchSizeSetting = 1,
    ) -> None:
        self.model, self.vocabulary, self.window = model, vocabulary, window
        self.generate = ByGenerate(model, padding)
        self.chooser = Chooser(vocabulary)
        self.switch = rope_switch(model.config.get_text_config())
        self.computed = 0
        self.alone = why_alone(model, self.logits, window) if batch_size != 1 else None
        if self.alone:
            logger.warning(
                "judge: each row is decoded alone (judge.batch_size: 1), because of this model: %s", self.alone
            )
        asked: BatchSizeSetting = 1 if self.alone else batch_size
        cache_use = find_cache_use(self.generate, window, alone=asked == 1)
        self.together = cache_use.together
        self.batch_size = BatchSize.of(model, asked, cache_use.slot_bytes, cache_use.row_bytes)

    def decode(self, requests: Sequence[Request]) -> list[Outcome]:
        """Replies in the order of the requests. Prompts are padded on the left: neighbours do not matter."""
        self.computed += sum(len(request.input_ids) for request in requests)
        lengths = [(len(request.input_ids), request.budget.max_length) for request in requests]
        return self._in_parts(self._decode, requests, lengths)

    def next_logits(self, sequences: Sequence[tuple[int, ...]]) -> torch.Tensor:
        self.computed += sum(map(len, sequences))
        lengths = [(len(sequence), 1) for sequence in sequences]
        return torch.stack(self._in_parts(lambda part: list(self.logits(part)[:, 0]), sequences, lengths))

    def logits(self, sequences: Sequence[tuple[int, ...]], steps: int = 1) -> torch.Tensor:
        """See `ByGenerate.logits`."""
        return self.generate.logits(sequences, steps)

    def _in_parts(
        self,
        handle: Callable[[Sequence[Item]], list[Answer]],
        items: Sequence[Item],
        lengths: Sequence[tuple[int, int]],
    ) -> list[Answer]:
        """What `handle` makes of the items, as many at a time as fit, the longest first: little is padding.

        Args:
            lengths: tokens of prompt and answer of each item.
        """
        answers: dict[int, Answer] = {}

        def handle_parts(indices: Sequence[int]) -> list[Answer]:
            left = list(indices)
            while left:
                batch = left[: self.batch_size.that_fit(sum(lengths[left[0]]))]
                left = left[len(batch) :]
                for part in independent_parts([lengths[index] for index in batch], self.window, self.switch):
                    chosen = [batch[place] for place in part]
                    answers.update(zip(chosen, handle([items[index] for index in chosen]), strict=True))
            return [answers[index] for index in indices]

        order = sorted(range(len(items)), key=lambda index: -lengths[index][0])
        self.batch_size.run_or_halve(handle_parts, order)
        return [answers[index] for index in range(len(items))]

    def _decode(self, requests: Sequence[Request]) -> list[Outcome]:
        """Replies to one batch."""
        sequences = [new_sequence(request, self.vocabulary) for request in requests]
        if not self.together:
            self.generate.decode(sequences, self.chooser)
            return [sequence.reply() for sequence in sequences]
        entries = [ActiveSequence(sequence, list(sequence.request.input_ids)) for sequence in sequences]
        for entry in entries:
            entry.follow()
        prompts = [tuple(entry.feed) for entry in entries]
        decode_rows(CachedRows(self.model, *self.generate.padded(prompts)), entries, self.chooser, self.together)
        return [sequence.reply() for sequence in sequences]


def decode_rows(rows: CachedRows, entries: Sequence[ActiveSequence], chooser: Chooser, together: int) -> None:
    """Decode one batch until all of its rows are done; a row that is done is left out of the passes that follow.

    All rows of a pass get as many tokens: where each has forced tokens to be fed, these go in one pass.

    Args:
        rows: the prompts and what was forced at the beginning, computed.
        entries: of the rows; their feeds are computed.
        together: tokens of a row in one pass at most.
    """
    ready, active = list(range(len(entries))), list(entries)
    while True:
        waiting = [index for index in ready if not active[index].sequence.done]
        if waiting:
            tokens = chooser.choose([active[index].sequence for index in waiting], rows.logits[waiting])
            for index, token in zip(waiting, tokens, strict=True):
                if active[index].sequence.failure is None:
                    active[index].take(token)
        going_on = [index for index, entry in enumerate(active) if not entry.sequence.done]
        if not going_on:
            return
        if len(going_on) < len(active):
            rows.keep(going_on)
            active = [active[index] for index in going_on]
        count = min(together, *(len(entry.feed) for entry in active))
        rows.feed([entry.feed[:count] for entry in active])
        ready = [index for index, entry in enumerate(active) if len(entry.feed) == count]
        for entry in active:
            entry.feed = entry.feed[count:]


def independent_parts(lengths: Sequence[tuple[int, int]], window: int, switch: int | None) -> list[list[int]]:
    """Indices of sequences, in parts in which no sequence changes another's answer.

    A sequence may go on until the longest answer of its part is complete, so none may pass the model's window then, nor
    the length at which its rope changes. Those that are longer from the start stay together; one that reaches this
    length while it is written is decoded alone.

    Args:
        lengths: tokens of prompt and answer of each sequence.
        window: tokens of prompt and answer together that the model can read.
        switch: see `rope_switch`.
    """
    indices = list(range(len(lengths)))
    if switch is None:
        return _within(indices, lengths, window)
    past = [index for index in indices if lengths[index][0] > switch]
    before = [index for index in indices if lengths[index][0] <= switch]
    limit = min(window, switch + 1)  # the last token is written, but not read
    return _within(past, lengths, window) + _within(before, lengths, limit)


def _within(indices: list[int], lengths: Sequence[tuple[int, int]], limit: int) -> list[list[int]]:
    """Indices in parts in which each prompt and the longest answer of the part stay within a limit, or alone."""
    if len(indices) < 2:
        return [indices] if indices else []
    longest = max(lengths[index][1] for index in indices)
    tight = [index for index in indices if lengths[index][0] + longest > limit]
    if not tight:
        return [indices]
    loose = [index for index in indices if index not in tight]
    first, second = (loose, tight) if loose else (indices[: len(indices) // 2], indices[len(indices) // 2 :])
    return _within(first, lengths, limit) + _within(second, lengths, limit)
