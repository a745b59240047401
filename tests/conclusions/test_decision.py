"""The line under the headline of a comparison: it names a run only where the rule of differences shows one."""

import re
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conclusions.made_results import NAN, made
from conclusions.test_conclusions import COMPARISONS, F, compared_by_hand

from rag_evaluator import METRICS, JudgementError, RAGEvaluator, ScriptedJudge, compare
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
        frozenset(): "Neither run is shown to be better.",
    }
    assert f"{words} ".startswith(starts.get(frozenset(shown), "Neither: run 2 is better in "))
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


NONE = [NAN] * 20
SMALL = [0.5, 0.52] * 15
LARGE = [0.9, 0.3] * 5 + NONE
TINY = [0.5, 0.51] * 15


@pytest.mark.parametrize(
    ("second", "margin", "headline"),
    [
        (
            (SMALL, LARGE),
            None,
            "Not settled: b may be better or worse than a, according to this judge. context_recall 0.50",
        ),
        (([0.1, 0.8] * 15, TINY), {"context_recall": 0.1}, "Equal within the margin of 0.1: context_recall"),
        (([0.9] * 30, LARGE), None, "b is better in faithfulness by 0.40"),
    ],
)
def test_the_headline_and_the_counts_below_it_are_of_one_metric(
    second: Sequence[list[float]], margin: dict[str, float] | None, headline: str
) -> None:
    first = ([0.5] * 30, [0.5] * 10 + NONE if second[1] is LARGE else [0.5] * 30)
    runs = [made(dict(zip(TWO, scores, strict=True)), name) for name, scores in zip("ab", (first, second), strict=True)]
    comparison = compare(*runs, margin=margin)
    assert comparison.conclusion.sentences[0].startswith(headline)
    metric = next(metric for metric in TWO if metric in headline)
    assert comparison.decisions[0].in_rows.startswith(f"In {metric} (")


def faithful(folder: Path, good: Callable[[int], bool], rows: int = 60, failing: int = 0, **judge: Any) -> Path:
    """A run of faithfulness, where the last rows have no score; its statements are the response, or `text`."""
    text = judge.pop("text", None)
    town = folder.name * 4

    def answer(prompt: Any, model: type) -> dict[str, Any]:
        if model.__name__.startswith("StatementGen"):
            if (number := int(prompt.data.answer.split()[1])) >= rows - failing:
                raise JudgementError(f"nothing is said of {number}")
            return {"statements": [text or prompt.data.answer]}
        number = int(prompt.data.context)
        verdict = {"reason": "r", "verdict": int(good(number))}
        return {"statements": [{"statement": statement, **verdict} for statement in prompt.data.statements]}

    table = [
        {
            "user_input": f"Who is {row}?",
            "response": f"Person {row} was born in {town}.",
            "retrieved_contexts": [str(row)],
        }
        for row in range(rows)
    ]
    judge = {"model_id": "judge", **judge}
    RAGEvaluator({"metrics": ["faithfulness"], "report": False}, ScriptedJudge(answer, **judge)).evaluate(
        table, folder=folder
    )
    return folder


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "b."),
        ({"failing": 1}, "b."),
        ({"failing": 4}, "No run is named: b is better, but it has no score of faithfulness in 4 of 60 rows"),
        ({"rows": 30}, "No run is named: b is better, but it has no score of faithfulness in 30 of 60 rows"),
        ({"model_id": "judge-2"}, "No run is named: the runs differ in judge."),
        ({"text": "It is so."}, "No run is named: the judge's work is doubtful."),
    ],
    ids=str,
)
def test_no_run_is_named_that_conditions_or_missing_scores_may_have_made_better(
    options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    runs = faithful(tmp_path / "a", lambda row: row % 3 == 0), faithful(tmp_path / "b", lambda row: True, **options)
    for pair, name in ((runs, "b"), (runs[::-1], "b")):
        [decision] = compare(*pair).decisions
        assert decision.decision.startswith(words)
        assert decision.named == (str(tmp_path / name) if words == "b." else None)


def test_a_lead_that_lost_scores_may_have_made_names_no_run() -> None:
    base = [0.5] * 100
    lost = [0.54] * 96 + [NAN] * 4
    decisions = [
        compare(made({F: base}), made({F: [*run]}, "b")).decisions[0] for run in (lost, [0.6] * 96 + [NAN] * 4)
    ]
    assert [decision.named for decision in decisions] == [None, "b"]
    assert "b is better, but it has no score of faithfulness in 4 of 100 rows" in decisions[0].decision


SIDES = {"better": 1, "worse": -1}
RESULTS = [(name, 0) for name in COMPARISONS] + [
    (kinds, rows) for rows in (1, 8, 40, 300) for kinds in product(CHANGES, repeat=2)
]


def intervals_drawn(page: str) -> dict[str, list[float]]:
    """Metric -> ends of its interval in the bars of differences, 0 in the middle."""
    bars = re.findall(r'<th scope="row"><bdi class="metric">(.*?)</bdi>.*?(<svg.*?</svg>)', page, re.DOTALL)
    ends = {
        metric.replace("<wbr>", ""): re.findall(r'class="whisker" x1="(.*?)%" x2="(.*?)%"', bar) for metric, bar in bars
    }
    return {metric: [float(end) - 50 for end in whisker[0]] for metric, whisker in ends.items() if whisker}


@pytest.mark.parametrize(("result", "rows"), RESULTS, ids=str)
def test_title_decision_and_picture_never_contradict_each_other(result: str | tuple[str, str], rows: int) -> None:
    comparison = compared_by_hand(result) if isinstance(result, str) else compared(result, rows)
    said = " ".join(comparison.conclusion.sentences)
    drawn = intervals_drawn(comparison_html(comparison))
    may = re.search(r"may (?:be|score) (better|worse) than .*?\. (\w+) \d", said)
    if may:
        upwards = -SIDES[may[1]] if METRICS[may[2]].scale.better == "lower" else SIDES[may[1]]
        assert min(upwards * end for end in drawn[may[2]]) > 0
    named: dict[str, list[str]] = {}
    for word, side in SIDES.items():
        part = " ".join(re.findall(rf"{word} in (.*?)(?:(?:better|worse) in|$)", said))
        named[word] = [metric for metric in drawn if f"{metric} by" in part]
        for metric in named[word]:
            upwards = -side if METRICS[metric].scale.better == "lower" else side
            assert min(upwards * end for end in drawn[metric]) > 0
    first, second = comparison.runs
    better = bool(named["better"])
    worse = bool(named["worse"])
    start = {(True, False): f"{second}.", (False, True): f"{first}.", (True, True): "Neither:"}
    if result == "another judge":
        start[True, False] = "No run is named: the runs differ in judge."
    assert comparison.decisions[0].decision.startswith(start.get((better, worse), "Neither run is shown"))
