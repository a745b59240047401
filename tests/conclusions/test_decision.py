"""The line under the headline of a comparison: it names a run only where the rule of differences shows one."""

import base64
import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conclusions.test_conclusions import COMPARISONS, compared_by_hand

from rag_evaluator import METRICS, compare
from rag_evaluator.report import comparison_html

CHANGES = {"better": 0.3, "worse": -0.3, "not settled": 0.0, "equal in all rows": None}
TWO = ("faithfulness", "context_recall")


def compared(kinds: Sequence[str], rows: int = 40) -> Any:
    """Two runs, of which the second is another one in each metric as its kind says."""
    chance = np.random.default_rng(7)
    first = {metric: chance.choice([0.4, 0.5, 0.6], rows) for metric in TWO}
    changes = {metric: CHANGES[kind] for metric, kind in zip(TWO, kinds, strict=True)}
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
    assert [metric for metric in TWO if metric in unsettled] == [
        metric for metric, kind in zip(TWO, kinds, strict=True) if kind == "not settled"
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


SIDES = {"better": 1, "worse": -1}
RESULTS = [*COMPARISONS, *product(CHANGES, repeat=2)]


def intervals_drawn(page: str) -> dict[str, list[float]]:
    """Metric -> ends of its interval in the pictures of differences."""
    pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', page)
    texts = " ".join(base64.b64decode(data).decode() for data in pictures)
    lines = re.findall(r'aria-label="low: ([^;]*); label: ([^;]*); high: ([^"]*)"', texts)
    return {metric: [float(end.replace("\N{MINUS SIGN}", "-")) for end in (low, high)] for low, metric, high in lines}


@pytest.mark.charts
@pytest.mark.parametrize("result", RESULTS, ids=str)
def test_title_decision_and_picture_never_contradict_each_other(result: str | tuple[str, str]) -> None:
    comparison = compared_by_hand(result) if isinstance(result, str) else compared(result)
    said, drawn = " ".join(comparison.conclusion.sentences), intervals_drawn(comparison_html(comparison))
    named: dict[str, list[str]] = {}
    for word, side in SIDES.items():
        part = " ".join(re.findall(rf"{word} in (.*?)(?:(?:better|worse) in|$)", said))
        named[word] = [metric for metric in drawn if f"{metric} by" in part]
        for metric in named[word]:
            upwards = -side if METRICS[metric].scale.better == "lower" else side
            assert min(upwards * end for end in drawn[metric]) > 0
    first, second = comparison.runs
    better, worse = bool(named["better"]), bool(named["worse"])
    start = {(True, False): f"{second}.", (False, True): f"{first}.", (True, True): "Neither alone:"}
    assert comparison.decisions[0].decision.startswith(start.get((better, worse), "Neither is shown"))
