import math

import pytest
import torch

from rag_evaluator.judge.engine.transformers.choice import Ids, probabilities


def table(values: dict[Ids, dict[int, float]], asked: list[Ids]):  # type: ignore[no-untyped-def]
    """A model of five tokens: next-token probabilities by sequence; the rest is shared by token 4."""

    def next_logits(sequences: list[Ids]) -> torch.Tensor:
        asked.extend(sequences)
        rows = []
        for sequence in sequences:
            shares = [values[sequence].get(token, 1e-12) for token in range(4)]
            rows.append([math.log(share) for share in [*shares, max(1 - sum(shares), 1e-12)]])
        return torch.tensor(rows)

    return next_logits


def test_options_with_different_first_tokens_take_one_pass() -> None:
    asked: list[Ids] = []
    shares = probabilities([(9,)], [[(1,), (2, 3)]], table({(9,): {1: 0.2, 2: 0.6}}, asked))
    assert shares == [pytest.approx([0.25, 0.75])]
    assert asked == [(9,)]


def test_options_that_share_their_first_token_are_told_apart_where_they_part() -> None:
    asked: list[Ids] = []
    values = {(9,): {1: 0.5, 2: 0.5}, (9, 1): {2: 0.3, 3: 0.1}}
    shares = probabilities([(9,)], [[(1, 2), (1, 3), (2,)]], table(values, asked))
    assert shares == [pytest.approx([0.5 * 0.75, 0.5 * 0.25, 0.5])]
    assert asked == [(9,), (9, 1)]


def test_an_option_that_another_continues_gets_what_the_other_does_not() -> None:
    shares = probabilities([(9,)], [[(1,), (1, 2)]], table({(9,): {1: 0.7}, (9, 1): {2: 0.4}}, []))
    assert shares == [pytest.approx([0.6, 0.4])]
