"""The sentences of a duel: figures made by hand, and what a statistician would sign."""

from collections.abc import Mapping
from typing import Any

import pytest

from rag_evaluator.features.duel import duel_conclusion

JUDGED = {"judge": {"model": "/models/qwen"}}
TOY = {"judge": {"model": "demo"}}
FAIR = {"pairs": 40, "first_won_twice": 0.1, "second_won_twice": 0.05}
NO_PAIR = {"pairs": 0, "first_won_twice": None, "second_won_twice": None}


def summary(
    mean: float | None,
    low: float | None = None,
    high: float | None = None,
    rows: int = 40,
    same: int = 4,
    bias: Mapping[str, Any] = FAIR,
    reasons: Mapping[str, int] | None = None,
    b: str = "demo",
) -> dict[str, Any]:
    """What `duel_summary.json` has, as far as sentences need it."""
    rate = {"mean": mean, "ci_low": low, "ci_high": high, "scored": rows, "reasons": reasons or {}}
    return {"a": "base", "b": b, "same": same, "measures": {"win rate of a": rate}, "position_bias": bias}


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "a wins": (
        summary(0.62, 0.51, 0.72),
        JUDGED,
        ["base wins: 0.62 [0.51, 0.72] of 40 rows against demo, ties count half, according to this judge."],
    ),
    "a loses: the figures are those of b": (
        summary(0.3, 0.21, 0.42),
        TOY,
        ["demo wins: 0.70 [0.58, 0.79] of 40 rows against base, ties count half, according to the toy judge."],
    ),
    "not settled": (
        summary(0.52, 0.4, 0.64),
        JUDGED,
        [
            "Not settled which run answers better: base wins 0.52 [0.40, 0.64] of 40 rows against demo, ties count "
            "half, according to this judge."
        ],
    ),
    "the interval touches one half": (
        summary(0.6, 0.5, 0.7),
        JUDGED,
        [
            "Not settled which run answers better: base wins 0.60 [0.50, 0.70] of 40 rows against demo, ties count "
            "half, according to this judge."
        ],
    ),
    "the interval is just above one half": (
        summary(0.6, 0.5004, 0.7),
        JUDGED,
        ["base wins: 0.6000 [0.5004, 0.7000] of 40 rows against demo, ties count half, according to this judge."],
    ),
    "one row": (
        summary(1.0, 0.0, 1.0, rows=1, same=0),
        JUDGED,
        [
            "Not settled which run answers better: base wins 1.00 [0.00, 1.00] of 1 row against demo, ties count half, "
            "according to this judge."
        ],
    ),
    "the same answers": (
        summary(0.5, 0.44, 0.56, rows=24, same=24, bias=NO_PAIR),
        TOY,
        ["No difference: in 24 rows both runs have the same answer, and the judge was not asked."],
    ),
    "nothing could be judged": (
        summary(None, rows=0, same=0, bias=NO_PAIR, reasons={"there is no question": 3}),
        JUDGED,
        ["Nothing could be judged: there is no question."],
    ),
    "no row has two answers": (
        summary(None, rows=0, same=0, bias=NO_PAIR),
        JUDGED,
        ["Nothing could be judged: no row has an answer of both runs."],
    ),
    "runs of one name": (
        summary(0.62, 0.51, 0.72, b="base"),
        JUDGED,
        ["base (a) wins: 0.62 [0.51, 0.72] of 40 rows against base (b), ties count half, according to this judge."],
    ),
    "a judge that chooses by place": (
        summary(0.52, 0.4, 0.64, bias={"pairs": 36, "first_won_twice": 0.5, "second_won_twice": 0.25}),
        JUDGED,
        [
            "Not settled which run answers better: base wins 0.52 [0.40, 0.64] of 40 rows against demo, ties count "
            "half, according to this judge.",
            "In 75 % of 36 rows the judge chose the same place in both orders, mostly the first: the place counted "
            "more than the answers.",
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_sentences_are_those_that_a_statistician_would_sign(case: str) -> None:
    figures, config, expected = CASES[case]
    conclusion = duel_conclusion(figures, config, ["results/base", "results/demo"])
    assert conclusion.sentences == expected
    assert conclusion.next == "rag-evaluator compare results/base results/demo"
