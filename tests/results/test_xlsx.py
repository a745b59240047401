"""The workbook of a run: its sheets in order, formats, widths."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from rag_evaluator import Results, load_dataset
from rag_evaluator.metrics import about_metrics, select_metrics
from rag_evaluator.results import Score, interval

METRICS = ["faithfulness", "context_recall", "noise_sensitivity", "answer_relevancy"]


def results_of(values: Sequence[float], **config: Any) -> Results:
    """A run with these values for each metric."""
    rows = [{"question": f"Question {n}?", "topic": "ab"[n % 2], "pages": n + 1} for n in range(len(values))]
    about = about_metrics(select_metrics(METRICS))
    scores = {name: list(map(Score, values)) for name in METRICS}
    return Results(load_dataset(rows), scores, {}, {"name": "run", "config": config, "metrics": about})


def book_of(results: Results, folder: Path) -> Any:
    return openpyxl.load_workbook(results.write(folder) / "scores.xlsx")


def table_of(sheet: Any) -> list[dict[str, Any]]:
    """Rows of cells, by the names in the first row."""
    heading, *rows = sheet.iter_rows()
    return [dict(zip((cell.value for cell in heading), row, strict=True)) for row in rows]


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


HOSTILE = ["=1+1", "{=1}", "http://x.y", "mailto:a@b.c", "<r>a & b</r>", "<r><t>a</t></r>", "-1", "1e5", "internal:A1"]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_never_a_formula_a_link_or_mark_up_in_any_sheet(text: str, tmp_path: Path) -> None:
    rows = load_dataset([{"user_input": text, "topic": text}])
    results = Results(rows, {"m": [Score(0.5)]}, {}, {"config": {"group_by": ["topic"]}})
    cells = [cell for sheet in book_of(results, tmp_path) for row in sheet.iter_rows() for cell in row]
    assert all(cell.data_type != "f" and cell.hyperlink is None for cell in cells)
    assert sum(cell.value == text for cell in cells) == 2 + 1  # scores, group
    assert load_dataset(tmp_path / "scores.xlsx")[0].row["user_input"] == text
