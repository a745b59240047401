"""What kind of number each metric gives: statistics and rules depend on it."""

import re
from pathlib import Path

import pytest

from rag_evaluator import METRICS
from rag_evaluator.metrics import canonical_name
from rag_evaluator.statistics import Scale

DOCS = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        ("faithfulness", Scale(0, 1, "judged", "higher")),
        ("noise_sensitivity", Scale(0, 1, "judged", "lower")),
        ("answer_relevancy", Scale(-1, 1, "continuous", "higher", (0,))),
        ("bleu", Scale(0, 1, "continuous", "higher", (0, 1))),
        ("noise_sensitivity(mode=relevant)", Scale(0, 1, "judged", "lower")),
        ("factual_correctness(mode=precision)", None),
        ("faithfullness", None),
        ("rubrics_score", Scale(1, 5, "judged", "higher")),
    ],
)
def test_the_scale_of_a_metric_is_found_by_any_of_its_names(name: str, scale: Scale | None) -> None:
    known = canonical_name(name)
    assert (METRICS[known].scale if known else None) == scale


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        (r"these are continuous: ([^.]*)\.", {name for name, row in METRICS.items() if row.scale.kind == "continuous"}),
        (
            r"These measure retrieval: ([^.]*)\.",
            {name for name, row in METRICS.items() if row.component == "retrieval"},
        ),
    ],
)
def test_the_docs_name_kinds_and_stages(sentence: str, names: set[str]) -> None:
    found = re.search(sentence, DOCS)
    assert found
    assert set(re.findall(r"`(\w+)`", found[1])) == names
