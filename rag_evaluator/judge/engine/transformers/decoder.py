"""The interface of what decodes requests: `PackedDecoder` or `GenerateDecoder`, as `choose_decoder` decides."""

from collections.abc import Sequence
from typing import Protocol

import torch

from rag_evaluator.errors import JudgementError
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
