"""What `summary.json` and its other forms say of a run: values by hand, groups, spreadsheet, table."""

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture
from folders import output_of, write_config
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from rag_evaluator import RAGEvaluator, Results, ScriptedJudge, load_dataset
from rag_evaluator.metrics import about_metrics, select_metrics
from rag_evaluator.report import MetricLine
from rag_evaluator.results import Run, Score, conclude_run, interval
from rag_evaluator.statistics import Scale

NAN = math.nan
EIGHT = [1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.0]  # the example of docs/intervals.md


def run_of(scores: list[float], metric: str = "faithfulness", rows: Any = None, **keys: Any) -> Results:
    """The results of a run with these scores, reported as the keys say."""
    rows = rows or [{"user_input": f"Question {place}?"} for place in range(len(scores))]
    cells = [Score(value, "too long") if math.isnan(value) else Score(value) for value in scores]
    metrics = about_metrics(select_metrics([metric]), keys.pop("thresholds", {}))
    return Results(load_dataset(rows), {metric: cells}, {}, {"name": "run", "config": keys, "metrics": metrics})


def figures_of(scores: list[float], metric: str = "faithfulness", **keys: Any) -> dict[str, Any]:
    return run_of(scores, metric, **keys).summary()[metric]


def wilson(scores: list[float], level: float = 0.95) -> tuple[float, float]:
    """statsmodels' interval with n_eff as docs/intervals.md has it."""
    n = len(scores)
    mean = sum(scores) / len(scores)
    common = max(scores.count(score) for score in scores) / n
    fuller = max(scores.count(0), scores.count(1)) / n
    weight = 1.0 if common == 1 else max(fuller, 2 * common - 1, 0.1)
    shares = [share / (n + 2 * weight) for share in (*[1.0] * n, weight, weight)]
    more = [*scores, 0.0, 1.0]
    center = sum(share * score for share, score in zip(shares, more, strict=True))
    variance = sum(p**2 * (score - center) ** 2 / (1 - p) for p, score in zip(shares, more, strict=True))
    upper = (1 + level) / 2
    effective = center * (1 - center) / variance * n / (n + 2 * weight)
    effective *= (stats.norm.ppf(upper) / stats.t.ppf(upper, n - 1)) ** 2
    return proportion_confint(mean * effective, effective, alpha=1 - level, method="wilson")  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("texts", "keys", "repeats"),
    [
        (5, {}, 495),
        (5, {"cluster": "question"}, 0),
        (10, {"cluster": "document"}, 490),  # each row has one of its own
        (498, {}, 0),  # hardly any
        (500, {}, 0),
    ],
)
def test_rows_that_repeat_an_earlier_row_are_reported(
    texts: int, keys: dict[str, str], repeats: int, tmp_path: Path
) -> None:
    rows = [
        {"question": f"Q{row % texts}", "contexts": ["c"], "answer": "a", "ground_truth": f"{row}", "document": row}
        for row in range(500)
    ]
    results = run_of([0.0, 1.0] * 250, rows=rows, **keys)
    results.write(tmp_path)
    for sentences in (conclude_run(Run(tmp_path)).sentences, map(str, results.overview())):
        said = [sentence for sentence in sentences if "of an earlier row" in sentence]
        assert [sentence.partition(" of 500 rows ")[0] for sentence in said] == [f"{repeats}"] * bool(repeats)


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_the_figures_of_a_judged_metric_are_those_worked_out_by_hand(level: float) -> None:
    found = figures_of([*EIGHT, NAN, NAN], ci_level=level)
    low, high = wilson(EIGHT, level)
    assert found == {
        "mean": 0.75,
        "std": pytest.approx(math.sqrt((5 * 0.0625 + 2 * 0.0625 + 0.5625) / 7)),
        "stderr": pytest.approx(math.sqrt(1 / 7 / 8)),
        "median": 1.0,
        "ci_low": pytest.approx(low),
        "ci_high": pytest.approx(high),
        "ci_level": level,
        "ci_method": "wilson-effective-n",
        "bound_low": 0.6,  # 6 / 10
        "bound_high": 0.8,
        "coverage": 0.8,
        "scored": 8,
        "count": 10,
        "reasons": {"too long": 2},
        "dropped": 0,
        "worst_quarter": 0.5,  # between the second and the third of the eight
        "kind": "judged",
        "stage": "generation",
        "better": "higher",
    }


@pytest.mark.parametrize(
    ("metric", "passes"), [("faithfulness", [1, 1, 1, 1, 1, 1, 1, 0]), ("noise_sensitivity", [0, 0, 0, 0, 0, 1, 1, 1])]
)
def test_the_pass_rate_is_the_share_on_the_better_side_of_the_threshold(metric: str, passes: list[float]) -> None:
    found = figures_of([*EIGHT, NAN], metric, thresholds={metric: 0.5})["pass_rate"]
    assert found["threshold"] == 0.5
    assert found["mean"] == sum(passes) / 8
    assert (found["ci_low"], found["ci_high"]) == pytest.approx(wilson(passes))


def test_rows_of_one_cluster_count_as_one_observation() -> None:
    rows = [{"user_input": str(place), "document": place // 2} for place in range(8)]
    found = figures_of(EIGHT, rows=rows, cluster="document")
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((0.218, 0.970), abs=5e-4)  # of docs/intervals.md
    assert found["ci_method"] == "wilson-effective-n, clustered"
    one = figures_of(EIGHT, rows=[{"user_input": "same"}] * 8, cluster="question")
    assert (one["ci_low"], one["ci_high"], one["ci_method"]) == (0.0, 1.0, "range: one cluster")


VALUES: list[tuple[list[Any], list[str]]] = [
    (["sea", " sea ", "land"], ["land", "sea"]),
    ([1, 1.0, "1", True], ["1", "true"]),
    (["é", "e\u0301"], ["é"]),
    ([None, "", "\u200b", "x"], ["(none)", "x"]),
    (["=1+1", "[red]x[/red]"], ["=1+1", "[red]x[/red]"]),
    (["\ud800", "x"], ["x", "\ud800"]),
]


@pytest.mark.parametrize(("values", "groups"), VALUES, ids=lambda value: ascii(value)[:40])
def test_rows_are_grouped_by_what_a_value_shows(values: list[Any], groups: list[str], tmp_path: Path) -> None:
    rows = [{"user_input": "Q?", "topic": value} for value in values]
    results = run_of([0.5] * len(rows), rows=rows, group_by=["topic"])
    found = results.summary()["faithfulness"]["groups"]["topic"]
    assert len(found) == len(groups)
    assert sum(group["count"] for group in found.values()) == len(rows)
    results.write(tmp_path)
    written = json.loads((tmp_path / "summary.json").read_bytes())["faithfulness"]["groups"]["topic"]
    assert list(written) == list(found)
    if "\ud800" not in groups:
        assert sorted(written) == sorted(groups)


def test_the_figures_of_a_group_are_those_of_a_run_of_its_rows() -> None:
    rows = [{"user_input": str(place), "topic": "ab"[place % 2], "d": place // 3} for place in range(9)]
    keys: dict[str, Any] = {"cluster": "d", "thresholds": {"faithfulness": 0.5}}
    scores = [*EIGHT, NAN]
    groups = figures_of(scores, rows=rows, group_by=["topic"], **keys)["groups"]["topic"]
    for start, topic in enumerate("ab"):
        own = figures_of(scores[start::2], rows=rows[start::2], **keys)
        assert groups[topic] == {name: own[name] for name in groups[topic]}


def test_a_metric_that_nobody_has_described_is_reported_too() -> None:
    results = Results(load_dataset([{"user_input": "a"}] * 3), {"stars": [Score(1.0), Score(4.0), Score(5.0)]})
    found = results.summary()["stars"]
    assert (found["kind"], found["stage"], found["ci_low"]) == ("continuous", None, 1.0)


ROWS = [
    {
        "user_input": f"Question {place}?",
        "retrieved_contexts": ["Nolu Brak was born in Tesk."],
        "response": f"Nolu Brak was born in the town of Tesk {'near the sea ' * (place % 3)}",
        "reference": "Nolu Brak was born in Tesk." if place != 5 else None,
        "topic": "ab"[place % 2],
        "document": place // 3,
    }
    for place in range(11)
]
KEYS = {
    "metrics": ["context_relevance", "chrf", "exact_match"],
    "group_by": ["topic", "document"],
    "cluster": "document",
    "thresholds": {"chrf": 0.7},
}


def rating(prompt: str, _: Any) -> dict[str, int]:
    return {"rating": sum(f"Question {place}?" in prompt for place in (1, 2, 3)) * 2}


@pytest.mark.parametrize("chunk_size", [1, "auto"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_summary_is_the_same_bytes_for_any_order_of_rows_and_size_of_chunks(
    seed: int, chunk_size: Any, tmp_path: Path
) -> None:
    summaries = []
    for name, rows, size in (("a", ROWS, 4), ("b", random.Random(seed).sample(ROWS, len(ROWS)), chunk_size)):
        evaluator = RAGEvaluator({**KEYS, "chunk_size": size}, judge=ScriptedJudge(rating, model_id="script"))
        evaluator.evaluate(rows, folder=tmp_path / name)
        summaries.append((tmp_path / name / "summary.json").read_bytes())
    assert summaries[0] == summaries[1]


Printed = Callable[..., str]


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Printed:
    """`printed(scores, topics, text)`: what the command prints of a run with these scores, one a topic."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "metric_of_text.py").write_text("def score(response):\n    return float(response)\n", "utf-8")

    def run(scores: list[float], topics: list[Any], text: str = "") -> str:
        rows = [{"response": str(score), "topic": topic} for score, topic in zip(scores, topics, strict=True)]
        metric = "read: {function: 'metric_of_text:score', columns: [response], range: [0, 1]}"
        keys = f"metrics: [read]\ncustom_metrics: {{{metric}}}\ngroup_by: [topic]\nreport: false\n{text}"
        return output_of(capsys, write_config(tmp_path, rows, keys))

    return run


def test_the_table_shows_means_with_their_intervals_groups_and_pass_rates(printed: Printed) -> None:
    text = printed(EIGHT, ["sea"] * 4 + ["[red]x[/red]"] * 4, "thresholds: {read: 0.5}")
    assert "mean [95 % interval]" in text
    low, high = wilson(EIGHT)
    assert f"0.75 [{low:.2f}, {high:.2f}]" in text
    assert "topic: sea" in text
    assert "topic: [red]x[/red]" in text
    low, high = wilson([1, 1, 1, 1, 1, 1, 1, 0])
    assert f"│       0.5 │ 0.88 [{low:.2f}, {high:.2f}] │" in text


def test_of_more_groups_than_a_table_shows_the_largest_are_there(printed: Printed) -> None:
    text = printed([0.5] * 22, [*map(str, range(20)), "last", "last"])
    assert text.count("topic: ") == 21, "20 groups, and the line that says how many there are"
    assert "topic: last " in text
    assert "topic: the 20 largest of 21 groups" in text


def test_values_that_a_terminal_would_act_on_and_long_ones_are_shown_on_one_line(printed: Printed) -> None:
    text = printed([0.5] * 3, ["\x1b[31mred", "two\nlines", "long " * 100])
    assert "\\x1b[31mred" in text
    assert "two\\nlines" in text
    assert "long lon..." in text
    assert "\x1b" not in text


def test_a_mean_without_an_interval_has_four_digits() -> None:
    assert interval({"mean": 0.81237}) == "0.8124"
    assert interval({"mean": None}) == "-"
    assert interval({"mean": -1e-9, "ci_low": -0.004, "ci_high": 0.0}) == "0.00 [0.00, 0.00]", "never -0.00"
    assert interval({"mean": 0.812, "ci_low": 0.741, "ci_high": 0.858}) == "0.81 [0.74, 0.86]"


def test_scores_that_pile_up_at_an_end_are_warned_of_in_summary_table_and_report(tmp_path: Path) -> None:
    results = run_of([1.0, 1.0, 0.9, 0.85, 0.8, NAN], "semantic_similarity")
    said = "of 5 scores 2 are exactly 1: Student's t"
    assert results.summary()["semantic_similarity"]["ci_warning"].startswith(said)
    assert f"semantic_similarity: warning: {said}" in str(results)
    results.write(tmp_path)
    assert json.loads((tmp_path / "summary.json").read_bytes())["semantic_similarity"]["ci_warning"].startswith(said)
    shown = MetricLine("semantic_similarity", results.summary()["semantic_similarity"], Scale(-1, 1, "continuous"))
    assert shown.notes[0].startswith(f"warning: {said}")
    assert "ci_warning" not in figures_of([1.0, 0.9, 0.8], "semantic_similarity")
