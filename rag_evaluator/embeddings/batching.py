"""Collects concurrent requests into batches, in an order that does not depend on timing.

A batch is handed to its model when the event loop has come to rest: every coroutine waits for a model. Since nothing
else runs meanwhile, the same requests always meet in the same batches, and two runs give the same bytes even where
batching changes the last bits of a number (bfloat16, GPUs). Judge and embeddings share the scheduler of their event
loop, and one thread that owns the models.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from rag_evaluator.errors import JudgeLostError

QUIET_PASSES = 12
"""Passes of the event loop without a new request after which it counts as at rest; a wake-up takes one per await."""

MODELS = ThreadPoolExecutor(max_workers=1, thread_name_prefix="models")
Handle = Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True)
class BatchHandler:
    """What answers batches: a model.

    Attributes:
        handle: answers requests, in order; called by one thread, one batch at a time.
        most: requests handed over at once.
    """

    handle: Handle
    most: int


@dataclass(eq=False)
class _Waiting:
    handler: BatchHandler
    group: Hashable
    request: Any  # the handler's own kind
    future: "asyncio.Future[Any]"


class Scheduler:
    """Batches the requests of one event loop; `Scheduler.current()` is the running loop's."""

    def __init__(self) -> None:
        self.waiting: list[_Waiting] = []
        self.draining: asyncio.Task[None] | None = None

    @classmethod
    def current(cls) -> "Scheduler":
        """The scheduler of the running event loop."""
        return _SCHEDULERS.setdefault(asyncio.get_running_loop(), cls())

    async def submit(self, handler: BatchHandler, request: Any, group: Hashable = None) -> Any:
        """The handler's answer to a request. Raises what handling it alone raises.

        Args:
            group: only requests of the same handler and group meet in a batch.
        """
        loop = asyncio.get_running_loop()
        entry = _Waiting(handler, (id(handler), group), request, loop.create_future())
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
                try:
                    answers = await loop.run_in_executor(MODELS, _handle_apart, batch[0].handler.handle, requests)
                    assert len(answers) == len(batch), "a handler must answer every request"
                except Exception as error:  # raised where the answer is awaited, or that would wait for ever
                    answers = [error] * len(batch)
                for entry, answer in zip(batch, answers, strict=True):
                    _settle(entry.future, answer)
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
        sizes = Counter(entry.group for entry in self.waiting)  # in order of waiting: the oldest wins a tie
        group = max(sizes, key=lambda name: sizes[name])
        members = [entry for entry in self.waiting if entry.group == group]
        batch = members[: members[0].handler.most]
        chosen = {id(entry) for entry in batch}
        self.waiting = [entry for entry in self.waiting if id(entry) not in chosen]
        return batch


_SCHEDULERS: WeakKeyDictionary[asyncio.AbstractEventLoop, Scheduler] = WeakKeyDictionary()


def _handle_apart(handle: Handle, requests: Sequence[Any]) -> list[Any]:
    """Handle a batch; if it fails, halve it, so that only the request at fault fails. A lost model fails them all."""
    try:
        return list(handle(requests))
    except JudgeLostError as error:
        return [error] * len(requests)
    except Exception as error:
        if len(requests) == 1:
            return [error]
        middle = len(requests) // 2
        return _handle_apart(handle, requests[:middle]) + _handle_apart(handle, requests[middle:])


def _settle(future: "asyncio.Future[Any]", answer: Any) -> None:
    if future.cancelled():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
