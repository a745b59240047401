"""Charts and the pages that have some; all in one file, as the first chart of a process takes a second."""

import html
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from labelled_runs import exact_rows, exact_run
from report.made_files import NONE, made_run

from rag_evaluator import compare
from rag_evaluator.report import comparison_html, figures_html, means_html, what_html
from rag_evaluator.results import Run, word
from rag_evaluator.statistics import Paired, Scale, compare_scores

HOSTILE = "<img src=x onerror=alert(1)>\"'&#x3c;</script>\u202e\ud800\x00\uffff${a}{{7*7}}"
VOID = {"wbr", "img"}
IMAGE = "data:image/svg+xml;base64,"


class Elements(HTMLParser):
    """Every element of a page, with its attributes; fails where they are not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def attributes(self, name):
        return [attributes[name] for _, attributes in self.found if name in attributes]


def assert_harmless(page: str) -> Elements:
    """A page in which nothing runs, nothing is loaded and nothing needs a `style` attribute; charts are inside it."""
    page.encode()  # no lone surrogate
    elements = Elements(page)
    tags = {tag for tag, _ in elements.found}
    assert not tags & {"script", "style", "iframe", "image", "use", "foreignobject", "object", "link", "meta"}
    for _, attributes in elements.found:
        assert not [name for name in attributes if name == "style" or name.startswith("on") or name == "xlink:href"]
    assert all(source is not None and source.startswith(IMAGE) for source in elements.attributes("src"))
    assert all(href is not None and href.startswith("#") for href in elements.attributes("href"))
    return elements


def parts_of(run: Run) -> str:
    """Means, charts and what was run, as they stand on the page."""
    return means_html(run) + figures_html(run) + what_html(run)


def test_means_have_their_intervals_coverage_and_reasons_beside_them(tmp_path):
    scores = {"context_recall": [1.0] * 6 + [0.0] * 4, "faithfulness": [0.5] * 8 + [NONE] * 2}
    run = Run(made_run(tmp_path / "run", scores, stages={"context_recall": "retrieval"}))

    page = parts_of(run)

    text = _text(page)
    row = run.summary["context_recall"]
    assert f", middle [{row['ci_low']:.2f}, {row['ci_high']:.2f}] 1.00 0.52 10 /10" in text  # sd: sqrt(2.4 / 9)
    assert "2 missing : 2 × no reference in this row" in text
    assert "bounds 0.40 to 0.60" in text  # (4 + 0) / 10, (4 + 2) / 10
    assert text.index("Retrieval") < text.index("Generation")
    assert "#metric=faithfulness&missing=1" in assert_harmless(page).attributes("href")
    assert "#metric=faithfulness&min=0.5&max=0.5" in assert_harmless(page).attributes("href")


def test_a_mark_shows_mean_interval_and_bounds_on_the_range_of_its_metric(tmp_path):
    cosine = Scale(-1.0, 1.0, "continuous")
    run = Run(made_run(tmp_path / "run", {"answer_relevancy": [0.0, 0.5, 1.0, NONE]}, {"answer_relevancy": cosine}))

    circles = [attributes for tag, attributes in Elements(parts_of(run)).found if tag == "circle"]
    bounds = [
        attributes
        for tag, attributes in Elements(parts_of(run)).found
        if tag == "rect" and attributes.get("class") == "bounds"
    ]

    assert [circle["cx"] for circle in circles] == ["75.0%"]  # 0.5 on -1 to 1
    assert [(bound["x"], bound["width"]) for bound in bounds] == [("56.2%", "25.0%")]  # 0.125 to 0.625


def test_hostile_names_of_metrics_groups_models_and_reasons_are_shown_as_text(tmp_path):
    config = {"language": HOSTILE, "judge": {"model": HOSTILE}, "dataset": HOSTILE, "cluster": None}
    signatures = {HOSTILE: f"metric:x|judge:a|engine:{HOSTILE}|embeddings:a"}
    groups = {HOSTILE: [HOSTILE, "g" * 3000, "g" * 3000 + "2"]}
    folder = made_run(
        tmp_path / "run", {HOSTILE: [0.1, NONE, 1.0]}, groups=groups, config=config, signatures=signatures, name=HOSTILE
    )
    summary = json.loads((folder / "summary.json").read_bytes())
    summary[HOSTILE]["reasons"] = {HOSTILE + str(number): 1 for number in range(70)}
    (folder / "summary.json").write_text(json.dumps(summary))

    page = parts_of(Run(folder))

    assert_harmless(page)
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert "[U+D800]" in page


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    rows = exact_rows(40, 20)
    worse = [{**row, "answer": "no" if place < 15 else row["answer"]} for place, row in enumerate(rows)]
    better = [{**row, "answer": "yes" if place == 39 else row["answer"]} for place, row in enumerate(worse)]
    better[38]["ground_truth"] = ""
    exact_run(folder / "a", rows, group_by=["human"])
    exact_run(folder / "b", better, group_by=["human"])
    return compare(folder / "a", folder / "b")


def test_a_comparison_shows_differences_with_intervals_and_the_rows_that_changed(compared):
    page = comparison_html(compared)

    elements = assert_harmless(page)
    text = _text(page)
    line = compared.records()[0]
    shown = f"{line['difference']:+.2f}".replace("-", "−")
    assert f"{shown} [" in text
    assert "▼ worse" in text
    assert "1/23/15" in text  # one row better, fifteen worse, one of 40 without a partner
    assert text.index("What else makes the scores differ") < text.index("Paired difference")
    assert {"#row=39", "#row=38"} <= set(elements.attributes("href"))
    assert "b against a" in text  # not the folders


def test_a_metric_that_should_be_low_is_better_when_it_falls():
    values = np.ones(30)
    for better, expected in (("lower", "better"), ("higher", "worse")):
        [line] = compare_scores([Paired("noise", values, values - 0.5, Scale(0, 1, "continuous", better))])
        assert word(line) == expected


def _text(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page.replace("<wbr>", ""))).split())


@pytest.mark.parametrize(
    ("config", "shown"),
    [
        ({"dataset": "/home/lena/data/rows.jsonl"}, "rows.jsonl"),
        ({"dataset": "C:\\Users\\lena\\rows.jsonl"}, "rows.jsonl"),
        ({"dataset": "~lena/rows.jsonl"}, "rows.jsonl"),
        ({"judge": {"model": "/home/lena/models/Qwen3-8B"}}, "Qwen3-8B"),
        ({"metric_options": {"m": {"prompts_dir": "/home/lena/prompts"}}}, "prompts"),
    ],
)
def test_a_report_does_not_contain_the_folders_of_the_machine_it_was_made_on(tmp_path, config, shown):
    run = Run(made_run(tmp_path / "run", {"faithfulness": [1.0, 0.5]}, config=config))

    page = parts_of(run)

    assert "lena" not in page
    assert shown in page


def test_without_the_package_that_draws_them_tables_have_the_figures_of_the_charts(tmp_path, monkeypatch, compared):
    scores = {"faithfulness": [0.25] * 4 + [1.0] * 3 + [NONE], "empty": [NONE] * 8}
    run = Run(made_run(tmp_path / "run", scores, groups={"team": ["a", "b"] * 4}))
    drawn = parts_of(run), comparison_html(compared)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    pages = parts_of(run), comparison_html(compared)

    for page, with_charts in zip(pages, drawn, strict=True):
        assert 'class="chart"' in with_charts
        assert "vl-convert-python" not in with_charts
        assert 'class="chart"' not in page
        assert page.count("pip install vl-convert-python") == 1
        assert re.findall("<table.*?</table>", page, re.DOTALL) == re.findall(
            "<table.*?</table>", with_charts, re.DOTALL
        )
        assert page.count('details class="same"') == page.count('details class="same" open>')
    assert re.search(r'min=0.25&amp;max=0.25">0.25</a></td><td class="number">4</td>', pages[0])
    assert "no score" in pages[0]
