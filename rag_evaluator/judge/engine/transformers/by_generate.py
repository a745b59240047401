"""Decoding with transformers' own `generate`: for any causal language model, one pass per token for the whole batch."""

from collections import abc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList, StoppingCriteria, StoppingCriteriaList

from rag_evaluator.judge.engine.transformers.sequence import Chooser, Decoded
from rag_evaluator.progress import ACTIVITY

if TYPE_CHECKING:
    from transformers import PreTrainedModel

FOLLOWING = 97  # the tokens that follow in `logits`: few enough that every vocabulary has them


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


class ByGenerate:
    """Runs a model by `generate`.

    Args:
        padding: token id for padding, never seen by the model.
    """

    def __init__(self, model: "PreTrainedModel", padding: int) -> None:
        self.model, self.padding = model, padding

    def decode(self, sequences: abc.Sequence[Decoded], chooser: Chooser) -> None:
        """Decode one batch to the end of its longest answer."""
        longest = max(sequence.request.budget.max_length for sequence in sequences)
        self._run(
            [sequence.request.input_ids for sequence in sequences],
            max_new_tokens=longest,
            logits_processor=LogitsProcessorList([_Grammars(sequences, chooser)]),
            stopping_criteria=StoppingCriteriaList([_Finished(sequences)]),
        )

    def logits(self, rows: abc.Sequence[tuple[int, ...]], steps: int = 1) -> torch.Tensor:
        """`(rows, steps, vocab)` logits of one batch, after each row and after the tokens `following` it."""
        width = max(map(len, rows))
        tokens = following(steps)
        output = self._run(
            rows,
            max_new_tokens=steps,
            output_logits=True,
            return_dict_in_generate=True,
            prefix_allowed_tokens_fn=lambda _, row: [tokens[len(row) - width]],
        )
        ACTIVITY.tokens += len(rows) * width
        return torch.stack(output.logits, dim=1)

    def _run(self, rows: abc.Sequence[tuple[int, ...]], **settings: Any) -> Any:
        input_ids, attention_mask = self.padded(rows)
        with torch.inference_mode(), _own_generation_config(self.model, self.padding):
            return self.model.generate(  # type: ignore[operator]  # torch types module attributes as tensors
                input_ids=input_ids, attention_mask=attention_mask, **settings
            )

    def padded(self, rows: abc.Sequence[tuple[int, ...]]) -> tuple[torch.Tensor, torch.Tensor]:
        """`(rows, longest)` token ids, padded on the left, and attention mask."""
        width = max(map(len, rows))
        input_ids = torch.full((len(rows), width), self.padding, dtype=torch.long)
        attention_mask = torch.zeros_like(input_ids)
        for index, row in enumerate(rows):
            input_ids[index, width - len(row) :] = torch.tensor(row)
            attention_mask[index, width - len(row) :] = 1
        return input_ids.to(self.model.device), attention_mask.to(self.model.device)


def following(count: int) -> list[int]:
    """Tokens that follow a row when a model is tried out, each other than the one before."""
    return [(13 * index + 2) % FOLLOWING for index in range(count)]


@contextmanager
def _own_generation_config(model: "PreTrainedModel", pad_token_id: int) -> abc.Iterator[None]:
    """Keep the model's own generation defaults (penalties, forced tokens, sampling) out of judging."""
    theirs = model.generation_config
    model.generation_config = GenerationConfig(do_sample=False, num_beams=1, pad_token_id=pad_token_id)
    try:
        yield
    finally:
        model.generation_config = theirs
