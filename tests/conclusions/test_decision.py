"""The line under the headline of a comparison: it names a run only where the rule of differences shows one."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rag_evaluator import compare

CHANGES = {"better": 0.3, "worse": -0.3, "not settled": 0.0, "equal in all rows": None}
METRICS = ("faithfulness", "context_recall")


def compared(kinds: Sequence[str], rows: int = 40) -> Any:
    """Two runs, of which the second is another one in each metric as its kind says."""
    chance = np.random.default_rng(7)
    first = {metric: chance.choice([0.4, 0.5, 0.6], rows) for metric in METRICS}
    changes = {metric: CHANGES[kind] for metric, kind in zip(METRICS, kinds, strict=True)}
    second = {
        metric: first[metric] + (0 if change is None else change + chance.choice([-0.1, 0.1], rows))
        for metric, change in changes.items()
    }
    ids = [f"Q{number}" for number in range(rows)]
    return compare(*(pd.DataFrame({"id": ids, "user_input": ids, **scores}) for scores in (first, second)))


@pytest.mark.parametrize("kinds", list(product(CHANGES, repeat=2)), ids=str)
def test_the_decision_never_says_more_than_what_is_shown(kinds: Sequence[str]) -> None:
    comparison = compared(kinds)
    words = comparison.decisions[0].decision
    shown = set(kinds) & {"better", "worse"}
    starts = {
        frozenset({"better"}): "run 2. ",
        frozenset({"worse"}): "run 1. ",
        frozenset(): "Neither is shown to be better.",
    }
    assert f"{words} ".startswith(starts.get(frozenset(shown), "Neither alone: run 2 is better in "))
    unsettled = words.partition("Not settled: ")[2].partition(".")[0]
    assert [metric for metric in METRICS if metric in unsettled] == [
        metric for metric, kind in zip(METRICS, kinds, strict=True) if kind == "not settled"
    ]
    headline = comparison.conclusion.sentences[0]
    for word in ("better", "worse"):
        assert (f"is {word} in" in headline) == (word in kinds), "the headline and the decision rest on the same rule"


def test_the_rows_to_read_are_those_where_the_chosen_run_lost() -> None:
    better = compared(("better", "worse"))
    lost = {change.name for change in better.changed if change.direction == "worse"}
    words = better.decisions[0].decision
    named = words.partition("Read rows ")[2].partition(", where run 2 lost")[0]
    assert named and set(named.replace(" and ", ", ").split(", ")) <= lost


def test_counts_of_rows_are_those_of_the_metric_that_the_headline_names_first() -> None:
    mixed = compared(("worse", "better"))
    assert mixed.conclusion.sentences[0].partition("is better in ")[2].startswith("context_recall")
    means = "sentences of the reference that the contexts support"
    words = f"In context_recall ({means}) run 2 scores better in 40 of 40 rows, worse in 0, the same in 0."
    assert mixed.decisions[0].in_rows == words
    assert compared(("equal in all rows",) * 2).decisions[0].in_rows == ""
