"""Which judge to use: the sentence is right where it is known which one is."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from scipy.special import ndtri

from rag_evaluator.features.judges.conclusion import sentences_of
from rag_evaluator.features.judges.figures import Scored, figures_of
from rag_evaluator.statistics import Array

ROWS = 600
LABELS = (np.arange(ROWS) % 2).astype(float)
HARD = np.random.default_rng(1).standard_normal(ROWS)
EASY = np.arange(ROWS) % 5 == 0


def judge(area: float, seed: int, like: float = 0.5, rows: int = ROWS) -> Array:
    """Scores of an AUC; `like`: the share of a score's variance that all judges have, as some rows are harder."""
    own = np.random.default_rng(seed).standard_normal(ROWS)
    scores = np.sqrt(2) * ndtri(area) * LABELS + np.sqrt(like) * HARD + np.sqrt(1 - like) * own
    return np.asarray(scores[:rows])


def without(scores: Array, missing: Array) -> Array:
    return np.where(missing, np.nan, scores)


A = judge(0.86, 2)
WORDS = judge(0.7, 3)
ONLY_EASY = without(np.where(EASY, judge(0.94, 4), A), ~EASY)
SIX = {f"j{place}": without(judge(0.86, 5 + place), np.arange(ROWS) % 6 == place) for place in range(6)}
CASES: Mapping[str, tuple[Mapping[str, Array], Array, Mapping[str, float], Sequence[str]]] = {
    "the best beats words, and nobody is faster": (
        {"a": A, "b": judge(0.6, 11)}, WORDS, {"a": 1, "b": 1},
        ["a has the highest AUC for m, 0.", "counting words has 0.7"],
    ),
    "a faster one is as good": (
        {"a": judge(0.86, 12, 0.98), "b": judge(0.86, 13, 0.98)}, WORDS, {"a": 2, "b": 1},
        ["has the highest AUC", "b is within 0.05 of it (difference ", "and twice as fast: take b."],
    ),
    "a faster one is much worse": (
        {"a": judge(0.95, 14), "b": judge(0.8, 15)}, WORDS, {"a": 3, "b": 1},
        ["a has the highest AUC", "Faster ones are lower by more than 0.05: take a."],
    ),
    "not settled whether a faster one is as good": (
        {"a": judge(0.87, 16, 0), "b": judge(0.85, 17, 0)}, WORDS, {"a": 3, "b": 1},
        ["a has the highest AUC", "Not settled whether b, 3.0 times as fast, is within 0.05 of it", "more labels."],
    ),
    "it answers the easy fifth only": (
        {"a": A, "b": ONLY_EASY}, WORDS, {"a": 2, "b": 1},
        ["a has the highest AUC", "b is shown, not ranked: it has scores for 120 of 600 labels."],
    ),
    "equal scores": (
        {"a": A, "b": A.copy()}, WORDS, {"a": 2, "b": 1},
        ["a has the highest AUC", "b is within 0.05 of it (difference 0.00 [0.00, 0.00])", "a and b are the same"],
    ),
    "six that each miss other rows": (
        SIX, judge(0.55, 23), {}, ["has the highest AUC for m, 0.7", "counting words has 0.5", "Not settled whether"],
    ),
    "one is below counting words": (
        {"a": judge(0.55, 18)}, judge(0.8, 19), {"a": 1},
        ["No judge is shown to beat counting words for m, AUC 0.8", "Of the judges a has the highest, 0.5"],
    ),
    "hardly above counting words": (
        {"a": judge(0.75, 20, 0)}, judge(0.72, 21, 0), {"a": 1},
        ["No judge is shown to beat counting words for m", "about "],
    ),
    "without an error": (
        {"a": LABELS.copy(), "b": judge(0.9, 22)}, WORDS, {"a": 1, "b": 1},
        ["a has the highest AUC for m, 1.00 [0.98, 1.00] by 600 labels; counting words has 0.7"],
    ),
    "inverse": (
        {"a": -A, "b": A}, WORDS, {"a": 1, "b": 9},
        ["b has the highest AUC", "Faster ones are lower by more than 0.05: take b."],
    ),
    "too few labels of a kind": (
        {"a": A}, WORDS, {}, ["No judge is ranked for m: 9 labels of the rarer kind, 10 are needed."],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_sentence_is_right(case: str) -> None:
    scores, words, seconds, expected = CASES[case]
    labels = LABELS
    if case.startswith("too few"):
        labels = np.where((LABELS == 0) & (np.arange(ROWS) >= 18), np.nan, LABELS)
    units = [f"c{place // 6}" for place in range(ROWS)]
    scored = Scored(labels, units, {"words": words, "sentences": np.full(ROWS, np.nan)}, scores)
    said = list(sentences_of("m", figures_of(scored, 0.05), seconds, 0.05))
    text = " ".join(said)
    places = [text.find(part) for part in expected]
    assert -1 not in places and places == sorted(places), said
    assert said[0].startswith(expected[0][:8]) or expected[0].startswith("has"), said
