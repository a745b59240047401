"""Whole pages of a report: opened from disk, two runs, all rows on paper."""

from collections.abc import Callable
from pathlib import Path

import pytest
from made_runs import RUNS, Runs
from playwright.sync_api import Page, expect
from table import Table, rows_of

Reports = Callable[..., Path]


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


def test_all_rows_are_printed_and_the_page_is_shown_again_afterwards(offline_page: Page, reports: Reports) -> None:
    offline_page.goto(reports("sixty").as_uri())
    rows = offline_page.locator("#rows tbody tr")
    expect(rows).to_have_count(50)
    offline_page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(rows).to_have_count(60)
    expect(offline_page.locator("#rows .pager .place")).to_have_text("1 to 60 of 60")
    offline_page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(rows).to_have_count(50)
