"""Functions of the row as metrics: what they may give, how their scores are found again, and where they may live."""

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aliases import Rows
from folders import lines_of, run_command

from rag_evaluator import ConfigError, CustomMetric, RAGEvaluator, ScriptedJudge, metric


@metric(columns=["response"])
def short(response: str) -> bool:
    return len(response) < 20


@metric
async def later(response: str, retrieved_contexts: list[str]) -> tuple[float, str]:
    await asyncio.sleep(0)
    return len(retrieved_contexts) / 4, f"{len(retrieved_contexts)} of 4"


def gives(value: Any) -> Any:
    @metric(name="given")
    def function(response: str) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    return function


def test_a_function_of_the_row_is_scored_beside_other_metrics_and_asks_no_judge(rows: Rows) -> None:
    results = RAGEvaluator({"metrics": ["exact_match", short, later]}).evaluate(rows)
    assert [score.value for score in results.scores["short"]] == [0, 0, 1]
    assert [score.value for score in results.scores["later"]] == [0.5, 0.25, 0.25]
    assert short("can be called as before") is False


@pytest.mark.parametrize(
    ("value", "score", "reason"),
    [
        (True, 1.0, None),
        (0.25, 0.25, None),
        (np.float32(0.5), 0.5, None),
        (np.bool_(True), 1.0, None),
        (None, math.nan, "it gave no value"),
        (math.nan, math.nan, "it gave no value"),
        ((None, "no year in it"), math.nan, "no year in it"),
        ("high", math.nan, "it gave 'high': expected a number, true or false, or None"),
        (2, math.nan, "it gave 2, which is outside its range, 0 to 1"),
        (ValueError("it broke"), math.nan, "it broke"),
        (KeyError(), math.nan, "KeyError"),
    ],
    ids=repr,
)
def test_what_a_function_gives_is_the_score_or_the_reason_why_there_is_none(
    value: Any, score: float, reason: str | None, rows: Rows
) -> None:
    [made] = RAGEvaluator({"metrics": gives(value)}).evaluate(rows[:1]).scores["given"]
    assert (made.value, made.reason) == (pytest.approx(score, nan_ok=True), reason)


def test_the_reason_of_a_value_is_in_the_details(rows: Rows, tmp_path: Path) -> None:
    RAGEvaluator({"metrics": later}).evaluate(rows, folder=tmp_path)
    details = lines_of(tmp_path / "details.jsonl")
    said = [judgement["response"] for line in details for judgement in line["judgements"]]
    assert said[0] == {"reason": "2 of 4", "value": 0.5}
    assert len(said) == 3


def test_columns_of_the_user_come_as_the_rows_have_them(rows: Rows) -> None:
    @metric(range=(0, 5000))
    def latency(milliseconds: float) -> float:
        return milliseconds

    scored = [{**rows[0], "milliseconds": 350}, {**rows[1], "milliseconds": 0}, rows[2]]
    scores = RAGEvaluator({"metrics": latency}).evaluate(scored).scores["latency"]
    assert [score.value for score in scores[:2]] == [350, 0]
    assert scores[2].reason == "no milliseconds in this row"


def counted(limit: int) -> dict[str, Any]:
    def plain(response: str) -> bool:
        CALLS.append(response)
        return len(response) < 20

    def other(response: str) -> bool:
        CALLS.append(response)
        return len(response) < 10

    def closed(response: str) -> bool:
        CALLS.append(response)
        return len(response) < limit

    return {"plain": plain, "other": other, "closed": closed}


CALLS: list[str] = []


@pytest.mark.parametrize(
    ("first", "second", "again"), [("plain", "plain", 0), ("plain", "other", 3), ("closed", "closed", 3)]
)
def test_scores_are_kept_while_the_text_of_the_function_is_the_same(
    first: str, second: str, again: int, rows: Rows, tmp_path: Path
) -> None:
    """A function that uses variables of a function around it has no text that tells it apart."""
    functions = counted(20)
    for name in (first, second):
        CALLS.clear()
        RAGEvaluator({"metrics": metric(functions[name], name="size")}).evaluate(rows, folder=tmp_path, start="update")
    assert len(CALLS) == again


def test_a_run_of_a_function_is_merged_by_a_process_that_does_not_have_it(rows: Rows, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    elsewhere = metric(lambda response: len(response) < 20, name="elsewhere")
    elsewhere.function.__module__ = "no_such_module"
    RAGEvaluator({"metrics": elsewhere, "dataset": str(tmp_path / "rows.jsonl")}).evaluate(folder=tmp_path / "run")
    before = (tmp_path / "run" / "summary.json").read_bytes()
    (tmp_path / "run" / "summary.json").unlink()
    run_command("merge", tmp_path / "run")
    assert (tmp_path / "run" / "summary.json").read_bytes() == before


def test_a_configuration_names_a_function_of_a_module(
    rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_metrics.py").write_text("def short(response):\n    return len(response) < 20\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    definition = {"function": "my_metrics:short", "columns": ["response"]}
    config = {"metrics": ["brief"], "custom_metrics": {"brief": definition}}
    assert [score.value for score in RAGEvaluator(config).evaluate(rows).scores["brief"]] == [0, 0, 1]


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([lambda response: True], "metrics[0] is the function <lambda>. Make a metric of it with @metric(columns=["),
        ([metric(lambda response: True)], "'custom_metrics.<lambda>' is no name of a metric"),
        ([metric(lambda response: True, name="bleu")], "'custom_metrics.bleu' is the name of the metric 'bleu_score'"),
        ([metric(lambda response: True, columns=["reference"], name="x")], "cannot be called with the columns refer"),
        ([metric(lambda response: True, range=(1, 1), name="x")], "'custom_metrics.x.range' is [1, 1]: expected the"),
        ([metric(lambda respnse: True, name="x")], "is 'respnse', which no row has. Did you mean 'response'?"),
        ([metric(lambda answer: True, name="x")], "'custom_metrics.x.columns[0]' is 'answer', which no row has."),
        ([gives(1), gives(2)], "metrics[1] is another metric of the name 'given'"),
        ([CustomMetric("x", "Q?", [], "0..1")], "config: 'custom_metrics.x.columns' is []: list should have at"),
        ([CustomMetric("x", "Q?", ["response"], ["a"])], "config: 'custom_metrics.x.scale' is ['a']: expected 2 to"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fault_in_a_metric_from_python_is_reported_before_anything_is_scored(
    metrics: list[Any], message: str, rows: Rows
) -> None:
    with pytest.raises(ConfigError) as caught:
        RAGEvaluator({"metrics": metrics}, ScriptedJudge()).check(rows)
    assert message in str(caught.value)
