import asyncio
import math
from collections.abc import Sequence

import pytest

from rag_evaluator.judge import Ids, probabilities


def shares_of(options: list[Ids], values: dict[Ids, dict[int, float]], asked: list[Ids] | None = None) -> list[float]:
    """The options' probabilities after token 9, by a table of next-token probabilities."""

    async def next_logprobs(input_ids: Ids, candidates: Sequence[int]) -> list[float]:
        if asked is not None:
            asked.append(input_ids)
        return [math.log(values[input_ids][token]) for token in candidates]

    return asyncio.run(probabilities((9,), options, next_logprobs))


def test_options_with_different_first_tokens_take_one_pass() -> None:
    asked: list[Ids] = []
    assert shares_of([(1,), (2, 3)], {(9,): {1: 0.2, 2: 0.6}}, asked) == pytest.approx([0.25, 0.75])
    assert asked == [(9,)]


def test_options_that_share_their_first_token_are_told_apart_where_they_part() -> None:
    asked: list[Ids] = []
    values = {(9,): {1: 0.5, 2: 0.5}, (9, 1): {2: 0.3, 3: 0.1}}
    shares = shares_of([(1, 2), (1, 3), (2,)], values, asked)
    assert shares == pytest.approx([0.5 * 0.75, 0.5 * 0.25, 0.5])
    assert asked == [(9,), (9, 1)]


def test_an_option_that_another_continues_gets_what_the_other_does_not() -> None:
    assert shares_of([(1,), (1, 2)], {(9,): {1: 0.7}, (9, 1): {2: 0.4}}) == pytest.approx([0.6, 0.4])
