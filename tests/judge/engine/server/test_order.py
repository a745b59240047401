"""Requests that wait for a free place are sent in the order of what they have in common."""

import asyncio
from collections.abc import Sequence

import pytest
from fake_server import serve

from rag_evaluator.judge import Address, OpenRequests, Transport

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
Prompt = tuple[int, ...]
A, B = (1, 2, 3), (7, 8)


def sent(first: Prompt, waiting: Sequence[Prompt], cancelled: Sequence[int] = ()) -> list[int]:
    """Places among the waiting, in the order of being sent, one at a time."""
    order: list[int] = []

    async def ask(requests: OpenRequests, prompt: Prompt, place: int) -> None:
        async with requests.slot(prompt):
            order.append(place)
            await asyncio.sleep(0)

    async def all_of_them() -> None:
        requests = OpenRequests(1)
        async with requests.slot(first):
            tasks = [asyncio.create_task(ask(requests, prompt, place)) for place, prompt in enumerate(waiting)]
            await asyncio.sleep(0)
            for place in cancelled:
                tasks[place].cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)

    asyncio.run(all_of_them())
    return order


@pytest.mark.parametrize(
    ("waiting", "order"),
    [
        ([(*B, 1), (*A, 1), (*B, 2), (*A, 2)], [1, 3, 0, 2]),
        ([(*A, 5), A, (*A, 5, 6), (*A, 5, 7)], [1, 0, 2, 3]),
        ([(*B, 1), (*A, 9), (*B, 2), (*A, 4, 1), (*A, 4, 2)], [3, 4, 1, 0, 2]),
        ([A, A, A], [0, 1, 2]),
        ([(), (), ()], [0, 1, 2]),
        ([B, (), A, ()], [2, 0, 1, 3]),
    ],
)
def test_of_what_waits_the_one_that_shares_most_with_the_last_goes_first(
    waiting: Sequence[Prompt], order: list[int]
) -> None:
    assert sent(A, waiting) == order


def test_a_request_that_was_cancelled_while_it_waited_keeps_no_place() -> None:
    assert sent(A, [B, (*A, 1), (*A, 2), B], cancelled=[1, 3]) == [2, 0]


def test_the_order_is_that_of_the_token_ids_which_a_server_is_asked_with() -> None:
    prompts = [[1, 2, 3], [9, 9, 1], [1, 2, 4], [9, 9, 2], [1, 2, 5]]
    with serve() as fake:
        fake.write = lambda body: {"seen": body["prompt"]}

        async def ask() -> None:
            transport = Transport(Address(fake.url), offline=True, most=1)
            await asyncio.gather(*(transport.post("completions", {"prompt": prompt}) for prompt in prompts))
            await transport.aclose()

        asyncio.run(ask())
        seen = [body["prompt"] for path, body, _ in fake.asked if path == "/v1/completions"]
    assert seen == [[1, 2, 3], [1, 2, 4], [1, 2, 5], [9, 9, 1], [9, 9, 2]]
