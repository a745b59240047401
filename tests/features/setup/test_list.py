"""`rag-evaluator list`: every name that a configuration may use, as a table and as JSON."""

import json
from typing import Any

import pytest
from aliases import Capture
from folders import output_of

from rag_evaluator import METRICS
from rag_evaluator.config import LANGUAGES

NAMES: dict[str, Any] = {"metrics": METRICS, "languages": LANGUAGES}


@pytest.mark.parametrize("kind", NAMES)
def test_each_list_has_every_name(kind: str, capsys: Capture) -> None:
    listed = json.loads(output_of(capsys, "list", kind, "--json"))
    assert {row["name"] for row in listed} == set(NAMES[kind])
    table = output_of(capsys, "list", kind)
    assert all(name in table for name in NAMES[kind])


def test_every_metric_says_what_it_measures_in_words_of_its_own() -> None:
    meanings = [metric.about for metric in METRICS.values()]
    assert all(meanings)
    assert len(set(meanings)) == len(meanings)


@pytest.mark.parametrize(
    ("name", "other"), [("context_relevance", "context_relevancy"), ("context_relevancy", "context_relevance")]
)
def test_two_metrics_whose_names_differ_by_a_letter_name_each_other(name: str, other: str) -> None:
    assert other in METRICS[name].about
