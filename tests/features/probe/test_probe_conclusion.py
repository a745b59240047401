"""The sentences of a probe: figures made by hand, and what a statistician would sign."""

from collections.abc import Mapping
from typing import Any

import pytest

from rag_evaluator.features.probe.conclusion import probe_conclusion

SETTINGS = {"sample": 50, "pairs": 20, "reliable": 0.8, "false_alarms": 0.15, "useless": 0.7}


def cell(word: str | None, mean: float | None, low: float | None, high: float | None, n: int = 50, **more: Any) -> Any:
    """What `probe.json` has of a metric and a kind of change, as far as sentences need it."""
    share = {"mean": mean, "ci_low": low, "ci_high": high, "n": n}
    return {"word": word, "share": share, "pairs": 50, "floor": 0, "missing": 0, **more}


QUIET = cell(None, 0.0, 0.0, 0.07)
RELIABLE = cell("reliable", 0.96, 0.86, 0.99)
WEAK = cell("weak", 0.82, 0.68, 0.9)
UNDECIDED = cell("undecided", 0.66, 0.53, 0.77)
FEW = cell("too few", 0.8, 0.3, 0.97, 5, pairs=14, floor=9)
WORST = cell("always worst", None, None, None, 0, floor=50)

CASES: dict[str, tuple[Mapping[str, Any], list[str]]] = {
    "some, with false alarms": (
        {
            "other_answer": WEAK,
            "changed_number": FEW,
            "contradiction": UNDECIDED,
            "other_contexts": RELIABLE,
            "same_text": cell(None, 0.3, 0.2, 0.43, 60),
        },
        [
            "The toy judge notices 2 of 4 kinds of change in faithfulness, 1 of them reliably: other_answer 0.82 "
            "[0.68, 0.90], other_contexts 0.96 [0.86, 0.99]; not settled: contradiction 0.66 [0.53, 0.77]; too few",
            "False alarms, scores that change although nothing became worse: too many in faithfulness (30 % [20, 43] ",
        ],
    ),
    "the worst score for every text": (
        {"other_answer": WORST, "same_text": QUIET},
        ["Not shown that the toy judge notices the only kind of change in faithfulness; the worst score for every"],
    ),
    "the worse of two controls": (
        {"same_text": QUIET, "longer": cell(None, 0.32, 0.21, 0.45, 60)},
        [
            "Only false alarms were tested in faithfulness",
            "False alarms, scores that change although nothing became worse: too many in faithfulness (32 % [21, 45] "
            "of 60 rows, longer). A reliable metric has at most 15 %.",
        ],
    ),
    "no score could be made": (
        {"other_answer": cell("too few", None, None, None, 0, missing=50)},
        ["Nothing is known: none of the changed rows (50 were drawn) has both scores."],
    ),
}


def report_of(metric: str, cells: Mapping[str, Any], rows: int = 50) -> dict[str, Any]:
    return {"rows": rows, "settings": SETTINGS, "metrics": {metric: cells}}


@pytest.mark.parametrize(("cells", "expected"), CASES.values(), ids=CASES)
def test_what_is_noticed_is_counted_and_the_rest_has_its_word(cells: Mapping[str, Any], expected: list[str]) -> None:
    sentences = probe_conclusion(report_of("faithfulness", cells), {"faithfulness": "The toy judge"}).sentences
    assert [text[: len(start)] for text, start in zip(sentences, expected, strict=True)] == expected


@pytest.mark.parametrize(
    ("cells", "rows", "expected"),
    [
        ({"evasive": UNDECIDED}, 50, "rag-evaluator probe c.yaml --set name=x --sample 100"),
        ({"evasive": UNDECIDED}, 33, "rag-evaluator evaluate c.yaml --set name=x"),  # there are no more rows
        ({"evasive": RELIABLE}, 50, "rag-evaluator evaluate c.yaml --set name=x"),
        ({"evasive": WORST}, 50, "rag-evaluator check c.yaml --set name=x"),
    ],
)
def test_the_next_command_is_a_larger_sample_only_where_it_may_settle_more(
    cells: Mapping[str, Any], rows: int, expected: str
) -> None:
    report = report_of("answer_relevancy", cells, rows)
    assert probe_conclusion(report, {}, ["c.yaml", "--set", "name=x"]).next == expected
    assert probe_conclusion(report, {}).next == ""
