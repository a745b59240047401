"""Options of metrics: what is wrong with them is said with its line before anything is loaded."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ragas.metrics import collections

from rag_evaluator import METRICS, ConfigError, load_config
from rag_evaluator.metrics import canonical_name, chosen_metrics

DOCS = Path(__file__).parents[2] / "docs"
HEAD = "metrics: [quoted_spans_alignment, rouge, rubrics_score_with_reference, bleu]\n"
Load = Callable[..., Any]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def chosen(text: str, *overrides: str) -> Any:
        (tmp_path / "config.yaml").write_text(HEAD + text, "utf-8")
        return chosen_metrics(load_config(tmp_path / "config.yaml", overrides))

    return chosen


RUBRICS = "metric_options:\n  rubrics_score_with_reference:\n    rubrics: "
FAULTS = [
    (
        "metric_options:\n  quoted_spans_alignment:\n    casefolt: true",
        4,
        "Did you mean 'metric_options.quoted_spans_alignment.casefold'?",
    ),
    ("metric_options:\n  quoted_spans_alignment:\n    casefold: perhaps", 4, "should be a valid boolean"),
    ("metric_options: {rouge_score: {mode: recal}}", 2, "'precision' or 'recall'"),
    ("metric_options: {bleu_score: {n: 2}}", 2, "bleu_score has no options."),
    (
        "metric_options:\n  rouge: {mode: recall}\n  rouge_score: {mode: recall}",
        4,
        "'metric_options.rouge_score' and 'rouge' are the same metric.",
    ),
    (
        "metric_options:\n  summary_score: {coeff: 0.1}",
        3,
        "'metric_options.summary_score' is not one of the metrics of this run. Add it, or",
    ),
    ("metric_options: {quoted_span_alignment: {}}", 2, "Did you mean 'quoted_spans_alignment'?"),
    ("metric_options: {quoted_spans_alignment: 3}", 2, "'metric_options.quoted_spans_alignment' is 3"),
    (f"{RUBRICS}{{score1_description: a}}", 4, "at least 2 items"),
    (f"{RUBRICS}{{score1_description: a, good: b}}", 4, "rubrics.good' is 'good': string should match pattern"),
    (f"{RUBRICS}{{score1_description: a, score2_description: ' '}}", 4, "string should match pattern"),
]


@pytest.mark.parametrize(("lines", "line", "fault"), FAULTS)
def test_a_wrong_option_is_reported_with_its_line(load: Load, lines: str, line: int, fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(lines)
    assert str(caught.value).startswith(f"config.yaml, line {line}: ")
    assert fault in str(caught.value)


OVERRIDES = [
    ("metric_options.quoted_spans_alignment.casefold=false", "quoted_spans_alignment", {"casefold": False}),
    ("metric_options.rouge.mode=recall", "rouge_score", {"mode": "recall"}),
    ("metric_options={RougeScore: {rouge_type: rouge1}}", "rouge_score", {"rouge_type": "rouge1"}),
    ("metric_options.quoted_spans_alignment=", "quoted_spans_alignment", {}),
    ("metric_options.quoted_spans_alignment.casefold=true", "quoted_spans_alignment", {}),
]


@pytest.mark.parametrize(("override", "metric", "options"), OVERRIDES)
def test_an_option_is_set_in_the_shell(load: Load, override: str, metric: str, options: dict[str, Any]) -> None:
    assert load("", override)[metric].options == options


def test_every_class_of_ragas_is_a_metric_or_is_listed_as_left_out() -> None:
    page = (DOCS / "single-metrics.md").read_text("utf-8")
    table = page.split("| class of ragas | why it is left out |", 1)[1].split("\n\n", 1)[0]
    left_out = set(re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in table.splitlines()[2:])))
    known = {name for name in collections.__all__ if canonical_name(name)}
    assert left_out == set(collections.__all__) - known


def test_every_option_of_a_metric_is_in_the_docs() -> None:
    page = (DOCS / "metrics.md").read_text("utf-8")
    table = page.split("| metric | options, the default first |", 1)[1].split("\n\n", 1)[0]
    listed = {
        name: set(re.findall(r"`(\w+)`", options))
        for names, options in (line.strip("|").split("|", 1) for line in table.splitlines()[2:])
        for name in re.findall(r"`(\w+)`", names)
    }
    with_options = {name: metric for name, metric in METRICS.items() if metric.settings is not None}
    assert set(listed) == set(with_options)
    for name, metric in with_options.items():
        assert set(metric.settings.model_fields if metric.settings else ()) <= listed[name], name
        assert metric.section in {"", *listed[name]}, name  # where its options are written, if not in metric_options
