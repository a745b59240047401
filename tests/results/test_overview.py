"""What results and comparisons look like where they are printed, and in a notebook."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from rag_evaluator import RAGEvaluator, Results, ScriptedJudge, compare, duel, gate, load_dataset, probe
from rag_evaluator.results import Grid, Overview, Score, WithOverview

NASTY = '<script>alert("x")</script>'
VOID = {"br"}


class Checked(HTMLParser):
    """Reads HTML: its elements, and whether they are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.seen.add(tag)
        self.open.append(tag)
        assert {name for name, _ in attributes} <= {"style"}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(html: str) -> Checked:
    """A page that is whole, has no script, and loads nothing."""
    page = Checked()
    page.feed(html)
    page.close()
    assert page.open == []
    assert page.seen <= {"pre", "span"}
    assert not re.search(r"url\(|#[0-9a-f]{3}|https?:", html)  # nothing from elsewhere, no colours of its own
    return page


def results(name: str = "demo", shift: float = 0.0, reason: str = "no answer") -> Results:
    rows = [{"id": str(i), "question": f"q{i}", "answer": "yes", "contexts": ["c"], "reference": "x"} for i in range(4)]
    scores = [Score(0.5 + shift), Score(1.0), Score(0.25), Score(float("nan"), reason)]
    return Results(load_dataset(rows), {"faithfulness": scores}, manifest={"name": name})


def test_printed_results_are_their_summary() -> None:
    assert str(results()).splitlines() == [
        "Mean over 3 rows: faithfulness 0.58 [0.09, 0.95] (0.44 to 0.69 with the missing scores).",
        "1 of 4 scores of faithfulness is missing (no answer).",
        "Worst rows: 2, 0.",
        "demo: 4 rows",
        "metric        mean [95 % interval]  coverage",
        "faithfulness     0.58 [0.09, 0.95]       3/4",
        "  faithfulness: 1 missing: no answer",
    ]


def test_the_representation_of_results_is_one_short_line() -> None:
    assert repr(results()) == "Results(4 rows, 1 metric)"


def test_results_in_a_notebook_are_a_table_in_which_nothing_is_markup() -> None:
    page = parsed(results(NASTY, reason=NASTY)._repr_html_())
    assert page.text.count(NASTY) == 3
    assert "0.58 [0.09, 0.95]" in page.text


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> dict[str, WithOverview]:
    """A value of each kind."""
    rows = [
        {
            "id": f"{place}",
            "user_input": f"Who is {place}?",
            "retrieved_contexts": ["Nolu Brak was born in Tesk in 1921."],
            "response": f"He was born in Tesk in 192{place}.",
            "reference": "In Tesk.",
        }
        for place in range(3)
    ]
    other = [{**row, "response": "Nobody knows."} for row in rows]
    folder, judge = tmp_path_factory.mktemp("runs"), ScriptedJudge(lambda *_: {"rating": 2})
    config = {"metrics": ["exact_match", "rouge"], "report": False}
    runs = [RAGEvaluator({**config, "name": name}).evaluate(data) for name, data in (("a", rows), ("b", other))]
    probed = {"metrics": ["context_relevance"], "report": False, "probe": {"sample": 2}}
    return {
        "results": runs[0],
        "comparison": compare(*runs),
        "verdicts": gate(runs[0], ["exact_match >= 0.9", "exact_match >= 0"]),
        "probe": probe(probed, rows, folder / "probe", judge=judge),
        "duel": duel(*runs, judge=ScriptedJudge(lambda *_: {"better": "first"}), output_dir=folder / "duel"),
    }


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("results", ["3 rows", "exact_match", "coverage"]),
        ("comparison", ["3 rows of a and b matched by 'id'", "a → b", "difference", "rows to show 0.05"]),
        ("verdicts", ["Failed: 1 of 2 rules.", "FAILED", "exact_match >= 0.9"]),
        (
            "probe",
            [
                "few in context_relevance",
                "what is noticed, 2 rows",
                "worse/same/better",
                "share: of a probe",
            ],
        ),
        (
            "duel",
            [
                "Nothing could be judged: ",
                "3 rows that a and b both answered",
                "win rate of a",
                "losses of a, by the judge",
            ],
        ),
    ],
)
def test_every_comparison_is_a_table_where_it_is_printed_and_in_a_notebook(
    kind: str, said: list[str], values: dict[str, WithOverview]
) -> None:
    text, page = str(values[kind]), parsed(values[kind]._repr_html_())
    for part in said:
        assert part in text
        assert part in page.text


def test_representations_are_short(values: dict[str, WithOverview]) -> None:
    assert repr(values["comparison"]) == "Comparison(a → b: 3 rows)"
    assert re.fullmatch(r"Duel\(a against b: 3 rows, win rate (none|[\d.]+)\)", repr(values["duel"]))


def test_a_probe_is_still_a_mapping_and_verdicts_a_list(values: dict[str, Any]) -> None:
    assert values["probe"]["rows"] == 2
    assert [verdict.passed for verdict in values["verdicts"]] == [False, True]
    assert not values["verdicts"].passed


def test_cells_cannot_break_a_printed_table() -> None:
    grid = Grid("t", [("a", "left"), ("b", "right")], [["x\ny\x1b[31m", "1"], ["z", "100"]])
    assert str(Overview([grid, "end"])).splitlines() == [
        "t",
        "a           b",
        "x y [31m    1",
        "z         100",
        "end",
    ]
