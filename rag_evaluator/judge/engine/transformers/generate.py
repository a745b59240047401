"""Decoding with transformers' own `generate`: for any causal language model, one pass per token for the whole batch."""

import logging
from collections import abc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList, StoppingCriteria, StoppingCriteriaList

from rag_evaluator.judge.engine.transformers.decoder import Outcome
from rag_evaluator.judge.engine.transformers.memory import SHARE, BatchSize, free_bytes
from rag_evaluator.judge.engine.transformers.neighbours import rope_switch, why_alone
from rag_evaluator.judge.engine.transformers.sequence import Chooser, Decoded, Vocabulary, decoded
from rag_evaluator.judge.requests import Request
from rag_evaluator.progress import ACTIVITY

if TYPE_CHECKING:
    from transformers import PreTrainedModel

logger = logging.getLogger(__name__)
Item = TypeVar("Item")
Answer = TypeVar("Answer")


class _Grammars(LogitsProcessor):
    """Leaves each sequence its chosen token only."""

    def __init__(self, sequences: abc.Sequence[Decoded], chooser: Chooser) -> None:
        self.sequences, self.chooser = sequences, chooser

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        # any token will do for sequences that are done
        tokens = [(sequence.next_forced() or [0])[0] for sequence in self.sequences]
        free = [i for i, sequence in enumerate(self.sequences) if not sequence.done and not sequence.next_forced()]
        if free:
            chosen = self.chooser.choose([self.sequences[i] for i in free], scores[free])
            for index, token in zip(free, chosen, strict=True):
                tokens[index] = token
        only = torch.full_like(scores, float("-inf"))
        only[torch.arange(len(tokens)), tokens] = 0.0
        return only  # type: ignore[return-value]


class _Finished(StoppingCriteria):
    """Feeds each chosen token to its sequence's grammar; a sequence ends with its answer or its budget."""

    def __init__(self, sequences: abc.Sequence[Decoded]) -> None:
        self.sequences = sequences
        self._seen = 0  # tokens of each row

    def __call__(self, input_ids: torch.LongTensor, scores: Any, **kwargs: Any) -> torch.BoolTensor:
        rows, tokens = input_ids.shape
        ACTIVITY.tokens += rows * (tokens - self._seen)
        self._seen = tokens
        for sequence, token in zip(self.sequences, input_ids[:, -1].tolist(), strict=True):
            if not sequence.done and sequence.failure is None:
                sequence.push(token)
        return torch.tensor([sequence.done for sequence in self.sequences], device=input_ids.device)  # type: ignore[return-value]


class GenerateDecoder:
    """Decodes by transformers' `generate`; a `Decoder`.

    Args:
        model: a causal language model.
        vocabulary: of its tokenizer.
        padding: token id for padding, never seen by the model.
        window: tokens of prompt and answer together that the model can read.
        batch_size: sequences decoded together, unless an answer depends on its neighbours.
    """

    path = "plain"

    def __init__(
        self, model: "PreTrainedModel", vocabulary: Vocabulary, padding: int, window: int, batch_size: int = 1
    ) -> None:
        self.model, self.vocabulary, self.padding, self.window = model, vocabulary, padding, window
        self.chooser = Chooser(vocabulary)
        self.switch = rope_switch(model.config.get_text_config())
        self.computed = 0
        self.alone = why_alone(model, self.logits, window) if batch_size > 1 else None
        if self.alone:
            logger.warning(
                "judge: each row is decoded alone (judge.batch_size: 1), because of this model: %s", self.alone
            )
        self.batch_size = BatchSize(1 if self.alone else batch_size, int(SHARE * free_bytes(model)), 0)

    def decode(self, requests: abc.Sequence[Request]) -> list[Outcome]:
        """Replies in the order of the requests. Prompts are padded on the left: neighbours do not matter."""
        self.computed += sum(len(request.input_ids) for request in requests)
        return self._in_parts(self._decode_apart, requests)

    def next_logits(self, sequences: abc.Sequence[tuple[int, ...]]) -> torch.Tensor:
        self.computed += sum(map(len, sequences))
        return torch.stack(self._in_parts(self._logits_apart, sequences))

    def _in_parts(
        self, handle: abc.Callable[[abc.Sequence[Item]], list[Answer]], items: abc.Sequence[Item]
    ) -> list[Answer]:
        """What `handle` makes of the items, as many at a time as fit."""

        def handle_parts(items: abc.Sequence[Item]) -> list[Answer]:
            width = self.batch_size.most
            return [answer for start in range(0, len(items), width) for answer in handle(items[start : start + width])]

        return self.batch_size.halving(handle_parts, items)

    def _decode_apart(self, requests: abc.Sequence[Request]) -> list[Outcome]:
        """Replies; sequences that must not be in one batch are decoded in different ones."""
        replies: dict[int, Outcome] = {}
        for part in self._split([(len(request.input_ids), request.budget.max_length) for request in requests]):
            replies |= zip(part, self._decode([requests[index] for index in part]), strict=True)
        return [replies[index] for index in range(len(requests))]

    def _logits_apart(self, sequences: abc.Sequence[tuple[int, ...]]) -> list[torch.Tensor]:
        """`(vocab,)` logits after each sequence."""
        logits: dict[int, torch.Tensor] = {}
        for part in self._split([(len(sequence), 1) for sequence in sequences]):
            logits |= zip(part, self.logits([sequences[index] for index in part])[:, 0], strict=True)
        return [logits[index] for index in range(len(sequences))]

    def logits(self, sequences: abc.Sequence[tuple[int, ...]], steps: int = 1) -> torch.Tensor:
        """`(sequences, steps, vocab)` logits of one batch, after each sequence and after tokens 0 that follow it."""
        input_ids, attention_mask = self._pad(sequences)
        with torch.inference_mode(), _own_generation_config(self.model, self.padding):
            output = self.model.generate(  # type: ignore[operator]  # torch types module attributes as tensors
                input_ids=input_ids,
                attention_mask=attention_mask,
                max_new_tokens=steps,
                output_logits=True,
                return_dict_in_generate=True,
                prefix_allowed_tokens_fn=lambda *_: [0],
            )
        ACTIVITY.tokens += input_ids.numel()
        return torch.stack(output.logits, dim=1)

    def _decode(self, requests: abc.Sequence[Request]) -> list[Outcome]:
        """Replies to one batch."""
        sequences = [decoded(request, self.vocabulary) for request in requests]
        input_ids, attention_mask = self._pad([request.input_ids for request in requests])
        with torch.inference_mode(), _own_generation_config(self.model, self.padding):
            self.model.generate(  # type: ignore[operator]  # torch types module attributes as tensors
                input_ids=input_ids,
                attention_mask=attention_mask,
                max_new_tokens=max(request.budget.max_length for request in requests),
                logits_processor=LogitsProcessorList([_Grammars(sequences, self.chooser)]),
                stopping_criteria=StoppingCriteriaList([_Finished(sequences)]),
            )
        return [sequence.reply() for sequence in sequences]

    def _split(self, lengths: abc.Sequence[tuple[int, int]]) -> list[list[int]]:
        """Indices of sequences, in parts in which no sequence changes another's answer.

        Sequences go on until the longest answer of their part is complete, so none may pass the model's window, nor the
        length at which its rope changes. Those that are longer from the start stay together; one that reaches this
        length while it is written is decoded alone.

        Args:
            lengths: tokens of prompt and answer of each sequence.
        """
        indices = list(range(len(lengths)))
        if self.switch is None:
            return _within(indices, lengths, self.window)
        past = [index for index in indices if lengths[index][0] > self.switch]
        before = [index for index in indices if lengths[index][0] <= self.switch]
        limit = min(self.window, self.switch + 1)  # the last token is written, but not read
        return _within(past, lengths, self.window) + _within(before, lengths, limit)

    def _pad(self, sequences: abc.Sequence[tuple[int, ...]]) -> tuple[torch.Tensor, torch.Tensor]:
        """`(sequences, longest)` token ids, padded on the left, and attention mask."""
        width = max(map(len, sequences))
        input_ids = torch.full((len(sequences), width), self.padding, dtype=torch.long)
        attention_mask = torch.zeros_like(input_ids)
        for index, sequence in enumerate(sequences):
            input_ids[index, width - len(sequence) :] = torch.tensor(sequence)
            attention_mask[index, width - len(sequence) :] = 1
        return input_ids.to(self.model.device), attention_mask.to(self.model.device)


def _within(indices: list[int], lengths: abc.Sequence[tuple[int, int]], limit: int) -> list[list[int]]:
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


@contextmanager
def _own_generation_config(model: "PreTrainedModel", pad_token_id: int) -> abc.Iterator[None]:
    """Keep the model's own generation defaults (penalties, forced tokens, sampling) out of judging."""
    theirs = model.generation_config
    model.generation_config = GenerationConfig(do_sample=False, num_beams=1, pad_token_id=pad_token_id)
    try:
        yield
    finally:
        model.generation_config = theirs
