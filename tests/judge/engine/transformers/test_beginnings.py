"""What questions have in common beyond the prefix of their batch is computed once."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_models import plain_of

from rag_evaluator import Judge
from rag_evaluator.config import JudgeConfig, SortConfig
from rag_evaluator.judge import CachedJudge
from rag_evaluator.metrics import load_prompts
from rag_evaluator.tasks import Sorter

RNG = random.Random(5)
HEAD, *TEXTS = (tuple(RNG.choices(range(20, 600), k=size)) for size in (60, 30, 31, 32, 33, 34))


def comparison(first: int, second: int) -> tuple[int, ...]:
    return (*HEAD, *TEXTS[first], 19, *TEXTS[second], 18)


def decoder(folder: Path, batch_size: int = 16) -> tuple[Judge, Any]:
    """Any: a test looks into the engine."""
    judge: Any = Judge.from_config(JudgeConfig(model=str(folder), dtype="float32", batch_size=batch_size))
    return judge, judge.inner.engine.decoder


@pytest.mark.parametrize("batch_size", [1, 2, 16])
def test_logits_stay_the_same_when_a_first_context_was_seen_before(
    model_folder: Callable[..., Path], batch_size: int
) -> None:
    judge, packed = decoder(model_folder("qwen2-chat"), batch_size)
    pairs = [[(0, 1), (1, 0)], [(0, 2), (2, 0)], [(0, 3), (1, 3), (2, 3), (0, 4)], [(0, 1), (4, 0)], [(2, 4)]]
    for batch in pairs:
        asked = [comparison(*pair) for pair in batch]
        with torch.inference_mode():
            logits = packed.next_logits(asked)
            for ids, row in zip(asked, logits, strict=True):
                (alone,) = plain_of(judge).next_logits([ids])
                assert row.tolist() == pytest.approx(alone.tolist(), abs=1e-4)


def test_a_first_context_that_two_questions_have_shown_is_not_computed_for_the_third(
    model_folder: Callable[..., Path],
) -> None:
    _, packed = decoder(model_folder("qwen2-chat"))
    with torch.inference_mode():
        packed.next_logits([comparison(0, 1), comparison(1, 0)])
        packed.next_logits([comparison(0, 2), comparison(2, 0)])
        before = packed.computed
        packed.next_logits([comparison(0, 3), comparison(3, 0)])
    whole = sum(len(comparison(*pair)) - len(HEAD) for pair in [(0, 3), (3, 0)])
    assert packed.computed - before == whole - len(TEXTS[0]) - 1


def test_what_questions_of_one_batch_begin_with_is_computed_once(model_folder: Callable[..., Path]) -> None:
    judge, packed = decoder(model_folder("qwen2-chat"))
    long = tuple(range(20, 120))
    asked = [(*HEAD, *long, 5), (*HEAD, 9, *long), (*HEAD, *long, 6, 7)]
    with torch.inference_mode():
        logits = packed.next_logits(asked)
        for ids, row in zip(asked, logits, strict=True):
            (alone,) = plain_of(judge).next_logits([ids])
            assert row.tolist() == pytest.approx(alone.tolist(), abs=1e-4)
    assert packed.computed == len(HEAD) + 101 + 101 + 2


def test_one_question_alone_uses_the_prefix_of_those_before_it(model_folder: Callable[..., Path]) -> None:
    _, packed = decoder(model_folder("qwen2-chat"))
    with torch.inference_mode():
        packed.next_logits([comparison(0, 1), comparison(1, 0)])
        before = packed.computed
        packed.next_logits([comparison(3, 2)])
    assert packed.computed - before == len(comparison(3, 2)) - len(HEAD)


def test_a_prefix_that_is_longer_by_chance_is_not_computed_anew(model_folder: Callable[..., Path]) -> None:
    _, packed = decoder(model_folder("qwen2-chat"))
    begun = (*HEAD, *TEXTS[0][:3])
    with torch.inference_mode():
        packed.next_logits([comparison(0, 1), comparison(1, 0)])
        before = packed.computed
        packed.next_logits([(*begun, 7, 8), (*begun, 9, 10)])
    assert packed.computed - before == 2 * 5


def test_sorting_computes_a_context_less_often_than_it_shows_it_and_finds_the_same_order(
    model_folder: Callable[..., Path],
) -> None:
    contexts = [" ".join(random.Random(i).choices(["Nolu", "Brak", "painter", "born"], k=40)) for i in range(16)]
    prompts = load_prompts(["sort"], "english", Path("prompts"))
    computed, orders = [], []
    for most in (10_000, 0):
        judge, packed = decoder(model_folder("qwen2-chat"))
        packed.beginnings.kept.most = most
        how = CachedJudge(judge), prompts, SortConfig(fast=False, strategy="merge")
        orders.append(asyncio.run(Sorter(*how, "Where was Nolu Brak born?", contexts).sort())["sorted"])
        computed.append(packed.computed - packed.prefixes.computed)
    assert orders[0] == orders[1]
    assert computed[0] < 0.8 * computed[1]


def test_keys_and_values_are_kept_within_the_memory_that_is_left(model_folder: Callable[..., Path]) -> None:
    _, packed = decoder(model_folder("qwen2-chat"))
    packed.beginnings.kept.most = 70
    with torch.inference_mode():
        for second in (1, 2, 3, 4):
            packed.next_logits([comparison(0, second), comparison(second, 0)])
            packed.next_logits([comparison(second, 4), comparison(4, second)])
    assert 0 < packed.beginnings.kept.tokens <= 70
