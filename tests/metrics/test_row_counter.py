"""What counting words and sentences gives of a row, by the columns that a metric reads."""

import math
from typing import Any

import pytest

from rag_evaluator import RAGEvaluator
from rag_evaluator.dataset import Sample
from rag_evaluator.metrics import METRICS, counter_of

ROW = {
    "user_input": "When did the bridge open?",
    "retrieved_contexts": ["The bridge of Harn opened in 1921.", "It has arches."],
    "response": "The old bridge opened in 1921. It has lamps.",
    "reference": "The bridge opened.",
}
COUNTED = {
    "faithfulness": (3 / 5, -2),  # old, bridge, opened, 1921, lamps: bridge, opened and 1921 are in the contexts
    "groundedness": (3 / 5, -2),
    "factual_correctness": (2 / 5, -2),  # bridge, opened
    "reference_coverage": (1.0, -1),  # bridge, opened: the response has both
    "context_recall": (2 / 3, -2),  # bridge, open, opened
    "context_relevance": (1 / 2, -1),  # bridge, open
    "my_own": (2 / 5, -2),  # response in reference, as there is one
}


def sample(**columns: Any) -> Sample:
    row, _ = RAGEvaluator({"metrics": ["faithfulness"]}).rows([{**ROW, **columns}, ROW])
    return row


@pytest.mark.parametrize(("metric", "expected"), COUNTED.items())
def test_what_is_counted_follows_from_the_columns_that_a_metric_reads(metric: str, expected: tuple[float, int]) -> None:
    component = METRICS[metric].component if metric in METRICS else "generation"
    counts = counter_of(metric, component, "english").count(sample())
    assert counts == {"words": pytest.approx(expected[0]), "sentences": expected[1]}


def test_of_a_statement_its_own_words_count_and_the_sentences_of_its_row() -> None:
    counter = counter_of("groundedness", "generation", "english")
    assert counter.count(sample(), "It has lamps.") == {"words": 0.0, "sentences": -2}


def test_of_an_answer_without_content_words_all_words_count() -> None:
    counter = counter_of("answer_accuracy", "generation", "english")
    assert [counter.count(sample(response=text, reference="Yes.")).get("words") for text in ("No.", "Yes")] == [0, 1]


def test_without_text_nothing_is_counted_and_without_contexts_nothing_is_supported() -> None:
    counter = counter_of("groundedness", "generation", "english")
    assert all(map(math.isnan, counter.count(sample(response=" ")).values()))
    assert counter.count(sample(retrieved_contexts=[]))["words"] == 0.0
