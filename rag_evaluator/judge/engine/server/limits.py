"""How many requests are open at a time, and which is next: fewer while the server is overloaded, slowly more again."""

import asyncio
import itertools
from bisect import bisect_left, insort
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rag_evaluator.judge.requests import common_beginning

Ids = tuple[int, ...]


class OpenRequests:
    """Lets so many requests pass as the server bears: half as many after each sign that it is overloaded.

    Several workers that share a server each find their own number: additive increase, multiplicative decrease, as
    TCP has it. Of those that wait, the next is the one whose prompt has the longest prefix in common with the one that
    was sent last, so that the server finds it in its cache. Belongs to one event loop.

    Args:
        most: where it begins, and never more.
    """

    def __init__(self, most: int) -> None:
        self.most, self.limit, self.open = most, float(most), 0
        self._waiting: list[tuple[Ids, int, asyncio.Future[None]]] = []  # in order of prompts, then of arrival
        self._arrivals = itertools.count()
        self._last: Ids = ()

    @asynccontextmanager
    async def slot(self, prompt: Ids = ()) -> AsyncIterator[None]:
        """Wait until a request may be sent; it is open until the block ends.

        Args:
            prompt: its token ids; none of a request that has no such.
        """
        arrival = next(self._arrivals)
        while self.open >= max(int(self.limit), 1):
            turn = asyncio.get_running_loop().create_future()
            insort(self._waiting, (prompt, arrival, turn))
            await turn
        self.open += 1
        self._last = prompt
        try:
            yield
        finally:
            self.open -= 1
            self._wake()

    def overloaded(self) -> None:
        """The server refused a request, or took too long."""
        self.limit = max(self.limit / 2, 1.0)

    def answered(self) -> None:
        """The server answered; a whole round of answers adds one request."""
        self.limit = min(self.limit + 1 / self.limit, float(self.most))

    def _wake(self) -> None:
        free = max(int(self.limit), 1) - self.open
        while self._waiting and free > 0:
            prompt, _, turn = self._waiting.pop(self._next())
            if not turn.done():  # who was cancelled waits no more
                turn.set_result(None)
                self._last = prompt
                free -= 1

    def _next(self) -> int:
        """Place of the one that shall go: in the order of prompts it is a neighbour of the last, on either side."""
        after = self._place(self._last)
        neighbours = [after] if after < len(self._waiting) else []
        if after > 0:
            neighbours.append(self._place(self._waiting[after - 1][0]))
        return min(neighbours, key=self._rank)

    def _place(self, prompt: Ids) -> int:
        """Of the first that waits with this prompt, or with one that comes after it."""
        return bisect_left(self._waiting, prompt, key=lambda entry: entry[0])

    def _rank(self, place: int) -> tuple[int, int]:
        prompt, arrival, _ = self._waiting[place]
        return -len(common_beginning([prompt, self._last])), arrival
