import asyncio
from collections.abc import Sequence

import pytest

from rag_evaluator.judge import BatchHandler, Scheduler


class Echo:
    """Answers with the request itself; remembers its batches."""

    def __init__(self, fails_on: int = -1) -> None:
        self.batches: list[list[int]] = []
        self.fails_on = fails_on

    def __call__(self, requests: Sequence[int]) -> list[str]:
        self.batches.append(list(requests))
        if self.fails_on in requests:
            raise ValueError(f"cannot decode {self.fails_on}")
        return [str(request) for request in requests]


def test_the_group_with_most_requests_goes_first_in_the_order_of_asking() -> None:
    echo = Echo()

    async def together() -> None:
        worker = BatchHandler(echo, 3)
        scheduler = Scheduler.current()
        await asyncio.gather(*(scheduler.submit(worker, number, number % 2) for number in (1, 2, 4, 6, 8, 3)))

    asyncio.run(together())
    assert echo.batches == [[2, 4, 6], [1, 3], [8]]


def test_two_models_never_share_a_batch_nor_run_at_the_same_time() -> None:
    running: list[str] = []

    def model(name: str) -> BatchHandler:
        def handle(requests: Sequence[int]) -> list[str]:
            assert not running
            running.append(name)
            answers = [f"{name}{request}" for request in requests]
            running.remove(name)
            return answers

        return BatchHandler(handle, 8)

    async def together() -> list[object]:
        judge = model("j")
        embeddings = model("e")
        scheduler = Scheduler.current()
        asked = [(judge, 1), (embeddings, 1), (judge, 2), (embeddings, 2)]
        return list(await asyncio.gather(*(scheduler.submit(worker, request) for worker, request in asked)))

    assert asyncio.run(together()) == ["j1", "e1", "j2", "e2"]


def test_follow_up_questions_of_many_samples_meet_in_one_batch() -> None:
    echo = Echo()

    async def sample(worker: BatchHandler, number: int) -> None:
        await Scheduler.current().submit(worker, number)
        for _ in range(number):
            await asyncio.sleep(0)  # samples do different things in between
        await Scheduler.current().submit(worker, 100 + number)

    async def all_samples() -> None:
        worker = BatchHandler(echo, 8)
        await asyncio.gather(*(sample(worker, number) for number in range(1, 9)))

    asyncio.run(all_samples())
    assert echo.batches == [list(range(1, 9)), list(range(101, 109))]


def test_only_the_request_at_fault_fails() -> None:
    async def together() -> list[object]:
        worker = BatchHandler(Echo(fails_on=3), 8)
        scheduler = Scheduler.current()
        asked = (scheduler.submit(worker, number) for number in (1, 2, 3, 4, 5))
        return list(await asyncio.gather(*asked, return_exceptions=True))

    assert list(map(str, asyncio.run(together()))) == ["1", "2", "cannot decode 3", "4", "5"]


def test_a_cancelled_request_does_not_hold_up_the_others() -> None:
    async def scenario() -> str:
        worker = BatchHandler(Echo(), 1)
        scheduler = Scheduler.current()
        given_up = asyncio.create_task(scheduler.submit(worker, 1))
        waiting = asyncio.create_task(scheduler.submit(worker, 2))
        await asyncio.sleep(0)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        return str(await waiting)

    assert asyncio.run(scenario()) == "2"
