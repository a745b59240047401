"""`compare` says where a verifier looked at more pieces of evidence in one run than in another."""

from pathlib import Path
from typing import Any

import pytest
from known_verifier import KnownVerifier

from rag_evaluator import RAGEvaluator, Results, compare, write_report
from rag_evaluator.results import mean_pieces

WARNING = (
    "the verifier looked at {} pieces of evidence a row in {}, at {} in {}. The best piece counts, so more pieces "
    "support more by chance: compare runs with as many contexts, or read the control of 'probe'."
)


def evaluated(contexts: list[int], metrics: list[str], folder: Path | None = None) -> Results:
    rows = [
        {
            "user_input": f"Question {number}?",
            "retrieved_contexts": [f"Text {place} of {number}." for place in range(count)],
            "response": "He lives.",
            "reference": "She lives.",
        }
        for number, count in enumerate(contexts)
    ]
    return RAGEvaluator({"metrics": metrics}, verifier=KnownVerifier({})).evaluate(rows, folder=folder)


@pytest.mark.parametrize(
    ("outcomes", "mean"),
    [
        ({"1 piece of evidence": 3, "5 pieces of evidence": 1}, 2.0),
        ({"12 pieces of evidence": 2, "total_relevant: known": 7}, 12.0),
        ({"both orders of the answers agree": 4}, None),
        ({}, None),
    ],
)
def test_the_mean_is_that_of_the_rows_whose_outcome_counts_pieces(outcomes: dict[str, int], mean: float | None) -> None:
    assert mean_pieces(outcomes) == mean


def test_more_pieces_in_one_run_are_said_once_for_all_metrics_of_these_contexts(tmp_path: Path) -> None:
    metrics = ["groundedness", "context_coverage", "reference_agreement"]
    few = evaluated([1, 2, 1, 2], metrics, tmp_path / "few")
    many = evaluated([4, 6, 5, 4], metrics, tmp_path / "many")
    caveats = [line for line in compare(few, many).caveats if "pieces of evidence" in line]
    assert caveats == [f"groundedness and context_coverage: {WARNING.format('1.5', 'run', '4.8', 'run (2)')}"]
    in_folders = compare(tmp_path / "few", tmp_path / "many")
    names = [str(tmp_path / name) for name in ("few", "many")]
    assert f"groundedness and context_coverage: {WARNING.format('1.5', names[0], '4.8', names[1])}" in str(in_folders)
    page = write_report(tmp_path / "few", tmp_path / "many", out=tmp_path / "both.html").read_text(encoding="utf-8")
    assert "pieces of evidence a row in" in page


def test_a_tenth_more_is_said_and_less_is_not() -> None:
    base: list[Any] = [2] * 10
    for other, is_said in (([3, *base[1:]], False), ([3, 3, *base[2:]], True)):
        both = evaluated(other, ["groundedness"]), evaluated(base, ["groundedness"])
        assert bool([line for line in compare(*both).caveats if "pieces of evidence" in line]) == is_said
