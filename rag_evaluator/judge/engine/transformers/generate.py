"""Decoding of padded batches, for any causal model: in the model's own cache, or by transformers' `generate`."""

import logging
from collections import abc
from typing import TYPE_CHECKING, TypeVar

import torch

from rag_evaluator.judge.engine.transformers.by_generate import ByGenerate
from rag_evaluator.judge.engine.transformers.cached_rows import CachedRows
from rag_evaluator.judge.engine.transformers.continuing import how_it_continues
from rag_evaluator.judge.engine.transformers.decoder import Outcome
from rag_evaluator.judge.engine.transformers.feeding import Fed
from rag_evaluator.judge.engine.transformers.memory import Asked, BatchSize
from rag_evaluator.judge.engine.transformers.neighbours import rope_switch, why_alone
from rag_evaluator.judge.engine.transformers.parts import parts_of
from rag_evaluator.judge.engine.transformers.plain_loop import decode_rows
from rag_evaluator.judge.engine.transformers.sequence import Chooser, Vocabulary, decoded
from rag_evaluator.judge.requests import Request

if TYPE_CHECKING:
    from transformers import PreTrainedModel

logger = logging.getLogger(__name__)
Item = TypeVar("Item")
Answer = TypeVar("Answer")


class GenerateDecoder:
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
        self, model: "PreTrainedModel", vocabulary: Vocabulary, padding: int, window: int, batch_size: Asked = 1
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
        asked: Asked = 1 if self.alone else batch_size
        found = how_it_continues(self.generate, window, alone=asked == 1)
        self.together = found.together
        self.batch_size = BatchSize.of(model, asked, found.slot_bytes, found.row_bytes)

    def decode(self, requests: abc.Sequence[Request]) -> list[Outcome]:
        """Replies in the order of the requests. Prompts are padded on the left: neighbours do not matter."""
        self.computed += sum(len(request.input_ids) for request in requests)
        lengths = [(len(request.input_ids), request.budget.max_length) for request in requests]
        return self._in_parts(self._decode, requests, lengths)

    def next_logits(self, sequences: abc.Sequence[tuple[int, ...]]) -> torch.Tensor:
        self.computed += sum(map(len, sequences))
        lengths = [(len(sequence), 1) for sequence in sequences]
        return torch.stack(self._in_parts(lambda part: list(self.logits(part)[:, 0]), sequences, lengths))

    def logits(self, sequences: abc.Sequence[tuple[int, ...]], steps: int = 1) -> torch.Tensor:
        """See `ByGenerate.logits`."""
        return self.generate.logits(sequences, steps)

    def _in_parts(
        self,
        handle: abc.Callable[[abc.Sequence[Item]], list[Answer]],
        items: abc.Sequence[Item],
        lengths: abc.Sequence[tuple[int, int]],
    ) -> list[Answer]:
        """What `handle` makes of the items, as many at a time as fit, the longest first: little is padding.

        Args:
            lengths: tokens of prompt and answer of each item.
        """
        answers: dict[int, Answer] = {}

        def handle_parts(indices: abc.Sequence[int]) -> list[Answer]:
            left = list(indices)
            while left:
                batch = left[: self.batch_size.that_fit(sum(lengths[left[0]]))]
                left = left[len(batch) :]
                for part in parts_of([lengths[index] for index in batch], self.window, self.switch):
                    chosen = [batch[place] for place in part]
                    answers.update(zip(chosen, handle([items[index] for index in chosen]), strict=True))
            return [answers[index] for index in indices]

        order = sorted(range(len(items)), key=lambda index: -lengths[index][0])
        self.batch_size.halving(handle_parts, order)
        return [answers[index] for index in range(len(items))]

    def _decode(self, requests: abc.Sequence[Request]) -> list[Outcome]:
        """Replies to one batch."""
        sequences = [decoded(request, self.vocabulary) for request in requests]
        if not self.together:
            self.generate.decode(sequences, self.chooser)
            return [sequence.reply() for sequence in sequences]
        entries = [Fed(sequence, list(sequence.request.input_ids)) for sequence in sequences]
        for entry in entries:
            entry.follow()
        prompts = [tuple(entry.feed) for entry in entries]
        decode_rows(CachedRows(self.model, *self.generate.padded(prompts)), entries, self.chooser, self.together)
        return [sequence.reply() for sequence in sequences]
