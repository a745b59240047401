"""The sentences of `sort` and `generate`: figures made by hand, and what a statistician would sign."""

from pathlib import Path
from typing import Any

import pytest

from rag_evaluator.statistics import Scale, difference_interval, mean_interval
from rag_evaluator.tasks import generate_conclusion, sort_conclusion

JUDGED = {"judge": {"model": "/models/qwen"}}
TOY = {"judge": {"model": "demo"}}


def fields(
    order: list[int] | None = None,
    spearman: float | None = None,
    good: list[int] | None = None,
    bad: list[int] | None = None,
    agreement: float | None = None,
    measured: tuple[float | None, float | None] | None = None,
    reason: str = "",
) -> dict[str, Any]:
    """What `sorted_indices.json` has of a question, as far as sentences need it. `measured`: judge, retriever."""
    sides = {} if measured is None else {"judge": {"nDCG@10": measured[0]}, "retriever": {"nDCG@10": measured[1]}}
    return {
        "sorted": order,
        "spearman": spearman,
        "good": good,
        "bad": None if good is None else bad or [],
        "agreement": agreement,
        "reasons": {"sorted": reason},
        **({"measured": sides} if sides else {}),
    }


def ends(values: list[float], low: float = 0.0) -> str:
    """The interval of a mean, as the reference of the printed one."""
    estimate = mean_interval(values, Scale(low, 1.0))
    return f"{estimate.mean:.2f} [{estimate.ci_low:.2f}, {estimate.ci_high:.2f}]"


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_a_small_gain_in_few_questions_is_not_settled_whatever_the_level_of_intervals(level: float) -> None:
    rows = [fields([0, 1], 1.0, measured=(score, 0.7)) for score in (0.76, 0.8, 0.84)] * 8
    [sentence] = sort_conclusion(rows, {**JUDGED, "ci_level": level}).sentences
    assert sentence.startswith("Not settled whether the judge's order is better than the retriever's")


def test_a_gain_is_shown_where_the_interval_of_the_paired_difference_excludes_0() -> None:
    rows = [fields([0, 1], 1.0, measured=(0.9, 0.7))] * 40
    estimate = difference_interval([0.2] * 40, Scale())
    assert estimate.ci_low is not None
    assert estimate.ci_low > 0
    assert sort_conclusion(rows, JUDGED).sentences == [
        "The judge's order is better than the retriever's: nDCG@10 0.90 against 0.70 by the relevance of the rows, "
        f"difference 0.20 [{estimate.ci_low:.2f}, {estimate.ci_high:.2f}] in 40 questions."
    ]


def test_a_loss_is_shown_and_few_or_mixed_questions_settle_nothing() -> None:
    worse = [fields([1, 0], -1.0, measured=(0.5, 0.9))] * 40
    [sentence] = sort_conclusion(worse, TOY).sentences
    assert sentence.startswith("The toy judge's order is worse than the retriever's: nDCG@10 0.50 against 0.90 by ")
    assert ", difference -0.40 [-0." in sentence
    mixed = [fields([1, 0], -1.0, measured=pair) for pair in [(0.5, 0.9), (0.9, 0.5)] * 20]
    for rows in (mixed, worse[:1]):
        [sentence] = sort_conclusion(rows, TOY).sentences
        assert sentence.startswith("Not settled whether the toy judge's order is better than the retriever's: nDCG@10")


def test_without_relevance_the_sentence_says_how_far_the_order_changed_and_no_more() -> None:
    rows = [fields([0, 1, 2], 1.0), fields([2, 1, 0], -1.0), fields([0, 2, 1], 0.5), fields([], None)]
    assert sort_conclusion(rows, TOY).sentences == [
        "The toy judge changed the retriever's order in 2 of 3 questions with two contexts or more to sort: rank "
        f"correlation {ends([1.0, -1.0, 0.5], -1.0)} on average. Whether its order is better is not known: the rows "
        "have no relevance."
    ]
    assert sort_conclusion(rows[:1], JUDGED).sentences == [
        "The judge kept the retriever's order in all of 1 question with two contexts or more to sort: rank correlation "
        f"{ends([1.0], -1.0)} on average. Whether its order is better is not known: the rows have no relevance."
    ]


def test_questions_without_an_answer_in_their_contexts_are_counted() -> None:
    rows = [fields([0], None, [0]), fields([0], None, [0]), fields([], None, [])]
    assert sort_conclusion(rows, TOY).sentences == [
        "Nothing to sort: none of 3 questions has two contexts or more to sort.",
        "In 1 of 3 questions the toy judge finds the answer in no context.",
    ]


def test_a_judge_that_chooses_by_place_is_named() -> None:
    rows = [fields([0, 1], 1.0, agreement=share) for share in (0.2, 0.6, 0.4)]
    assert sort_conclusion(rows, JUDGED).sentences[1] == (
        "The judge chose by place: the share of pairs in which it chose the same context in both orders is only "
        f"{ends([0.2, 0.6, 0.4])}."
    )
    even = [fields([0, 1], 1.0, agreement=0.5)]
    assert len(sort_conclusion(even, JUDGED).sentences) == 1


def test_questions_without_an_order_are_counted_and_asked_again() -> None:
    failed = fields(reason="the judge was lost")
    conclusion = sort_conclusion([failed, fields([], None)], JUDGED, ["c.yaml", "--set", "limit=2"])
    assert conclusion.sentences[-1] == "1 of 2 questions could not be sorted: the judge was lost."
    assert conclusion.next == "rag-evaluator sort c.yaml --set limit=2"
    assert sort_conclusion([failed] * 2, JUDGED).sentences == ["No question could be sorted: the judge was lost."]
    reasons = [*[failed] * 2, fields(reason="there is no question"), fields([0], None)]
    assert sort_conclusion(reasons, JUDGED).sentences[-1] == (
        "3 of 4 questions could not be sorted: most often, 2 of 3, the judge was lost."
    )
    assert sort_conclusion([], JUDGED).sentences == ["There is no question to sort."]
    assert sort_conclusion([fields([], None)], JUDGED, ["c.yaml"]).next == ""


RESULTS = Path("/data/results/demo")
ALL = "The toy judge answered all of 6 questions from the contexts; 2 rows had a reference already."
EVALUATE = "rag-evaluator evaluate c.yaml --set dataset=/data/results/demo/dataset_with_reference.jsonl"


@pytest.mark.parametrize(
    ("asked", "answered", "kept", "expected", "following"),
    [
        (6, 5, 0, "The toy judge answered 5 of 6 questions from the contexts.", EVALUATE),
        (6, 6, 2, ALL, EVALUATE),
        (6, 0, 0, "The toy judge answered none of 6 questions from the contexts.", ""),
        (0, 0, 24, "Nothing to write: 24 rows had a reference already.", EVALUATE),
    ],
)
def test_generate_says_how_many_questions_have_an_answer_now(
    asked: int, answered: int, kept: int, expected: str, following: str
) -> None:
    conclusion = generate_conclusion(asked, answered, kept, TOY, ["c.yaml"], RESULTS)
    assert (conclusion.sentences, conclusion.next) == ([expected], following)
