import asyncio
from array import array
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from rag_evaluator.judge.budget import Budget
from rag_evaluator.judge.requests import Reply, Request
from rag_evaluator.judge.scheduler import Scheduler


def request(length: int, group: str = "") -> Request:
    return Request((0,) * length, "start: /x/", 16, Budget(16, 0, 0, 16, 16), group=group)


class Echo:
    """Decodes by naming the prompt's length; remembers its batches."""

    def __init__(self, fails_on: int = -1) -> None:
        self.batches: list[list[int]] = []
        self.fails_on = fails_on

    def __call__(self, requests: Sequence[Request]) -> list[Reply]:
        lengths = [len(one.input_ids) for one in requests]
        self.batches.append(lengths)
        if self.fails_on in lengths:
            raise ValueError(f"cannot decode {self.fails_on}")
        return [Reply(str(length), array("I"), True) for length in lengths]


def submit(echo: Echo, lengths: list[int], batch_size: int) -> list[object]:
    async def together() -> list[object]:
        with ThreadPoolExecutor(1) as executor:
            scheduler = Scheduler(echo, executor, batch_size)
            tasks = (scheduler.submit(request(length)) for length in lengths)
            return list(await asyncio.gather(*tasks, return_exceptions=True))

    return asyncio.run(together())


def test_replies_come_back_to_those_who_asked() -> None:
    replies = submit(Echo(), [5, 1, 4, 2, 3], batch_size=2)
    assert [reply.text for reply in replies] == ["5", "1", "4", "2", "3"]  # type: ignore[attr-defined]


def test_the_group_with_most_requests_goes_first_in_the_order_of_asking() -> None:
    echo = Echo()

    async def together() -> None:
        with ThreadPoolExecutor(1) as executor:
            scheduler = Scheduler(echo, executor, 3)
            asked = [request(length, "even" if length % 2 == 0 else "odd") for length in (1, 2, 4, 6, 8, 3)]
            await asyncio.gather(*(scheduler.submit(one) for one in asked))

    asyncio.run(together())
    assert echo.batches == [[2, 4, 6], [1, 3], [8]]


def test_follow_up_questions_of_many_samples_meet_in_one_batch() -> None:
    echo = Echo()

    async def sample(scheduler: Scheduler, number: int) -> None:
        await scheduler.submit(request(number))
        for _ in range(number):
            await asyncio.sleep(0)  # samples do different things in between
        await scheduler.submit(request(100 + number))

    async def all_samples() -> None:
        with ThreadPoolExecutor(1) as executor:
            scheduler = Scheduler(echo, executor, 8)
            await asyncio.gather(*(sample(scheduler, number) for number in range(1, 9)))

    asyncio.run(all_samples())
    assert echo.batches == [list(range(1, 9)), list(range(101, 109))]


def test_only_the_request_at_fault_fails() -> None:
    replies = submit(Echo(fails_on=3), [1, 2, 3, 4, 5], batch_size=8)
    assert [str(getattr(reply, "text", reply)) for reply in replies] == ["1", "2", "cannot decode 3", "4", "5"]


def test_a_cancelled_request_does_not_hold_up_the_others() -> None:
    async def scenario() -> str:
        with ThreadPoolExecutor(1) as executor:
            scheduler = Scheduler(Echo(), executor, 1)
            given_up = asyncio.create_task(scheduler.submit(request(1)))
            waiting = asyncio.create_task(scheduler.submit(request(2)))
            await asyncio.sleep(0)
            given_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                await given_up
            return (await waiting).text

    assert asyncio.run(scenario()) == "2"
