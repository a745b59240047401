"""Decoding with transformers' own `generate`: for any causal language model, one pass per token for the whole batch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList, StoppingCriteria, StoppingCriteriaList

from rag_evaluator.errors import JudgementError
from rag_evaluator.judge.requests import Reply, Request
from rag_evaluator.judge.rows import Chooser, Row, Vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class _Grammars(LogitsProcessor):
    """Leaves each row its chosen token only."""

    def __init__(self, rows: Sequence[Row], chooser: Chooser) -> None:
        self.rows, self.chooser = rows, chooser

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        tokens = [(row.dictated() or [0])[0] for row in self.rows]  # rows that are done: any token will do
        free = [i for i, row in enumerate(self.rows) if not row.done and not row.dictated()]
        if free:
            chosen = self.chooser.choose([self.rows[i] for i in free], scores[free])
            for index, token in zip(free, chosen, strict=True):
                tokens[index] = token
        only = torch.full_like(scores, float("-inf"))
        only[torch.arange(len(tokens)), tokens] = 0.0
        return only  # type: ignore[return-value]


class _Finished(StoppingCriteria):
    """Feeds each chosen token to its row's grammar; a row stops when its answer is complete or its budget is spent."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    def __call__(self, input_ids: torch.LongTensor, scores: Any, **kwargs: Any) -> torch.BoolTensor:
        for row, token in zip(self.rows, input_ids[:, -1].tolist(), strict=True):
            if not row.done and row.failure is None:
                row.push(token)
        return torch.tensor([row.done for row in self.rows], device=input_ids.device)  # type: ignore[return-value]


class PlainDecoder:
    """Answers batches of requests.

    Args:
        model: a causal language model.
        vocabulary: of its tokenizer.
        padding: token id for padding, never seen by the model.
        window: tokens of prompt and answer together that the model can read.
    """

    def __init__(self, model: "PreTrainedModel", vocabulary: Vocabulary, padding: int, window: int) -> None:
        self.model, self.vocabulary, self.padding, self.window = model, vocabulary, padding, window
        self.chooser = Chooser(vocabulary)

    def decode(self, requests: Sequence[Request]) -> list[Reply | JudgementError]:
        """Replies in the order of the requests, errors in place of those that could not be made.

        Prompts are padded on the left: neighbours do not matter.
        """
        parts = self._split(requests)
        if len(parts) > 1:
            replies = {id(request): reply for part in parts for request, reply in self._pairs(part)}
            return [replies[id(request)] for request in requests]
        rows = [Row(request, self.vocabulary) for request in requests]
        input_ids, attention_mask = self._pad([request.input_ids for request in requests])
        with torch.inference_mode(), _own_generation_config(self.model, self.padding):
            self.model.generate(  # type: ignore[operator]  # torch types module attributes as tensors
                input_ids=input_ids,
                attention_mask=attention_mask,
                max_new_tokens=max(request.budget.max_length for request in requests),
                logits_processor=LogitsProcessorList([_Grammars(rows, self.chooser)]),
                stopping_criteria=StoppingCriteriaList([_Finished(rows)]),
            )
        return [row.reply() for row in rows]

    def next_logits(self, sequences: Sequence[tuple[int, ...]]) -> torch.Tensor:
        """`(sequences, vocab)` logits after each sequence."""
        input_ids, attention_mask = self._pad(sequences)
        with torch.inference_mode(), _own_generation_config(self.model, self.padding):
            output = self.model.generate(  # type: ignore[operator]  # torch types module attributes as tensors
                input_ids=input_ids,
                attention_mask=attention_mask,
                max_new_tokens=1,
                output_logits=True,
                return_dict_in_generate=True,
            )
        logits: torch.Tensor = output.logits[0]
        return logits

    def _pairs(self, requests: Sequence[Request]) -> Iterator[tuple[Request, Reply | JudgementError]]:
        return zip(requests, self.decode(requests), strict=True)

    def _split(self, requests: Sequence[Request]) -> list[Sequence[Request]]:
        """The batch in parts in which no row is carried past the model's window by a neighbour's longer answer."""
        longest = max(request.budget.max_length for request in requests)
        tight = [request for request in requests if len(request.input_ids) + longest > self.window]
        if not tight or len(requests) == 1:
            return [requests]
        if len(tight) < len(requests):
            return [[request for request in requests if request not in tight], tight]
        return [requests[: len(requests) // 2], requests[len(requests) // 2 :]]

    def _pad(self, sequences: Sequence[tuple[int, ...]]) -> tuple[torch.Tensor, torch.Tensor]:
        """`(sequences, longest)` token ids, padded on the left, and attention mask."""
        width = max(map(len, sequences))
        input_ids = torch.full((len(sequences), width), self.padding, dtype=torch.long)
        attention_mask = torch.zeros_like(input_ids)
        for index, sequence in enumerate(sequences):
            input_ids[index, width - len(sequence) :] = torch.tensor(sequence)
            attention_mask[index, width - len(sequence) :] = 1
        return input_ids.to(self.model.device), attention_mask.to(self.model.device)


@contextmanager
def _own_generation_config(model: "PreTrainedModel", pad_token_id: int) -> Iterator[None]:
    """Keep the model's own generation defaults (penalties, forced tokens, sampling) out of judging."""
    theirs = model.generation_config
    model.generation_config = GenerationConfig(do_sample=False, num_beams=1, pad_token_id=pad_token_id)
    try:
        yield
    finally:
        model.generation_config = theirs
