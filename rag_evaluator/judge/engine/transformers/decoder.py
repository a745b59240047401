"""The interface of what decodes requests, `PackedDecoder` or `PlainDecoder`, and a sequence that they decode."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from rag_evaluator.errors import JudgementError
from rag_evaluator.judge.encoding.sequence import Decoded
from rag_evaluator.judge.engine.transformers.memory import BatchSize
from rag_evaluator.judge.requests import Reply, Request

Outcome = Reply | JudgementError


class Decoder(Protocol):
    """Answers batches of requests; owned by one thread at a time, under `torch.inference_mode`.

    Attributes:
        path: its name in the manifest and in `status`.
        alone: why each sequence is decoded alone; None if batches are decoded.
        batch_size: how many sequences are decoded together.
    """

    path: str
    alone: str | None
    batch_size: BatchSize

    @property
    def computed(self) -> int:
        """Prompt tokens that went through the model so far."""

    def decode(self, requests: Sequence[Request]) -> list[Outcome]:
        """Replies in the order of the requests; an error in place of a reply that could not be made."""

    def next_logits(self, sequences: Sequence[tuple[int, ...]]) -> torch.Tensor:
        """`(sequences, vocab)` logits after each token sequence."""


@dataclass
class ActiveSequence:
    """A sequence and the tokens to feed next: of its prompt, its last choice, what the grammar forces after it."""

    sequence: Decoded
    feed: list[int]

    def follow(self) -> None:
        """Take what the grammar forces next, so that it is fed without a pass of its own."""
        while forced := self.sequence.next_forced():
            token = forced[0]
            self.sequence.push(token)
            self.feed.append(token)

    def take(self, token: int) -> None:
        """Accept the token that was chosen after all of the feed."""
        self.sequence.push(token)
        self.feed = [token]
        self.follow()
