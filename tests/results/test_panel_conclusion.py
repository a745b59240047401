"""The sentences of a panel: figures made by hand, and what a statistician would sign."""

from typing import Any

import pytest

from rag_evaluator.cli.console import print_panel
from rag_evaluator.results.run_conclusion import panel_conclusion


def panel(alpha: float | None, rows: int = 60, reason: str | None = None) -> dict[str, Any]:
    """What `summary.json` has of a metric, as far as sentences need it."""
    return {"panel": {"judges": {"qwen": 0.7, "llama": 0.6}, "alpha": alpha, "rows": rows, "alpha_reason": reason}}


CASES: dict[str, tuple[dict[str, dict[str, Any]], list[str]]] = {
    "agree": ({"faithfulness": panel(0.84)}, ["The judges agree in faithfulness (alpha 0.84 over 60 rows)."]),
    "each where it belongs": (
        {
            "faithfulness": panel(0.71),
            "context_recall": panel(0.12),
            "answer_accuracy": panel(0.9, 1200),
            "context_relevance": panel(-0.2),
        },
        [
            "The judges agree in answer_accuracy (alpha 0.90 over 1,200 rows).",
            "The judges agree enough for tentative conclusions in faithfulness (alpha 0.71 over 60 rows).",
            "The judges agree too little in context_recall (alpha 0.12 over 60 rows), context_relevance (alpha -0.20 "
            "over 60 rows).",
        ],
    ),
    "next to a limit: alpha is not rounded over it": (
        {"faithfulness": panel(0.798), "context_recall": panel(0.6669), "answer_accuracy": panel(0.8)},
        [
            "The judges agree in answer_accuracy (alpha 0.80 over 60 rows).",
            "The judges agree enough for tentative conclusions in faithfulness (alpha 0.798 over 60 rows).",
            "The judges agree too little in context_recall (alpha 0.6669 over 60 rows).",
        ],
    ),
    "few rows": (
        {"faithfulness": panel(1.0, 8)},
        ["Too few rows to say whether the judges agree in faithfulness (alpha 1.00 over 8 rows): 20 are needed."],
    ),
    "no alpha": (
        {"faithfulness": panel(None, 60, "all ratings are equal"), "context_recall": panel(0.84)},
        [
            "The judges agree in context_recall (alpha 0.84 over 60 rows).",
            "Not known whether the judges agree in faithfulness: all ratings are equal.",
        ],
    ),
    "one judge": ({"faithfulness": {"mean": 0.5}}, []),
}


@pytest.mark.parametrize("case", CASES)
def test_the_sentences_are_those_that_a_statistician_would_sign(case: str) -> None:
    summary, expected = CASES[case]
    assert panel_conclusion(summary).sentences == expected


def test_the_console_says_how_far_they_agree_in_the_conclusion_and_no_reason_twice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_panel(CASES["no alpha"][0])
    shown = capsys.readouterr().out
    assert "means of the judges" in shown
    assert "all ratings are equal" not in shown
    print_panel(CASES["one judge"][0])
    assert capsys.readouterr().out == ""
