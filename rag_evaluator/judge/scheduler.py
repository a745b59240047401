"""Collects concurrent requests into batches, in an order that does not depend on timing.

A batch is decoded when the event loop has come to rest: every coroutine waits for the judge. Since nothing else runs
while a batch is decoded, the same requests always meet in the same batches, and two runs give the same bytes even where
batching changes the last bits of a logit (bfloat16, GPUs).
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from rag_evaluator.judge.requests import Reply, Request

QUIET_PASSES = 12
"""Passes of the event loop without a new request after which it counts as at rest; a wake-up takes one per await."""


@dataclass(eq=False)
class _Waiting:
    request: Request
    future: "asyncio.Future[Reply]"


class Scheduler:
    """Batches the requests of one event loop.

    Args:
        decode: answers a batch, in order; called in `executor`, one batch at a time.
        executor: the one thread that owns the model.
        batch_size: requests in a batch at most.
    """

    def __init__(self, decode: Callable[[Sequence[Request]], list[Reply]], executor: Executor, batch_size: int) -> None:
        self.decode, self.executor, self.batch_size = decode, executor, batch_size
        self.waiting: list[_Waiting] = []
        self.draining: asyncio.Task[None] | None = None

    async def submit(self, request: Request) -> Reply:
        """The reply to a request. Raises what decoding it alone raises."""
        loop = asyncio.get_running_loop()
        entry = _Waiting(request, loop.create_future())
        self.waiting.append(entry)
        if self.draining is None:
            self.draining = loop.create_task(self._drain(loop))
        return await entry.future

    async def _drain(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            await self._rest()
            while self.waiting:
                batch = self._next_batch()
                requests = [entry.request for entry in batch]
                replies = await loop.run_in_executor(self.executor, self._decode_apart, requests)
                for entry, reply in zip(batch, replies, strict=True):
                    _settle(entry.future, reply)
                await self._rest()
        finally:
            self.draining = None

    async def _rest(self) -> None:
        """Wait until no new request has come for some passes of the loop."""
        passes, seen = 0, len(self.waiting)
        while passes < QUIET_PASSES:
            await asyncio.sleep(0)
            passes, seen = (passes + 1, seen) if len(self.waiting) == seen else (0, len(self.waiting))

    def _next_batch(self) -> list[_Waiting]:
        """The requests nearest in length to the one that has waited longest."""
        oldest = len(self.waiting[0].request.input_ids)
        nearest = sorted(self.waiting, key=lambda entry: abs(len(entry.request.input_ids) - oldest))[: self.batch_size]
        chosen = {id(entry) for entry in nearest}
        batch = [entry for entry in self.waiting if id(entry) in chosen]
        self.waiting = [entry for entry in self.waiting if id(entry) not in chosen]
        return batch

    def _decode_apart(self, requests: Sequence[Request]) -> list[Reply | Exception]:
        """Decode a batch; if it fails, halve it, so that only the request at fault fails."""
        try:
            return list(self.decode(requests))
        except Exception as error:
            if len(requests) == 1:
                return [error]
            middle = len(requests) // 2
            return self._decode_apart(requests[:middle]) + self._decode_apart(requests[middle:])


def _settle(future: "asyncio.Future[Reply]", reply: Reply | Exception) -> None:
    if future.cancelled():
        return
    if isinstance(reply, Exception):
        future.set_exception(reply)
    else:
        future.set_result(reply)
