"""Repeated questions are found as comparing each with each would find them."""

import random
from typing import Any

import numpy as np
import pytest
from rapidfuzz import fuzz

from rag_evaluator.features.testset.selection import duplicates_of

WORDS = "how long is the bridge of Arlen Tesk built by whom in which year was it opened".split()


def made(count: int, words: int, seed: int = 0) -> list[dict[str, Any]]:
    """Questions of a few words, so that some are alike, with vectors of which some are near."""
    chance = random.Random(seed)
    vectors = np.random.default_rng(seed).normal(size=(7, 16))
    found = []
    for _ in range(count):
        chunks = [chance.randrange(4)]
        fields = {
            "question": " ".join(chance.choices(WORDS, k=words)),
            "answer": chance.choice(["412 metres", "412 metres long", "In 1931", "Maria Holt"]),
            "chunks": chunks,
            "correct": {"chunks": chunks},
            "vector": list(vectors[chance.randrange(7)] + 0.1 * np.array(chance.choices([0, 1], k=16))),
        }
        found.append(fields)
    return found


def is_repeat(one: Any, other: Any) -> bool:
    letters = fuzz.token_sort_ratio(one["question"].lower(), other["question"].lower())
    first = np.float32(one["vector"])
    second = np.float32(other["vector"])
    cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
    alike = fuzz.token_set_ratio(one["answer"].lower(), other["answer"].lower()) >= 80
    is_near = letters >= 90 or cosine >= 0.95
    return bool(letters == 100 or (is_near and alike and set(one["chunks"]) & set(other["chunks"])))


@pytest.mark.parametrize(("count", "words", "seed"), [(0, 3, 0), (1, 3, 0), (60, 2, 1), (120, 4, 2), (300, 9, 3)])
def test_the_first_question_that_another_repeats_is_found_and_repeats_of_repeats_are_not_counted(
    count: int, words: int, seed: int
) -> None:
    candidates = made(count, words, seed)
    expected: dict[int, int] = {}
    for place, candidate in enumerate(candidates):
        for first in range(place):
            if first not in expected and is_repeat(candidate, candidates[first]):
                expected[place] = first
                break
    assert duplicates_of(dict(enumerate(candidates))) == expected
    assert bool(expected) == (count > 1)
