"""Coroutines for callers that have no event loop or are inside one, and calls that are made once for all who wait."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from functools import partial
from typing import Any, Generic, TypeVar


def run(coroutine: "Coroutine[Any, Any, Any]") -> Any:
    """Run a coroutine to its end, on a thread of its own if this thread's event loop is running (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    results: list[Any] = []
    errors: list[BaseException] = []

    def target() -> None:
        try:
            results.append(asyncio.run(coroutine))
        except BaseException as error:  # raised again below, in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=target, name="rag-evaluator")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

REMEMBERED = 65_536  # values: enough for a long run, small beside a model


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

    def find(self, key: K) -> V | None:
        """The value of a key if it is kept."""
        return self._kept.get(key)

    def keep(self, key: K, value: V) -> None:
        """Remember a value that was made elsewhere."""
        self._kept[key] = value
        while self.remembered is not None and len(self._kept) > self.remembered:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Forget all values, those that are being made included: who waits for one still gets it."""
        self._kept.clear()
        self._under_way.clear()

    def _finish(self, flight: "tuple[asyncio.AbstractEventLoop, K]", task: "asyncio.Task[V]") -> None:
        failed = task.cancelled() or task.exception() is not None  # reads the error, or asyncio prints it
        if self._under_way.get(flight) is task:  # not cleared meanwhile
            del self._under_way[flight]
            if not failed:
                self.keep(flight[1], task.result())
