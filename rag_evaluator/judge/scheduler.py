"""Collects concurrent requests into batches, in an order that does not depend on timing.

A batch is decoded when the event loop has come to rest: every coroutine waits for the judge. Since nothing else runs
while a batch is decoded, the same requests always meet in the same batches, and two runs give the same bytes even where
batching changes the last bits of a logit (bfloat16, GPUs).
"""

import asyncio
from collections import Counter
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
        most: requests handed to `decode` at once.
    """

    def __init__(self, decode: Callable[[Sequence[Request]], list[Reply]], executor: Executor, most: int) -> None:
        self.decode, self.executor, self.most = decode, executor, most
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
        """The oldest requests of the group that has most of them waiting."""
        sizes = Counter(entry.request.group for entry in self.waiting)  # in order of waiting: the oldest wins a tie
        group = max(sizes, key=lambda name: sizes[name])
        batch = [entry for entry in self.waiting if entry.request.group == group][: self.most]
        chosen = {id(entry) for entry in batch}
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
