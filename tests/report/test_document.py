"""The file `report.html`: what is embedded, what is escaped, what is left out."""

import base64
import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aliases import Patch
from bs4 import BeautifulSoup
from folders import is_there

from rag_evaluator import RAGEvaluator, compare
from rag_evaluator.report import SCRIPTS, STYLES, write_document

ROOT = Path(__file__).parents[2]
METRICS = ["exact_match", "rouge_score"]
Row = dict[str, Any]  # Any in this module: JSON
Run = Callable[..., Path]


class Page(BeautifulSoup):
    """What a browser finds in a page."""

    def elements(self) -> list[tuple[str, dict[str, Any]]]:
        return [(part.name, part.attrs) for part in self.find_all(True)]

    def block(self, name: str) -> Any:
        text = self.find(id=name).string
        return json.loads(text if text.startswith("{") else gzip.decompress(base64.b64decode(text)))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`run(rows, **config)`: the results folder of rows that were scored."""

    def made(rows: list[Row], **config: Any) -> Path:
        folder = tmp_path / str(config.get("name", "run"))
        whole = {"metrics": METRICS, "report": False, "name": "run", **config}
        RAGEvaluator(whole).evaluate(rows, folder=folder)
        return folder

    return made


@pytest.fixture
def report(tmp_path: Path) -> Callable[..., Page]:
    def made(*folders: Path) -> Page:
        write_document(folders, tmp_path / "report.html", compare(*folders) if len(folders) > 1 else None)
        return Page((tmp_path / "report.html").read_text("utf-8"), "html.parser")

    return made


def row(number: int, response: str = "Tesk", **more: Any) -> Row:
    return {"user_input": f"Question {number}?", "response": response, "reference": "Tesk", **more}


def test_each_row_is_in_the_index_with_its_scores_groups_and_texts(run: Run, report: Callable[..., Page]) -> None:
    rows = [row(0, "Tesk", id="first", topic="sea"), row(1, "Harn", id="second"), row(2, "", id="third", topic="land")]
    page = report(run(rows, group_by=["topic"]))
    index = page.block("index")
    assert index["question"] == ["Question 0?", "Question 1?", "Question 2?"]
    assert index["groups"] == {"topic": ["sea", "(none)", "land"]}
    assert index["scores"] == {"exact_match": [1.0, 0.0, None], "rouge_score": [1.0, 0.0, None]}
    assert page.block("search")[1] == "second\nQuestion 1?\nHarn\nTesk"
    about = page.block("about")
    assert (about["rows"], about["metrics"]) == (3, METRICS)


def test_the_table_calls_a_row_by_its_id_and_leaves_a_blank_one_to_its_number(
    run: Run, report: Callable[..., Page]
) -> None:
    about = report(run([row(0, id="Q7"), row(1, id=" "), row(2, id=None), row(3, id=9.0)])).block("about")
    assert about["labels"] == {"0": "Q7", "3": "9"}


def test_each_row_can_be_opened_from_its_part(run: Run, report: Callable[..., Page], monkeypatch: Patch) -> None:
    monkeypatch.setattr("rag_evaluator.report.document.PART_ROWS", 1)
    page = report(run([row(number) for number in range(3)]))
    assert page.block("about")["part"] == 1
    for number in range(3):
        [fragment] = page.block(f"part-{number}")
        assert f'data-row="{number}"' in fragment


def test_the_same_results_make_the_same_bytes_also_by_processes_that_share_the_rows(
    run: Run, tmp_path: Path, monkeypatch: Patch
) -> None:
    folder = run([row(number) for number in range(5)])
    alone = tmp_path / "alone.html"
    shared = tmp_path / "shared.html"
    write_document([folder], alone)
    monkeypatch.setattr("rag_evaluator.report.document.CHUNK", 2)
    write_document([folder], shared)
    assert shared.read_bytes() == alone.read_bytes()


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\u2028<!--",
    "a\ud800\u202eb",
    "]]>&amp;",
]


@pytest.mark.charts
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_a_text_of_the_data_becomes_no_element_whatever_it_is(run: Run, report: Callable[..., Page], text: str) -> None:
    def elements(page: Page) -> list[str]:
        return [tag for tag, _ in page.elements()]

    config = {"group_by": ["topic"], "metrics": ["exact_match"]}
    expected = elements(report(run([row(0, "Harn", id="i", topic="t")], name="plain", **config)))
    judged = text.replace("\ud800", "")  # half a surrogate pair is refused where a metric reads it
    wrong = f"{judged} {judged}"
    rows = [{"id": text, "user_input": text, "response": wrong, "reference": judged, "topic": text, text: text}]
    page = report(run(rows, name="hostile", **config))
    assert ("tr", {"data-row": "0"}) in page.elements()  # it is among the worst rows
    assert elements(page) == expected
    assert not any(name.startswith("on") or name == "style" for _, attributes in page.elements() for name in attributes)


def test_the_policy_admits_this_script_and_this_style_only_and_nothing_is_fetched(
    run: Run, report: Callable[..., Page]
) -> None:
    page = report(run([row(0)]))
    policy = page.find("meta", attrs={"http-equiv": "Content-Security-Policy"})["content"]
    for tag in ("script", "style"):
        [runs] = [part for part in page.find_all(tag) if "type" not in part.attrs]
        assert runs.attrs == {}
        assert base64.b64encode(hashlib.sha256(runs.string.encode()).digest()).decode() in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    addresses = [value or "" for _, made in page.elements() for name, value in made.items() if name in ("src", "href")]
    assert [address for address in addresses if not address.startswith(("#", "data:,"))] == []


def test_a_table_that_is_too_long_says_so_and_counts_all_rows(
    run: Run, report: Callable[..., Page], monkeypatch: Patch
) -> None:
    monkeypatch.setattr("rag_evaluator.report.document.ROWS", 2)
    page = report(run([row(number) for number in range(3)]))
    assert page.block("about")["rows"] == 2
    assert "figures are those of all 3 rows. The table holds the first 2." in page.text
    assert ("rag-evaluator view" in page.text) is is_there(["view"])


def test_two_runs_have_a_difference_per_metric_and_the_rows_of_both(run: Run, report: Callable[..., Page]) -> None:
    a = run([row(0), row(1), row(2)], name="a")
    b = run([row(7), row(2, "Harn"), row(0)], name="b")
    page = report(a, b)
    index = page.block("index")
    about = page.block("about")
    assert index["question"] == ["Question 0?", "Question 1?", "Question 2?", "Question 7?"]
    assert index["scores"]["exact_match"] == [1.0, 1.0, 1.0, None]
    assert index["scores"]["exact_match 1"] == [1.0, None, 0.0, 1.0]
    assert index["scores"]["exact_match 1-0"] == [0.0, None, -1.0, None]
    assert about["labels"] == {"3": "b: 1"}
    assert "a and b" in page.text


@pytest.mark.parametrize(("ids", "order", "named"), [(False, -1, "3 of a"), (False, 1, "1"), (True, -1, "Q0")])
def test_a_row_is_called_by_its_id_else_by_its_line_in_the_run_that_is_named_where_lines_differ(
    run: Run, report: Callable[..., Page], ids: bool, order: int, named: str
) -> None:
    rows = [row(number, **({"id": f"Q{number}"} if ids else {})) for number in range(3)]
    a = run(rows[::order], name="a")
    b = run([{**rows[0], "response": "Harn"}, *rows[1:]], name="b")
    page = report(a, b)
    assert f" Read row {named}, where b lost." in page.text
    assert page.select_one(".changed .what a").text == f"Row {named}"
    assert [cell.text for cell in page.select("#worst-1 td.place")] == [named.removesuffix(" of a")]
    assert "its line in scores.jsonl of a" in page.select_one("#rows").text


def test_the_sample_report_of_the_docs_has_the_style_and_script_of_today() -> None:
    """`make run`, then a copy of `results/demo/report.html`, makes it anew."""
    page = (ROOT / "docs" / "sample-report.html").read_text("utf-8")
    assets = ROOT / "rag_evaluator" / "report" / "assets"
    for names in (SCRIPTS, STYLES):
        assert "\n".join((assets / name).read_text("utf-8") for name in names) in page
