import asyncio
import math
from collections.abc import Sequence

import pytest

from rag_evaluator.judge.engine_judge import probabilities
from rag_evaluator.judge.protocol import Ids

CASES: dict[str, tuple[list[Ids], dict[Ids, dict[int, float]], list[float]]] = {  # options, a table of next tokens
    "different first tokens, in one pass": ([(1,), (2, 3)], {(9,): {1: 0.2, 2: 0.6}}, [0.25, 0.75]),
    "the same first token": (
        [(1, 2), (1, 3), (2,)],
        {(9,): {1: 0.5, 2: 0.5}, (9, 1): {2: 0.3, 3: 0.1}},
        [0.5 * 0.75, 0.5 * 0.25, 0.5],
    ),
    "one that another continues gets what the other does not": (
        [(1,), (1, 2)],
        {(9, 1): {2: 0.4}},
        [0.6, 0.4],
    ),
}


@pytest.mark.parametrize(("options", "values", "shares"), CASES.values(), ids=CASES)
def test_options_get_their_shares_where_they_part(
    options: list[Ids], values: dict[Ids, dict[int, float]], shares: list[float]
) -> None:
    asked: list[Ids] = []

    async def next_logprobs(input_ids: Ids, candidates: Sequence[int]) -> list[float]:
        asked.append(input_ids)
        return [math.log(values[input_ids][token]) for token in candidates]

    assert asyncio.run(probabilities((9,), options, next_logprobs)) == pytest.approx(shares)
    assert asked == list(values)
