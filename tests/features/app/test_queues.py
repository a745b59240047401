"""Which rows are worth a look, on numbers made by hand."""

from typing import Any

import pytest

from rag_evaluator.features.app import MOST, detail_queues, findings_queue, row_queues, rows_in, too_easy
from rag_evaluator.statistics import Scale

SCALES = {"faithfulness": Scale(), "answer_correctness": Scale(), "noise_sensitivity": Scale(better="lower")}


def row(faithful: float | None, correct: float | None, noise: float | None = 0.0, **more: Any) -> dict[str, Any]:
    scores = {"faithfulness": faithful, "answer_correctness": correct, "noise_sensitivity": noise}
    return {"question": f"{faithful} {correct}?", **scores, **more}


def of_rows(name: str, rows: list[dict[str, Any]]) -> Any:
    return next(queue for queue in row_queues(rows, SCALES) if queue.name == name)


def line(number: int, metric: str = "faithfulness", confidence: Any = None, **more: Any) -> dict[str, Any]:
    said = [{"statement": f"s{place}", "reason": "", "verdict": 1} for place in range(len(confidence or ()))]
    judgement = {"response": {"statements": said}, "confidence": confidence}
    return {"row": number, "metric": metric, "value": 1.0, "judgements": [judgement], **more}


def test_faithful_but_incorrect_rows_and_the_opposite_are_found_the_clearest_first() -> None:
    queue = of_rows("contradict", [row(1, 0.2), row(1, 1), row(0.8, 0.25), row(0, 1), row(0.7, 0), row(None, 0)])
    assert list(rows_in(queue)) == [3, 0, 2]
    assert queue.rows[1].why == (("faithfulness", 1.0), ("answer_correctness", 0.2))
    assert queue.rows[0].why == (("answer_correctness", 1.0), ("faithfulness", 0.0))


def test_rows_with_missing_scores_are_found_those_that_lack_most_first() -> None:
    queue = of_rows("missing", [row(1, 1), row(None, 1), row(None, None, float("nan"))])
    assert list(rows_in(queue)) == [2, 1]
    assert queue.rows[1].why == (("faithfulness", None),)


def test_the_verdict_of_which_the_judge_was_least_sure_decides() -> None:
    details = [
        line(0, confidence=[0.9, 0.8]),
        line(0, "context_recall", [0.99]),
        line(1, confidence=[1.0, 0.6]),
        line(2, confidence=None),
        line(3, confidence=[0.7]),
    ]
    queue = detail_queues(details)[0]
    assert queue.name == "lowest_confidence"
    assert list(rows_in(queue)) == [1, 3, 0]
    assert queue.rows[0].why == (("faithfulness", 0.6),)


def test_repeats_that_differ_are_found() -> None:
    values = [(0, 1.0), (0, 1.0), (1, 1.0), (1, 0.5), (2, 0.0), (2, 1.0), (3, None), (3, 1.0)]
    details = [{**line(number), "repeat": place % 2, "value": value} for place, (number, value) in enumerate(values)]
    queue = next(queue for queue in detail_queues(details) if queue.name == "repeats_differ")
    assert list(rows_in(queue)) == [2, 1]
    assert queue.rows[1].why == (("faithfulness", 1.0), ("faithfulness", 0.5))


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], [0, 2]),
        ([[row(0.9999999999, 1, id="a"), row(0, 0, id="b"), row(1, 1, id="c")]], [0, 2]),
        ([[row(1, 1, id="c")], [row(1, 0.5, id="a")]], [2]),
        ([[row(1, 1, 0.1, id="c")]], [0]),
        ([[row(None, 1, id="a"), {"id": "c", "faithfulness": 1}]], [2]),
    ],
    ids=["one run", "all best again", "one is not", "lower is better", "missing is not best, no column is no matter"],
)
def test_a_row_is_too_easy_if_it_has_the_best_scores_in_every_run(others: list, expected: list[int]) -> None:
    own = [row(1, 1, id="a"), row(1, 0, id="b"), row(1.0, 1.0, id="c"), row(None, 1, id="d")]
    assert list(rows_in(too_easy([own, *others], SCALES))) == expected


def test_a_queue_keeps_the_most_urgent_rows_and_counts_all() -> None:
    queue = of_rows("contradict", [row(1, place % 25 / 100) for place in range(2 * MOST)])
    assert (len(queue.rows), queue.total) == (MOST, 2 * MOST)
    assert queue.rows[0].row == 0
    assert max(found.why[1][1] or 0 for found in queue.rows) <= 0.13


def test_findings_of_a_test_set_belong_to_the_rows_of_their_digests_those_with_most_flags_first() -> None:
    findings = [
        {"row": 0, "sample": "cc", "flags": {"too_easy": "the judge answers it without contexts"}},
        {"row": 1, "sample": "aa", "flags": {"ambiguous": "another answer", "copied": "every word"}},
        {"row": 2, "sample": "bb", "flags": {}},
        {"row": 3, "sample": "of another file", "flags": {"duplicate": "of row 0"}},
    ]
    queue = findings_queue(findings, ["aa", "bb", "cc", "dd"])
    assert [(found.row, found.why) for found in queue.rows] == [
        (0, (("ambiguous", None), ("copied", None))),
        (2, (("too_easy", None),)),
    ]
    assert (queue.name, queue.total) == ("testset_findings", 2)
