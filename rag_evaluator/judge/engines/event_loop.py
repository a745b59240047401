"""Coroutines for callers without an event loop, calls that are made once for all who wait, and batches of requests.

A batch is handed to its model when the event loop has come to rest: every coroutine waits for a model. Since nothing
else runs meanwhile, the same requests always meet in the same batches, and two runs give the same bytes even where
batching changes the last bits of a number (bfloat16, GPUs). Judge and embeddings share the scheduler of their event
loop, and one thread that owns the models.
"""

import asyncio
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from rag_evaluator.errors import JudgeLostError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
REMEMBERED = 65_536  # values: enough for a long run, small beside a model
QUIET_PASSES = 12
"""Passes of the event loop without a new request after which it counts as at rest; a wake-up takes one per await."""
OWNER = "models"  # the name of the thread begins with it
MODELS = ThreadPoolExecutor(max_workers=1, thread_name_prefix=OWNER)
ORDER: ContextVar[int] = ContextVar("ORDER", default=0)  # of what asks: a batch that is open takes the first ones first
P = ParamSpec("P")
T = TypeVar("T")
Handle = Callable[[Sequence[Any]], Sequence[Any]]
BatchStep = Callable[[Mapping[int, Any]], Mapping[int, Any]]
"""Takes more requests in and answers some of those that it has, at least one; both by number."""


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, on a thread of its own if this thread's event loop is running (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    thread = ThreadPoolExecutor(1, thread_name_prefix="rag-evaluator")
    try:
        return thread.submit(asyncio.run, coroutine).result()
    finally:
        thread.shutdown(wait=False)


class SingleFlight(Generic[K, V]):
    """Values by key, each made once.

    Args:
        remembered: how many values are kept, the last ones that were made; 0 keeps none, None keeps all.

    A failure is raised in all who wait, and is not kept: the next one who asks tries again. Who is cancelled stops
    waiting; the work goes on for the others and for memory. Event loops share the memory, but each makes its own values
    while they are missing: a coroutine cannot wait for another loop, which may have ended.
    """

    def __init__(self, remembered: int | None = REMEMBERED) -> None:
        self.remembered = remembered
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._under_way: dict[tuple[asyncio.AbstractEventLoop, K], asyncio.Task[V]] = {}

    async def get(self, key: K, make: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """The value of a key; `make` is called if it is neither kept nor being made. Raises what `make` raises."""
        if key in self._kept:
            return self._kept[key]
        flight = (asyncio.get_running_loop(), key)
        task = self._under_way.get(flight)
        if task is None:
            task = self._under_way[flight] = asyncio.ensure_future(make())
            task.add_done_callback(partial(self._finish, flight))
        return await asyncio.shield(task)

    def clear(self) -> None:
        """Forget all values, those that are being made included: who waits for one still gets it."""
        self._kept.clear()
        self._under_way.clear()

    def _finish(self, flight: "tuple[asyncio.AbstractEventLoop, K]", task: "asyncio.Task[V]") -> None:
        failed = task.cancelled() or task.exception() is not None  # reads the error, or asyncio prints it
        if self._under_way.get(flight) is task:  # not cleared meanwhile
            del self._under_way[flight]
            if not failed:
                self._kept[flight[1]] = task.result()
                while self.remembered is not None and len(self._kept) > self.remembered:
                    self._kept.popitem(last=False)


def on_model_thread(work: Callable[P, T]) -> Callable[P, T]:
    """The function, which the thread that owns the models runs while the caller waits.

    Each thread that computes has OpenMP threads of its own. Where these are more than the cores, they sleep between
    operations, and a pass over few tokens takes 1.5 times as long: so no other thread loads a model.
    """

    @wraps(work)
    def run_there(*args: P.args, **kwargs: P.kwargs) -> T:
        if threading.current_thread().name.startswith(OWNER):
            return work(*args, **kwargs)
        return MODELS.submit(copy_context().run, partial(work, *args, **kwargs)).result()

    return run_there


@dataclass(frozen=True, eq=False)
class BatchHandler:
    """What answers batches: a model.

    Attributes:
        handle: answers requests, in order; called by one thread, one batch at a time.
        most: requests handed over at once.
        open: begins a batch that takes requests in while it goes on; None: `handle` answers all.
    """

    handle: Handle
    most: int
    open: Callable[[], BatchStep] | None = None


@dataclass(eq=False)
class _Waiting:
    handler: BatchHandler
    group: Hashable
    request: Any  # the handler's own kind
    future: "asyncio.Future[Any]"
    order: int


class Scheduler:
    """Batches the requests of one event loop; `Scheduler.current()` is the running loop's."""

    def __init__(self) -> None:
        self.waiting: list[_Waiting] = []
        # batches that go on, and what is in them
        self.open: dict[BatchHandler, tuple[BatchStep, dict[int, _Waiting]]] = {}
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
        entry = _Waiting(handler, (id(handler), group), request, loop.create_future(), ORDER.get())
        self.waiting.append(entry)
        if self.draining is None:
            self.draining = loop.create_task(self._drain())
        return await entry.future

    async def _drain(self) -> None:
        try:
            await self._rest()
            while self.waiting or self.open:
                going_on = [*self.open, *(entry.handler for entry in self.waiting if entry.handler.open)]
                for handler in dict.fromkeys(going_on):
                    await self._go_on(handler)
                if batch := self._next_batch():
                    for entry, answer in zip(batch, await _answers(batch), strict=True):
                        _settle(entry.future, answer)
                await self._rest()
        finally:
            self.draining = None
            self.open.clear()  # of a loop that was stopped

    async def _go_on(self, handler: BatchHandler) -> None:
        """Give a batch what waits for it, and settle what it has answered."""
        if handler not in self.open:
            assert handler.open is not None
            self.open[handler] = handler.open(), {}
        step, running = self.open[handler]
        members = sorted((entry for entry in self.waiting if entry.handler is handler), key=lambda entry: entry.order)
        new = {id(entry): entry for entry in self._taken(members[: handler.most - len(running)])}
        running |= new
        try:
            requests = {number: entry.request for number, entry in new.items()}
            answers = await asyncio.wrap_future(MODELS.submit(step, requests))
            assert answers, "a step must answer a request"
        except JudgeLostError as error:
            answers = dict.fromkeys(running, error)
        except Exception:  # each is asked for again, so that only the request at fault fails
            del self.open[handler], step  # with the memory of its batch
            answers = dict(zip(running, await _answers(list(running.values())), strict=True))
        for number, answer in answers.items():
            _settle(running.pop(number).future, answer)
        if not running:
            self.open.pop(handler, None)

    async def _rest(self) -> None:
        """Wait until no new request has come for some passes of the loop."""
        passes = 0
        seen = len(self.waiting)
        while passes < QUIET_PASSES:
            await asyncio.sleep(0)
            passes, seen = (passes + 1, seen) if len(self.waiting) == seen else (0, len(self.waiting))

    def _next_batch(self) -> list[_Waiting]:
        """The oldest requests of the group that has most of them waiting, of those whose handlers open no batch."""
        waiting = [entry for entry in self.waiting if entry.handler.open is None]
        for group, _ in Counter(entry.group for entry in waiting).most_common(1):  # the oldest wins a tie
            members = [entry for entry in waiting if entry.group == group]
            return self._taken(members[: members[0].handler.most])
        return []

    def _taken(self, entries: list[_Waiting]) -> list[_Waiting]:
        """These entries, which wait no longer."""
        chosen = set(entries)
        self.waiting = [entry for entry in self.waiting if entry not in chosen]
        return entries


_SCHEDULERS: WeakKeyDictionary[asyncio.AbstractEventLoop, Scheduler] = WeakKeyDictionary()


async def _answers(batch: Sequence[_Waiting]) -> list[Any]:
    """What the handler of a batch makes of it, or an error in the place of an answer."""
    requests = [entry.request for entry in batch]
    return await asyncio.wrap_future(MODELS.submit(_handle_apart, batch[0].handler.handle, requests))


def _handle_apart(handle: Handle, requests: Sequence[Any]) -> list[Any]:
    """Handle a batch; if it fails, halve it, so that only the request at fault fails. A lost model fails them all."""
    try:
        answers = list(handle(requests))
        assert len(answers) == len(requests), "a handler must answer every request"
        return answers
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
