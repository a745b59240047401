"""What questions have in common beyond the prefix of their batch is computed once."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_models import Tiny, plain_of

from rag_evaluator import Judge, sort

RNG = random.Random(5)
Decoder = Callable[..., tuple[Judge, Any]]
HEAD, *TEXTS = (tuple(RNG.choices(range(20, 600), k=size)) for size in (60, 30, 31, 32, 33, 34))


def comparison(first: int, second: int) -> tuple[int, ...]:
    return (*HEAD, *TEXTS[first], 19, *TEXTS[second], 18)


@pytest.fixture
def decoder(tiny: Tiny) -> Decoder:
    """A judge and its decoder. Any: a test looks into the engine."""

    def load(batch_size: int = 16) -> tuple[Judge, Any]:
        judge: Any = tiny("qwen2-chat", dtype="float32", batch_size=batch_size)
        return judge, judge.inner.engine.decoder

    return load


def assert_as_alone(judge: Judge, asked: list[tuple[int, ...]], logits: torch.Tensor) -> None:
    """The logits of each question are those of the question without others."""
    for ids, row in zip(asked, logits, strict=True):
        (alone,) = plain_of(judge).next_logits([ids])
        assert row.tolist() == pytest.approx(alone.tolist(), abs=1e-4)


@pytest.mark.parametrize("batch_size", [1, 2, 16])
def test_logits_stay_the_same_when_a_first_context_was_seen_before(decoder: Decoder, batch_size: int) -> None:
    judge, packed = decoder(batch_size)
    pairs = [[(0, 1), (1, 0)], [(0, 2), (2, 0)], [(0, 3), (1, 3), (2, 3), (0, 4)], [(0, 1), (4, 0)], [(2, 4)]]
    for batch in pairs:
        asked = [comparison(*pair) for pair in batch]
        with torch.inference_mode():
            assert_as_alone(judge, asked, packed.next_logits(asked))


LONG = tuple(range(20, 120))
SEEN = [[comparison(0, 1), comparison(1, 0)], [comparison(0, 2), comparison(2, 0)]]
COMPUTED: dict[str, tuple[list[list[tuple[int, ...]]], list[tuple[int, ...]], int]] = {
    "a first context that two questions have shown": (
        SEEN,
        [comparison(0, 3), comparison(3, 0)],
        2 * (len(comparison(0, 3)) - len(HEAD)) - len(TEXTS[0]) - 1,
    ),
    "what questions of one batch begin with": (
        [],
        [(*HEAD, *LONG, 5), (*HEAD, 9, *LONG), (*HEAD, *LONG, 6, 7)],
        len(HEAD) + 101 + 101 + 2,
    ),
    "one question alone": (SEEN[:1], [comparison(3, 2)], len(comparison(3, 2)) - len(HEAD)),
    "a prefix that is longer by chance": (
        SEEN[:1],
        [(*HEAD, *TEXTS[0][:3], 7, 8), (*HEAD, *TEXTS[0][:3], 9, 10)],
        2 * 5,
    ),
}


@pytest.mark.parametrize(("seen", "asked", "computed"), COMPUTED.values(), ids=COMPUTED)
def test_what_was_computed_is_not_computed_again_and_changes_no_logits(
    decoder: Decoder, seen: list[list[tuple[int, ...]]], asked: list[tuple[int, ...]], computed: int
) -> None:
    judge, packed = decoder()
    with torch.inference_mode():
        for batch in seen:
            packed.next_logits(batch)
        before = packed.computed
        logits = packed.next_logits(asked)
        assert packed.computed - before == computed
        assert_as_alone(judge, asked, logits)


def test_sorting_computes_a_context_less_often_than_it_shows_it_and_finds_the_same_order(
    decoder: Decoder, tmp_path: Path
) -> None:
    contexts = [" ".join(random.Random(i).choices(["Nolu", "Brak", "painter", "born"], k=40)) for i in range(16)]
    computed = []
    orders = []
    for most in (10_000, 0):
        judge, packed = decoder()
        packed.beginnings.kept.most = most
        how: Any = {"judge": judge, "fast": False, "strategy": "merge", "output_dir": tmp_path, "fresh": True}
        orders += sort(["Where was Nolu Brak born?"], [contexts], indices=True, **how)
        computed.append(packed.computed - packed.prefixes.computed)
    assert orders[0] == orders[1]
    assert computed[0] < 0.8 * computed[1]


def test_keys_and_values_are_kept_within_the_memory_that_is_left(decoder: Decoder) -> None:
    _, packed = decoder()
    packed.beginnings.kept.most = 70
    with torch.inference_mode():
        for second in (1, 2, 3, 4):
            packed.next_logits([comparison(0, second), comparison(second, 0)])
            packed.next_logits([comparison(second, 4), comparison(4, second)])
    assert 0 < packed.beginnings.kept.tokens <= 70
