"""The sentences of a duel: figures made by hand, and what a statistician would sign."""

from collections.abc import Mapping
from typing import Any

import pytest

from rag_evaluator.features.duel.conclusion import duel_conclusion

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


WINS = "{} wins: {} of {} against {}, "
NOT = "Not settled which run answers better: {} wins {} of {} against {}, "
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "a wins": (summary(0.62, 0.51, 0.72), WINS.format("base", "0.62 [0.51, 0.72]", "40 rows", "demo")),
    "figures are those of b": (summary(0.3, 0.21, 0.42), WINS.format("demo", "0.70 [0.58, 0.79]", "40 rows", "base")),
    "not settled": (summary(0.52, 0.4, 0.64), NOT.format("base", "0.52 [0.40, 0.64]", "40 rows", "demo")),
    "at one half": (summary(0.6, 0.5, 0.7), NOT.format("base", "0.60 [0.50, 0.70]", "40 rows", "demo")),
    "just above": (summary(0.6, 0.5004, 0.7), WINS.format("base", "0.6000 [0.5004, 0.7000]", "40 rows", "demo")),
    "one row": (summary(1.0, 0.0, 1.0, rows=1, same=0), NOT.format("base", "1.00 [0.00, 1.00]", "1 row", "demo")),
    "one name": (summary(0.6, 0.5, 0.7, b="base"), NOT.format("base (a)", "0.60 [0.50, 0.70]", "40 rows", "base (b)")),
    "the same": (summary(0.5, 0.44, 0.56, rows=24, same=24, bias=NO_PAIR), "No difference: in 24 rows both runs have"),
    "missing": (summary(None, rows=0, same=0, bias=NO_PAIR, reasons={"none": 3}), "Nothing could be judged: none."),
    "no row": (summary(None, rows=0, same=0, bias=NO_PAIR), "Nothing could be judged: no row has an answer of both"),
}


def test_the_95_percent_interval_says_who_wins_whatever_interval_is_printed() -> None:
    """A run of `ci_level: 0.5` prints a narrow interval, and one of 0.999 a wide one."""
    narrow = summary(0.55, 0.52, 0.58)
    wide = summary(0.7, 0.49, 0.86)
    narrow["measures"]["win rate of a"]["interval_95"] = [0.45, 0.65]
    wide["measures"]["win rate of a"]["interval_95"] = [0.55, 0.82]
    firsts = [duel_conclusion(figures, TOY, []).sentences[0] for figures in (narrow, wide)]
    assert firsts[0].startswith("Not settled which run answers better: base wins 0.55 [0.52, 0.58] of 40 rows")
    assert firsts[1].startswith("base wins: 0.70 [0.49, 0.86] of 40 rows")


@pytest.mark.parametrize(("figures", "beginning"), CASES.values(), ids=CASES)
def test_a_run_wins_if_the_whole_interval_is_on_one_side_of_one_half(figures: dict[str, Any], beginning: str) -> None:
    conclusion = duel_conclusion(figures, TOY, ["results/base", "results/demo"])
    [sentence] = conclusion.sentences
    assert sentence.startswith(beginning)
    assert ("according to the toy judge" in sentence) == ("wins" in sentence)
    assert conclusion.next == "rag-evaluator compare results/base results/demo"


def test_a_judge_that_chooses_by_place_in_most_rows_is_named() -> None:
    by_place = {"pairs": 36, "first_won_twice": 0.5, "second_won_twice": 0.25}
    _, sentence = duel_conclusion(summary(0.52, 0.4, 0.64, bias=by_place), TOY, []).sentences
    assert sentence.startswith("In 75 % of 36 rows the judge chose the same place in both orders, mostly the first")
