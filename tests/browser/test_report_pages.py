"""Whole pages of a report: two runs, colours, print, other readers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from made_runs import RUNS, Runs
from playwright.sync_api import Page, expect
from table import Table, rows_of

Reports = Callable[..., Path]
GROUND = "getComputedStyle(document.body).backgroundColor"


def brightness(page: Page) -> float:
    """Of the ground, 0 to 255."""
    numbers = page.evaluate(f"{GROUND}.match(/[\\d.]+/g).slice(0, 3).map(Number)")
    return float(sum(numbers) / 3)


@pytest.mark.parametrize("name", list(RUNS))
def test_a_report_opens_from_disk_without_a_network(
    offline_page: Page, reports: Reports, runs: Runs, name: str
) -> None:
    offline_page.goto(reports(name).as_uri())
    Table(offline_page).shows(range(min(50, len(rows_of(runs(name))))))
    assert offline_page.locator("h1").count() == 1
    assert (
        offline_page.evaluate(
            "performance.getEntriesByType('resource').filter((e) => !e.name.startsWith('data:')).length"
        )
        == 0
    )


def test_two_runs_are_compared_row_by_row(offline_page: Page, reports: Reports, runs: Runs) -> None:
    offline_page.goto(reports("plain", "other").as_uri())
    table = Table(offline_page)
    table.shows(range(12))
    both = [rows_of(runs(name)) for name in ("plain", "other")]
    changed = next(row for row in range(12) if both[0][row]["response"] != both[1][row]["response"])
    table.click(changed)
    table.dialog.locator("article.row").first.wait_for()
    shown = table.dialog.text_content() or ""
    for rows in both:
        assert rows[changed]["response"] in shown
    sides = [side.bounding_box() for side in table.dialog.locator(".sides").first.locator(":scope > .side").all()]
    assert len(sides) == 2
    assert sides[0] is not None
    assert sides[1] is not None
    assert sides[0]["y"] == sides[1]["y"]  # beside each other
    assert sides[0]["x"] + sides[0]["width"] <= sides[1]["x"]


def test_a_report_is_printed_dark_on_light_without_controls(
    new_context: Callable[..., object], reports: Reports
) -> None:
    page = new_context(offline=True, color_scheme="dark").new_page()  # type: ignore[attr-defined]
    page.goto(reports("plain").as_uri())
    Table(page).shows(range(12))
    page.emulate_media(media="print")
    assert brightness(page) > 200 or page.evaluate(GROUND) == "rgba(0, 0, 0, 0)"
    ink = page.evaluate("getComputedStyle(document.body).color.match(/[\\d.]+/g).slice(0, 3).map(Number)")
    assert sum(ink) / 3 < 100
    assert page.locator(".no-print:visible").count() == 0
    assert page.locator("#rows tbody tr").first.is_visible()
    assert len(page.pdf()) > 10_000


def test_all_rows_are_printed_and_the_page_is_shown_again_afterwards(offline_page: Page, reports: Reports) -> None:
    offline_page.goto(reports("sixty").as_uri())
    rows = offline_page.locator("#rows tbody tr")
    expect(rows).to_have_count(50)
    offline_page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(rows).to_have_count(60)
    expect(offline_page.locator("#rows .pager .place")).to_have_text("1 to 60 of 60")
    offline_page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(rows).to_have_count(50)
