"""The workbook of a run: its sheets in order, formats, widths, judgements."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from aliases import Json

from rag_evaluator import Results, load_dataset
from rag_evaluator.metrics import about_metrics, select_metrics
from rag_evaluator.results import Score, interval, xlsx

METRICS = ["faithfulness", "context_recall", "noise_sensitivity", "answer_relevancy"]
SHEETS = ["summary", "scores", "judgements"]


def judgement(response: Any, confidence: Sequence[float] = (), prompt: str = "prompt", error: str | None = None) -> Any:
    return {"prompt": prompt, "response": response, "confidence": confidence, "error": error}


def results_of(
    values: Sequence[float], metrics: Sequence[str] = METRICS, judgements: Sequence[Any] = (), **config: Any
) -> Results:
    """A run with these values for each metric; each score comes from the judgements."""
    rows = [{"question": f"Question {n}?", "topic": "ab"[n % 2], "pages": n + 1} for n in range(len(values))]
    about = about_metrics(select_metrics(metrics)) if metrics[0] in METRICS else {}
    scores = {
        name: [Score(value, "too long" if math.isnan(value) else None, None, judgements) for value in values]
        for name in metrics
    }
    return Results(load_dataset(rows), scores, {}, {"name": "run", "config": config, "metrics": about})


def book_of(results: Results, folder: Path) -> Any:
    return openpyxl.load_workbook(results.write(folder) / "scores.xlsx")


def table_of(sheet: Any) -> list[Json]:
    """Rows of cells, by the names in the first row."""
    heading, *rows = sheet.iter_rows()
    return [dict(zip((cell.value for cell in heading), row, strict=True)) for row in rows]


def values_of(sheet: Any) -> list[Json]:
    return [{name: cell.value for name, cell in row.items()} for row in table_of(sheet)]


def test_the_summary_shows_retrieval_then_generation_with_intervals_as_text_and_as_numbers(tmp_path: Path) -> None:
    results = results_of([0.5, 1.0, 0.75], group_by=["topic"])
    rows = table_of(book_of(results, tmp_path)["summary"])
    assert [row["metric"].value for row in rows if row["coverage"].value is None] == ["retrieval", "generation"]
    assert all(row["metric"].font.bold == (row["coverage"].value is None) for row in rows)
    order = list(dict.fromkeys(row["metric"].value for row in rows))
    assert order == [
        "retrieval",
        "context_recall",
        "generation",
        "faithfulness",
        "noise_sensitivity",
        "answer_relevancy",
    ]
    summary = results.summary()
    whole = {row["metric"].value: row for row in rows if row["coverage"].value is not None and not row["group"].value}
    for metric, row in whole.items():
        assert row["mean [95 % interval]"].value == interval(summary[metric])
        assert row["ci_low"].value == pytest.approx(summary[metric]["ci_low"])
        assert row["better"].value == summary[metric]["better"]


NLI = [{"statement": "A.", "reason": "r", "verdict": 0}, {"statement": "B.", "reason": "s", "verdict": 1}]
ANSWERS: list[tuple[Any, list[float], list[Json]]] = [
    ({"rating": 2}, [0.75], [{"key": "rating", "value": 2}]),
    ({"reason": "r", "verdict": 1}, [0.9], [{"key": "verdict", "value": 1, "reason": "r"}]),
    (
        {"statements": NLI},
        [0.6, 0.7],
        [
            {"statement": "A.", "key": "verdict", "value": 0, "reason": "r"},
            {"statement": "B.", "key": "verdict", "value": 1, "reason": "s"},
        ],
    ),
    (
        {"question": "Who?", "noncommittal": 0},
        [0.8],
        [{"statement": "Who?", "key": "noncommittal", "value": 0}],
    ),
    (
        {"TP": [{"statement": "A.", "reason": "r"}], "FP": []},
        [],
        [{"statement": "A.", "key": "TP", "reason": "r"}],
    ),
    ({"statements": ["A.", "B."]}, [], [{"statement": "A.\nB.", "key": "statements"}]),
    ({"statements": []}, [], [{"key": "statements"}]),
    (None, [], [{"reason": "no answer: too long"}]),
]


@pytest.mark.parametrize(("response", "confidence", "wanted"), ANSWERS, ids=lambda case: str(case)[:40])
def test_a_judgement_is_a_row_for_each_verdict_in_it(
    response: Any, confidence: list[float], wanted: list[Json], tmp_path: Path
) -> None:
    error = "too long" if response is None else None
    results = results_of([0.5], ["faithfulness"], [judgement(response, confidence, "nli", error)])
    about = {"row": 0, "question": "Question 0?", "metric": "faithfulness", "prompt": "nli"}
    empty = dict.fromkeys(("statement", "key", "value", "reason"))
    assert values_of(book_of(results, tmp_path)["judgements"]) == [{**about, **empty, **row} for row in wanted]


def test_judgements_of_repeats_say_which_repeat(tmp_path: Path) -> None:
    made = [Score(value, None, None, [judgement({"rating": value})]) for value in (0, 2)]
    results = Results(
        load_dataset([{"user_input": "Q?"}]), {"m": [Score.mean_of(made)]}, {}, {"config": {"repeats": 2}}
    )
    assert [(row["repeat"], row["value"]) for row in values_of(book_of(results, tmp_path)["judgements"])] == [
        (0, 0),
        (1, 2),
    ]


def test_beyond_a_bound_the_sheet_of_judgements_ends_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xlsx, "JUDGEMENTS", 5)
    book = book_of(results_of([0.5] * 9, ["faithfulness"], [judgement({"rating": 2})]), tmp_path)
    *rows, last = values_of(book["judgements"])
    assert [row["row"] for row in rows] == [0, 1, 2, 3, 4]
    assert last["question"] == "Only the first 5 are here; all are in details.jsonl."
    whole = book_of(results_of([0.5] * 5, ["faithfulness"], [judgement({"rating": 2})]), tmp_path / "whole")
    assert len(values_of(whole["judgements"])) == 5


HOSTILE = ["=1+1", "{=1}", "http://x.y", "mailto:a@b.c", "<r>a & b</r>", "<r><t>a</t></r>", "-1", "1e5", "internal:A1"]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_never_a_formula_a_link_or_mark_up_in_any_sheet(text: str, tmp_path: Path) -> None:
    answer = {"statements": [{"statement": text, "reason": text, "verdict": 1}]}
    scores = {"m": [Score(0.5, None, None, [judgement(answer, (), text)])]}
    results = Results(
        load_dataset([{"user_input": text, "topic": text}]), scores, {}, {"config": {"group_by": ["topic"]}}
    )
    book = book_of(results, tmp_path)
    cells = [cell for name in SHEETS for row in book[name].iter_rows() for cell in row]
    assert all(cell.data_type != "f" and cell.hyperlink is None for cell in cells)
    assert sum(cell.value == text for cell in cells) == 2 + 1 + 4  # scores, group, judgement
    assert load_dataset(tmp_path / "scores.xlsx")[0].row["user_input"] == text
