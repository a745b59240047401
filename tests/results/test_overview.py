"""What results and comparisons look like where they are printed, and in a notebook."""

import html
import re

from rag_evaluator import Results, load_dataset
from rag_evaluator.results import Grid, Score, WithOverview

NASTY = '<script>alert("x")</script>'


def results(name: str = "demo", shift: float = 0.0, reason: str = "no answer") -> Results:
    rows = [{"id": str(i), "question": f"q{i}", "answer": "yes", "contexts": ["c"], "reference": "x"} for i in range(4)]
    scores = [Score(0.5 + shift), Score(1.0), Score(0.25), Score(float("nan"), reason)]
    return Results(load_dataset(rows), {"faithfulness": scores}, manifest={"name": name})


def test_printed_results_are_their_summary() -> None:
    assert str(results()).splitlines() == [
        "Mean over 3 rows: faithfulness 0.58 [0.09, 0.95]; with the missing scores the mean is from 0.44 to 0.69.",
        "1 of 4 scores of faithfulness is missing (no answer).",
        "Worst rows: 2, 0.",
        "demo: 4 rows",
        "metric        mean [95 % interval]  coverage",
        "faithfulness     0.58 [0.09, 0.95]       3/4",
        "  faithfulness: 1 missing: no answer",
    ]


def test_results_in_a_notebook_are_a_table_in_which_nothing_is_markup() -> None:
    page = results(NASTY, reason=NASTY)._repr_html_()
    assert set(re.findall(r"<(\w+)", page)) == {"pre", "span"}
    assert not re.search(r"url\(|: #[0-9a-f]{3}|https?:", page)  # nothing from elsewhere, no colours of its own
    assert page.count(html.escape(NASTY)) == 3
    assert "0.58 [0.09, 0.95]" in page


def test_cells_cannot_break_a_printed_table() -> None:
    class Shown(WithOverview):
        def overview(self) -> list[Grid | str]:
            return [Grid("t", [("a", "left"), ("b", "right")], [["x\ny\x1b[31m", "1"], ["z", "100"]]), "end"]

    assert str(Shown()).splitlines() == [
        "t",
        "a           b",
        "x y [31m    1",
        "z         100",
        "end",
    ]
