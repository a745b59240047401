"""The first screen of a report: the sentences and the worst rows; what a narrow window and paper show of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_runs import Runs
from playwright.sync_api import Page
from table import Table, rows_of

from rag_evaluator.results import SIGNS, Run, is_marked, tone_of, worst_rows

Reports = Callable[..., Path]
SCREEN = {"width": 1280, "height": 800}
SMALL = {"width": 400, "height": 800}
SIDEWAYS = """() => [document.scrollingElement, ...document.querySelectorAll("#answer, #worst, #means, #rows, .scroll")]
  .filter((part) => !part.closest("details:not([open])"))
  .filter((part) => part.scrollWidth > part.clientWidth + 1).map((part) => part.outerHTML.slice(0, 80))"""
CUT = """() => [...document.querySelectorAll("#worst .clamped, #worst .asks a, #rows .clamped, #rows .asks a")]
  .filter((part) => part.scrollHeight > part.clientHeight + 1).length"""


def opened(new_context: Callable[..., Any], report: Path, **options: Any) -> Page:
    page: Page = new_context(offline=True, **options).new_page()
    page.goto(report.as_uri())
    page.locator("#rows tbody tr[data-row]").first.wait_for()
    return page


def test_the_first_screen_has_the_sentences_and_five_worst_rows(
    new_context: Callable[..., Any], reports: Reports, runs: Runs
) -> None:
    page = opened(new_context, reports("sixty"), viewport=SCREEN)
    first = page.locator("#answer .sentence").first
    assert len(first.inner_text().split()) <= 20
    assert page.locator(".tiles li").count() == 6
    assert first.bounding_box()["y"] < 150  # type: ignore[index]
    assert "faithfulness" in first.inner_text()
    worst = worst_rows(Run(runs("sixty")))
    whole = []
    for row, shown in zip(worst, page.locator("#worst tbody tr").all(), strict=True):
        box = shown.bounding_box()
        assert box is not None
        for text in (row.question, row.response, row.metric, row.reason):
            assert text[:60] in shown.inner_text().replace("\n", " "), text
        whole.append(box["y"] + box["height"] <= SCREEN["height"])
    assert whole[:5] == [True] * 5


def test_the_first_screen_of_a_comparison_has_the_sentence_the_table_and_two_changed_rows(
    new_context: Callable[..., Any], reports: Reports
) -> None:
    page = opened(new_context, reports("plain", "other"), viewport=SCREEN)
    rows = page.locator(".changed.worse ol > li")
    for part in (page.locator(".comparison .sentence").first, page.locator(".sides tbody tr").last, rows.nth(1)):
        box = part.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= SCREEN["height"]
    assert page.locator(".sides thead").inner_text().split()[1:3] == ["plain", "other"]
    page.locator(".sides .open-rows a", has_text="better").last.click()
    assert page.locator("#rows .count").inner_text() == "7 of 12 rows"


def test_a_worst_row_opens_by_mouse_and_keys_and_leads_to_the_whole_text(
    offline_page: Page, reports: Reports, runs: Runs
) -> None:
    offline_page.goto(reports("sixty").as_uri())
    table = Table(offline_page)
    worst = worst_rows(Run(runs("sixty")))
    table.shows(range(50))
    offline_page.locator(f"#worst tr[data-row='{worst[1].number}'] td").last.click()
    table.opens(worst[1].number)
    offline_page.keyboard.press("Escape")
    table.closes()
    offline_page.locator(f"#worst tr[data-row='{worst[0].number}'] a").focus()
    offline_page.keyboard.press("Enter")
    table.opens(worst[0].number)
    assert worst[0].response in (table.row.text_content() or "")


GROUND = "(part) => getComputedStyle(part).backgroundColor"


@pytest.mark.parametrize("name", ["plain", "missing"])
def test_the_sign_and_the_colour_of_a_score_say_where_it_is_on_its_range(
    offline_page: Page, reports: Reports, runs: Runs, name: str
) -> None:
    offline_page.goto(reports(name).as_uri())
    Table(offline_page).shows(range(12))
    about = Run(runs(name)).manifest["metrics"]
    summary = Run(runs(name)).summary
    for number, row in enumerate(rows_of(runs(name))):
        cells = offline_page.locator(f"#rows tr[data-row='{number}'] td.score").all()
        for metric, cell in zip(about, cells, strict=True):
            if row[metric] is None:
                assert cell.inner_text() == "missing"
                continue
            tone = tone_of(row[metric], *about[metric]["range"], about[metric]["better"])
            assert cell.locator(f".toned.{tone} .sign").inner_text() == SIGNS[tone], (number, metric)
            is_red = cell.locator(".toned").evaluate(GROUND) != "rgba(0, 0, 0, 0)"
            assert is_red == (tone == "bad")
            is_unusual = is_marked(row[metric], about[metric]["better"], summary[metric]["worst_quarter"])
            assert (cell.locator(".toned.marked[title='unusual in this run']").count() == 1) == is_unusual


@pytest.mark.parametrize("name", ["sixty", "missing", "scripts"])
def test_a_narrow_window_shows_every_score_without_scrolling_sideways(
    new_context: Callable[..., Any], reports: Reports, name: str
) -> None:
    page = opened(new_context, reports(name), viewport=SMALL)
    assert page.evaluate(SIDEWAYS) == []
    cells = page.locator("#rows tbody tr").first.locator("td.score").all()
    assert cells
    for cell in cells:
        box = cell.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= SMALL["width"]
        assert cell.get_attribute("data-name")
    page.locator("#rows thead th[data-kind='score'] button").first.click()
    page.wait_for_url("**#sort=**")


def test_paper_has_the_texts_of_the_tables_whole_and_says_which_rows_it_has(
    new_context: Callable[..., Any], reports: Reports
) -> None:
    page = opened(new_context, reports("sixty"), viewport=SCREEN)
    assert page.evaluate(CUT) > 0  # on the screen long texts are cut, and whole one click away
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 703, "height": 1000})  # A4 without its margins
    assert page.evaluate(CUT) == 0
    assert page.evaluate(SIDEWAYS) == []
    assert page.locator("#rows .pager").inner_text().strip() == "Rows 1 to 50 of 60"
