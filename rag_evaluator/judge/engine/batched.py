"""A batch engine as an engine: concurrent requests meet in batches, see `rag_evaluator.models.batching`."""

from collections.abc import Mapping, Sequence

from rag_evaluator.judge.engine.protocol import BatchEngine, Encoder, Form, NextToken
from rag_evaluator.judge.protocol import Capabilities
from rag_evaluator.judge.requests import Reply, Request
from rag_evaluator.models.batching import BatchHandler, Scheduler

REFILLS = 4  # a batch is refilled from so many times its own number of requests


class Batched:
    """An `Engine` that collects requests for a `BatchEngine`; one thread owns the model."""

    def __init__(self, inner: BatchEngine) -> None:
        self.inner = inner
        most = REFILLS * inner.capabilities.in_flight
        self._written = BatchHandler(lambda requests: self.inner.handle(requests), most)
        self._chosen = BatchHandler(lambda questions: self.inner.logprobs(questions), most)

    @property
    def accepts(self) -> frozenset[Form]:
        return self.inner.accepts

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities

    @property
    def about(self) -> Mapping[str, str]:
        return self.inner.about

    @property
    def model_id(self) -> str:
        return self.inner.model_id

    @property
    def encoder(self) -> Encoder:
        return self.inner.encoder

    async def generate(self, request: Request) -> Reply:
        reply: Reply = await Scheduler.current().submit(self._written, request, request.group)
        return reply

    async def next_logprobs(
        self, input_ids: Sequence[int], candidates: Sequence[int], group: str = ""
    ) -> Sequence[float]:
        question = NextToken(tuple(input_ids), tuple(candidates))
        logprobs: Sequence[float] = await Scheduler.current().submit(self._chosen, question, group)
        return logprobs

    async def aclose(self) -> None:
        """The model's memory is freed with the model, which may be the caller's own."""
