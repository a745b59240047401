"""What kind of number each metric gives: statistics and rules depend on it."""

import re
from pathlib import Path

import pytest

from rag_evaluator import METRICS
from rag_evaluator.metrics import scale_of
from rag_evaluator.statistics import Scale

DOCS = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
RETRIEVAL = {
    "context_precision_with_reference",
    "context_precision_without_reference",
    "context_recall",
    "context_relevance",
    "context_relevancy",
    "context_entity_recall",
    "context_coverage",
    "retrieval_precision",
    "retrieval_ndcg",
    "retrieval_map",
    "retrieval_mrr",
    "retrieval_recall",
}


def test_only_noise_sensitivity_is_better_when_lower() -> None:
    assert [name for name, metric in METRICS.items() if metric.better == "lower"] == ["noise_sensitivity"]


def test_metrics_of_retrieval_are_told_from_those_of_the_answer() -> None:
    assert {name for name, metric in METRICS.items() if metric.stage == "retrieval"} == RETRIEVAL


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        ("faithfulness", Scale(0, 1, "judged", "higher")),
        ("noise_sensitivity", Scale(0, 1, "judged", "lower")),
        ("answer_relevancy", Scale(-1, 1, "continuous", "higher", (0,))),
        ("semantic_similarity", Scale(-1, 1, "continuous", "higher")),
        ("answer_correctness", Scale(-0.25, 1, "judged", "higher")),
        ("bleu", Scale(0, 1, "continuous", "higher", (0, 1))),
        ("exact_match", Scale(0, 1, "judged", "higher")),
        ("nv_accuracy", Scale(0, 1, "judged", "higher")),
        ("noise_sensitivity(mode=relevant)", Scale(0, 1, "judged", "lower")),
        ("factual_correctness(mode=precision)", None),
        ("faithfullness", None),
        ("rubrics_score", Scale(1, 5, "judged", "higher")),
        ("InstanceSpecificRubrics", Scale(1, 5, "judged", "higher")),
        ("answer_rubric", Scale(0, 1, "judged", "higher")),
        ("quoted_spans_alignment", Scale(0, 1, "judged", "higher")),
    ],
)
def test_the_scale_of_a_metric_is_found_by_any_of_its_names(name: str, scale: Scale | None) -> None:
    assert scale_of(name) == scale


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        (r"these are continuous: ([^.]*)\.", {name for name, row in METRICS.items() if row.kind == "continuous"}),
        (r"These measure retrieval: ([^.]*)\.", {name for name, row in METRICS.items() if row.stage == "retrieval"}),
    ],
)
def test_the_docs_name_kinds_and_stages(sentence: str, names: set[str]) -> None:
    found = re.search(sentence, DOCS)
    assert found
    assert set(re.findall(r"`(\w+)`", found[1])) == names
