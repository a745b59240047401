import asyncio
import math
from collections.abc import Sequence

import pytest
from made_engine import MadeEngine, judge_of

Ids = tuple[int, ...]
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


class Table(MadeEngine):
    """An engine whose options are letters, with the probabilities of a table."""

    def __init__(self, values: dict[Ids, dict[int, float]]) -> None:
        super().__init__()
        self.values = values
        self.asked: list[Ids] = []

    async def next_logprobs(self, input_ids: Sequence[int], candidates: Sequence[int], group: str = "") -> list[float]:
        self.asked.append(tuple(input_ids))
        return [math.log(self.values[tuple(input_ids)][token]) for token in candidates]


@pytest.mark.parametrize(("options", "values", "shares"), CASES.values(), ids=CASES)
def test_options_get_their_shares_where_they_part(
    options: list[Ids], values: dict[Ids, dict[int, float]], shares: list[float]
) -> None:
    engine = Table(values)
    texts = ["".join(map(chr, option)) for option in options]
    chosen = asyncio.run(judge_of(engine).choose("\t", texts))
    assert [chosen[text] for text in texts] == pytest.approx(shares)
    assert engine.asked == list(values)
