"""`compare` says where a verifier looked at more pieces of evidence in one run than in another."""

from typing import Any

from known_verifier import KnownVerifier

from rag_evaluator import RAGEvaluator, Results, compare

WARNING = (
    "the verifier looked at {} pieces of evidence a row in {}, at {} in {}. The best piece counts, so more pieces "
    "support more by chance: compare runs with as many contexts, or read the control of 'probe'."
)


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


def test_more_pieces_in_one_run_are_said_of_each_metric_of_these_contexts() -> None:
    metrics = ["groundedness", "context_coverage", "reference_agreement"]
    few, many = (evaluated(contexts, metrics) for contexts in ([1, 2, 1, 2], [4, 6, 5, 4]))
    caveats = [line for line in compare(few, many).caveats if "pieces of evidence" in line]
    said = WARNING.format("1.5", "run", "4.8", "run (2)")
    assert caveats == [f"{metric}: {said}" for metric in metrics[:2]]


def test_a_tenth_more_is_said_and_less_is_not() -> None:
    base: list[Any] = [2] * 10
    for other, is_said in (([3, *base[1:]], False), ([3, 3, *base[2:]], True)):
        both = evaluated(other, ["groundedness"]), evaluated(base, ["groundedness"])
        assert bool([line for line in compare(*both).caveats if "pieces of evidence" in line]) == is_said
