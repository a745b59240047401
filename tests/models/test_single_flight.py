"""Each value is made once, whoever asks for it and whoever stops waiting."""

import asyncio
import threading
from typing import Any

import pytest

from rag_evaluator import JudgementError
from rag_evaluator.judge import SingleFlight


class Maker:
    """Makes values when it is let go; the first ones fail."""

    def __init__(self, *failures: BaseException) -> None:
        self.failures = list(failures)
        self.made: list[str] = []
        self.go = asyncio.Event()

    async def make(self, key: str) -> str:
        self.made.append(key)
        await self.go.wait()
        if self.failures:
            raise self.failures.pop(0)
        return f"{key} {len(self.made)}"

    async def asked(self, flights: SingleFlight[str, str], key: str = "a") -> str:
        """The value, made here if nobody else makes it."""
        return await flights.get(key, lambda: self.make(key))


async def ready(maker: Maker, *waiting: "asyncio.Task[Any]") -> list[Any]:
    """What those who wait get once the values are made."""
    await asyncio.sleep(0.01)
    maker.go.set()
    return list(await asyncio.gather(*waiting, return_exceptions=True))


def test_who_asks_at_once_or_later_gets_the_value_that_was_made_once() -> None:
    async def scenario() -> None:
        flights = SingleFlight[str, str]()
        maker = Maker()
        waiting = [asyncio.create_task(maker.asked(flights, key)) for key in "aabab"]
        assert await ready(maker, *waiting) == ["a 2", "a 2", "b 2", "a 2", "b 2"]
        assert await maker.asked(flights) == "a 2"
        assert maker.made == ["a", "b"]

    asyncio.run(scenario())


class Lost(BaseException):
    """An error that is no `Exception`."""


@pytest.mark.parametrize("failure", [JudgementError("no answer"), RuntimeError("a fault"), Lost("gone")])
def test_a_failure_is_raised_in_all_who_wait_and_the_next_one_tries_again(failure: BaseException) -> None:
    async def scenario() -> None:
        flights = SingleFlight[str, str]()
        maker = Maker(failure)
        waiting = [asyncio.create_task(maker.asked(flights)) for _ in range(3)]
        assert await ready(maker, *waiting) == [failure] * 3
        assert await maker.asked(flights) == "a 2"
        assert maker.made == ["a", "a"]

    asyncio.run(scenario())


@pytest.mark.parametrize("cancelled", [[0], [1], [0, 1, 2]])
def test_who_stops_waiting_takes_the_value_from_nobody(cancelled: list[int]) -> None:
    async def scenario() -> None:
        flights = SingleFlight[str, str]()
        maker = Maker()
        waiting = [asyncio.create_task(maker.asked(flights)) for _ in range(3)]
        await asyncio.sleep(0)
        for number in cancelled:
            waiting[number].cancel()
        answers = await ready(maker, *waiting)
        assert [answer for number, answer in enumerate(answers) if number not in cancelled] == ["a 1"] * (
            3 - len(cancelled)
        )
        assert await maker.asked(flights) == "a 1"
        assert maker.made == ["a"]

    asyncio.run(scenario())


@pytest.mark.parametrize(("remembered", "kept"), [(0, []), (1, ["c"]), (2, ["b", "c"]), (None, ["a", "b", "c"])])
def test_the_last_values_are_remembered(remembered: int | None, kept: list[str]) -> None:
    async def scenario() -> None:
        flights = SingleFlight[str, str](remembered)
        maker = Maker()
        maker.go.set()
        for key in "abc":
            await maker.asked(flights, key)
        for key in "cba":
            await maker.asked(flights, key)
        assert maker.made[3:] == [key for key in "cba" if key not in kept]

    asyncio.run(scenario())


def test_a_later_event_loop_has_the_values_and_makes_again_what_the_first_left_unfinished() -> None:
    flights = SingleFlight[str, str]()

    async def ended() -> None:
        quick = Maker()
        endless = Maker()
        quick.go.set()
        assert await quick.asked(flights) == "a 1"
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(endless.asked(flights, "b"), 0.01)
        assert endless.made == ["b"]

    async def later() -> None:
        maker = Maker()
        maker.go.set()
        assert await maker.asked(flights) == "a 1"
        assert await maker.asked(flights, "b") == "b 1"
        assert maker.made == ["b"]

    asyncio.run(ended())
    asyncio.run(later())


def test_two_event_loops_at_once_do_not_wait_for_each_other() -> None:
    flights = SingleFlight[str, str]()
    begun = threading.Event()
    end = threading.Event()
    answers: list[str] = []

    async def slow() -> str:
        begun.set()
        await asyncio.to_thread(end.wait, 10)
        return "slow"

    async def quick() -> str:
        return "quick"

    thread = threading.Thread(target=lambda: answers.append(asyncio.run(flights.get("a", slow))))
    thread.start()
    assert begun.wait(10)
    assert asyncio.run(asyncio.wait_for(flights.get("a", quick), 5)) == "quick"
    end.set()
    thread.join()
    assert answers == ["slow"]
