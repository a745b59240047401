"""The table of a report: sorted, filtered, searched, by mouse, keys and links."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from made_runs import METRICS, Runs
from playwright.sync_api import Page, expect
from table import Table, by_value, rows_of, values

Reports = Callable[..., Path]
BINS = ".figures table a[href*='min=']"
COUNTS = """(links) => links.map((link) => [
  link.getAttribute("href"),
  Number(link.closest("tr").lastElementChild.textContent.replace(",", "")),
])"""
TOTALS = """async (queries) => {
  const totals = [];
  for (const query of queries)
    totals.push((await rowTable.source.query(rowTable.queryOf(query))).total);
  return totals;
}"""


@pytest.mark.parametrize("metric", METRICS)
def test_a_click_on_a_heading_sorts_and_a_second_one_turns_the_order(table: Table, runs: Runs, metric: str) -> None:
    table.sort(metric)
    table.shows(by_value(runs("plain"), metric))
    table.sort(metric)
    table.shows(by_value(runs("plain"), metric, descending=True))


def test_missing_scores_come_last_in_both_orders(offline_page: Page, reports: Reports, runs: Runs) -> None:
    offline_page.goto(reports("missing").as_uri())
    table = Table(offline_page)
    found = values(runs("missing"), "faithfulness")
    assert None in found
    table.shows(range(12))
    table.sort("faithfulness")
    table.shows(by_value(runs("missing"), "faithfulness"))
    table.sort("faithfulness")
    table.shows(by_value(runs("missing"), "faithfulness", descending=True))


@pytest.mark.parametrize(
    ("metric", "low", "high"),
    [("faithfulness", "0", "0.5"), ("faithfulness", "1", ""), ("rouge_score", "", "0.4")],
)
def test_a_range_of_a_metric_filters(table: Table, runs: Runs, metric: str, low: str, high: str) -> None:
    table.set("metric", metric)
    table.set("min", low)
    table.set("max", high)
    kept = [
        row
        for row, value in enumerate(values(runs("plain"), metric))
        if value is not None and float(low or "-inf") <= value <= float(high or "inf")
    ]
    table.shows(kept)


@pytest.mark.parametrize("words", ["marlow", "Oscar Brand", "1948", "nothing has this"])
def test_a_search_finds_texts_of_question_response_and_reference(table: Table, runs: Runs, words: str) -> None:
    table.set("search", words)
    texts = [f"{row['user_input']}\n{row['response']}\n{row['reference']}" for row in rows_of(runs("plain"))]
    found = [row for row, text in enumerate(texts) if words.lower() in text.lower()]
    assert len(found) < 12
    table.shows(found)


@pytest.mark.parametrize(("words", "found"), [("لينا طبيبةً", 0), ("いつ", 1), ("1683年", 1)])
def test_a_search_finds_words_of_any_script(offline_page: Page, reports: Reports, words: str, found: int) -> None:
    offline_page.goto(reports("scripts").as_uri())
    table = Table(offline_page)
    table.shows(range(2))
    table.set("search", words)
    offline_page.wait_for_function("() => location.hash.includes('search=')")
    table.shows([found])


def test_only_rows_without_a_score_are_shown_if_asked(offline_page: Page, reports: Reports, runs: Runs) -> None:
    offline_page.goto(reports("missing").as_uri())
    table = Table(offline_page)
    table.shows(range(12))
    table.set("metric", "faithfulness")
    table.set("missing", "1")
    table.shows([row for row, value in enumerate(values(runs("missing"), "faithfulness")) if value is None])


def test_a_link_gives_sorted_and_filtered_rows_again(new_context: Callable[..., object], table: Table) -> None:
    table.set("metric", "faithfulness")
    table.set("max", "0.6")
    table.sort("rouge_score")
    table.page.wait_for_url("**sort=rouge_score**")
    table.page.wait_for_url("**max=0.6**")
    shown = table.rows
    address = table.page.url
    other = new_context(offline=True).new_page()  # type: ignore[attr-defined]
    other.goto(address)
    Table(other).shows(shown)


def test_the_back_button_takes_a_step_back(table: Table, runs: Runs) -> None:
    found = by_value(runs("plain"), "faithfulness")
    table.sort("faithfulness")
    table.shows(found)
    table.click(3)
    table.opens(3)
    table.page.go_back()
    table.closes()
    table.shows(found)
    table.page.go_back()
    table.shows(range(12))
    table.page.go_forward()
    table.shows(found)


def test_the_table_is_used_without_a_mouse(table: Table) -> None:
    page = table.page
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    table.opens(1)
    page.keyboard.press("j")
    table.opens(2)
    page.keyboard.press("k")
    table.opens(1)
    page.keyboard.press("Escape")
    table.closes()
    page.keyboard.press("/")
    page.keyboard.type("Oscar")
    page.wait_for_url("**search=Oscar**")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.name") != "search"


def test_many_rows_come_page_by_page(offline_page: Page, reports: Reports) -> None:
    offline_page.goto(reports("long").as_uri())
    table = Table(offline_page)
    table.shows(range(50))
    offline_page.locator("#rows .pager .after").click()
    table.shows(range(50, 100))
    offline_page.locator("#rows .pager .after").click()
    table.shows(range(100, 120))
    offline_page.go_back()
    table.shows(range(50, 100))
    offline_page.goto(f"{reports('long').as_uri()}#row=101")
    table.opens(101)
    table.shows(range(100, 120))


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=["desktop", "phone"])
@pytest.mark.parametrize("names", [("sixty",), ("sixty", "many"), ("plain", "other")], ids=" and ".join)
def test_headings_stay_in_sight_while_rows_are_scrolled(
    offline_page: Page, reports: Reports, names: tuple[str, ...], size: tuple[int, int]
) -> None:
    offline_page.set_viewport_size({"width": size[0], "height": size[1]})
    offline_page.goto(reports(*names).as_uri())
    last = offline_page.locator("#rows tbody tr[data-row]").last
    last.scroll_into_view_if_needed()
    expect(offline_page.locator("#rows thead th[data-key='row'] button")).to_be_in_viewport(ratio=1)
    box = last.bounding_box()
    heading = offline_page.locator("#rows thead").bounding_box()
    assert box is not None and heading is not None and heading["y"] + heading["height"] <= box["y"] + 1
    assert offline_page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "only the table goes sideways"


@pytest.mark.parametrize("names", [("missing",), ("missing", "other"), ("plain",)], ids=" and ".join)
def test_a_row_has_one_name_in_the_table_its_dialog_and_its_page(
    offline_page: Page, reports: Reports, names: tuple[str, ...]
) -> None:
    offline_page.goto(f"{reports(*names).as_uri()}#row=9")
    table = Table(offline_page)
    table.opens(9)
    named = offline_page.locator("#rows tbody tr[data-row='9'] td.place").text_content()
    assert named == ("q9" if names == ("plain",) else "10")
    expect(offline_page.locator("#row-title")).to_have_text(f"Row {named}")
    assert table.row.locator("h2, h3").filter(has_text=f"Row {named}").count() == 1


def test_each_bin_of_many_rows_leads_to_as_many_rows_as_it_says(offline_page: Page, reports: Reports) -> None:
    offline_page.goto(reports("many").as_uri())
    table = Table(offline_page)
    table.shows(range(50))
    bins = offline_page.locator(BINS).evaluate_all(COUNTS)
    assert len(bins) > 6 * 4
    queries = [{key: values[0] for key, values in parse_qs(urlsplit(href).fragment).items()} for href, _ in bins]
    assert offline_page.evaluate(TOTALS, queries) == [count for _, count in bins]


def test_groups_filter_together_with_a_search_and_what_is_left_is_downloaded(table: Table, runs: Runs) -> None:
    rows = [row["label"] for row in rows_of(runs("plain"))]
    wrong = [place for place, label in enumerate(rows) if label == "wrong"]
    table.page.locator("#rows select[name='group:label']").select_option("wrong")
    table.shows(wrong)
    table.page.locator(".choose summary").click()
    table.page.get_by_label("rouge_", exact=False).last.uncheck()
    with table.page.expect_download() as download:
        table.page.locator("#rows .csv").click()
    lines = download.value.path().read_text("utf-8-sig").splitlines()
    assert len(lines) == len(wrong) + 1
    assert lines[0].endswith("context_relevance,faithfulness")
    table.set("search", "wrong harbour")
    table.shows([place for place in wrong if "Harbour" in str(rows_of(runs("plain"))[place])])


def test_a_click_on_a_bar_and_on_a_group_shows_its_rows(table: Table, runs: Runs) -> None:
    table.page.locator("svg.bars a").first.click()
    low = [place for place, value in enumerate(values(runs("plain"), METRICS[0])) if value == 0]
    table.shows(low)
    table.page.locator(".groups a", has_text="evasive").click()
    table.shows([place for place, row in enumerate(rows_of(runs("plain"))) if row["label"] == "evasive"])


def test_a_copied_row_is_json_and_markdown_in_which_data_is_text(
    new_context: Callable[..., Page], reports: Reports
) -> None:
    context = new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{reports('hostile').as_uri()}#row=0")
    page.locator("dialog article.row").wait_for()
    copied = []
    for kind in ("JSON", "Markdown", "link"):
        page.locator(f"[data-copy={kind}]").click()
        expect(page.locator(".copied")).to_have_text("Copied")
        copied.append(page.evaluate("navigator.clipboard.readText()"))
    assert set(json.loads(copied[0])["scores"]) == {"context_recall", "faithfulness"}
    assert not re.search(r"(?<!\\)[<>`]", copied[1])
    assert copied[2].endswith("#row=0")
