"""`compare` says where a verifier looked at more pieces of evidence in one run than in another."""

from typing import Any

from known_verifier import KnownVerifier

from rag_evaluator import RAGEvaluator, Results, compare


def evaluated(contexts: list[int], metrics: list[str]) -> Results:
    rows = [
        {
            "user_input": f"Question {number}?",
            "retrieved_contexts": [f"Text {place} of {number}." for place in range(count)],
            "response": "He lives.",
            "reference": "She lives.",
        }
        for number, count in enumerate(contexts)
    ]
    return RAGEvaluator({"metrics": metrics}, verifier=KnownVerifier({})).evaluate(rows)


def named(first: Results, second: Results) -> list[str]:
    """The metrics of which the numbers of pieces are said."""
    return [line.partition(":")[0] for line in compare(first, second).caveats if "pieces of evidence" in line]


def test_more_pieces_in_one_run_are_reported_for_each_metric_of_these_contexts() -> None:
    metrics = ["groundedness", "context_coverage", "reference_agreement"]
    few, many = (evaluated(contexts, metrics) for contexts in ([1, 2, 1, 2], [4, 6, 5, 4]))
    assert named(few, many) == metrics[:2]


def test_a_tenth_more_is_reported_and_less_is_not() -> None:
    base: list[Any] = [2] * 10
    for other, is_said in (([3, *base[1:]], False), ([3, 3, *base[2:]], True)):
        assert bool(named(evaluated(other, ["groundedness"]), evaluated(base, ["groundedness"]))) == is_said
