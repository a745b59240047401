"""How many requests are open at a time: fewer while the server is overloaded, slowly more again afterwards."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class OpenRequests:
    """Lets so many requests pass as the server bears: half as many after each sign that it is overloaded.

    Several workers that share a server each find their own number: additive increase, multiplicative decrease, as
    TCP has it. Belongs to one event loop.

    Args:
        most: where it begins, and never more.
    """

    def __init__(self, most: int) -> None:
        self.most, self.limit, self.open = most, float(most), 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait until a request may be sent; it is open until the block ends."""
        while self.open >= max(int(self.limit), 1):
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self.open += 1
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
            turn = self._waiting.popleft()
            if not turn.done():  # who was cancelled waits no more
                turn.set_result(None)
                free -= 1
