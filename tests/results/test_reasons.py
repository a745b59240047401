"""What the judge said of a score, in a few lines."""

from typing import Any

from rag_evaluator.results.reasons import said, telling


def record(*verdicts: tuple[str, int, str], metric: str = "faithfulness") -> dict[str, Any]:
    statements = [{"statement": text, "reason": reason, "verdict": verdict} for text, verdict, reason in verdicts]
    return {"metric": metric, "judgements": [{"prompt": "nli", "response": {"statements": statements}}]}


def test_verdicts_are_shown_in_words() -> None:
    lines = said(record(("A.", 0, "no"), metric="faithfulness@qwen"))
    assert telling(lines, []) == ("not supported · A. · no",)
    rated = {"metric": "context_relevance", "judgements": [{"prompt": "rating", "response": {"rating": 1}}]}
    assert telling(said(rated), []) == ("partly relevant",)
    unknown = {"metric": "mine", "judgements": [{"prompt": "p", "response": {"score": 4, "reason": "fine"}}]}
    assert telling(said(unknown), []) == ("score 4 · fine",)


def test_equal_lines_stay_as_many_as_there_are() -> None:
    lines = said(record(("A.", 0, "no"), ("A.", 0, "no")))
    assert telling(lines, []) == ("not supported · A. · no",) * 2
    once = said(record(("A.", 0, "no")))
    assert telling([*once, *said(record(("B.", 1, "yes"))), *once], once)[:2] == (
        "not supported · A. · no",
        "supported · B. · yes",
    )


def test_verdicts_that_the_other_side_does_not_have_come_first_whatever_the_words_of_the_reasons() -> None:
    one = said(record(("A.", 1, "yes"), ("B.", 1, "yes"), ("C.", 1, "yes"), ("D.", 1, "yes"), ("E.", 0, "no")))
    other = said(record(("A.", 1, "sure"), ("B.", 1, "sure"), ("C.", 1, "sure"), ("D.", 0, "no"), ("E.", 0, "nope")))
    assert telling(one, other)[0] == "supported · D. · yes"
    assert telling(other, one)[0] == "not supported · D. · no"


def test_bad_verdicts_come_before_good_ones() -> None:
    lines = said(record(("A.", 1, "yes"), ("B.", 1, "yes"), ("C.", 1, "yes"), ("D.", 0, "no")))
    assert telling(lines, [])[0] == "not supported · D. · no"
