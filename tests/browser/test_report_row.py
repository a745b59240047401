"""A row of a report: all that is known of it, its link, the rows beside it, the prompts as they were sent."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page
from table import Table

Reports = Callable[..., Path]


def test_a_click_opens_a_row_and_its_address_opens_it_again(table: Table) -> None:
    table.click(7)
    table.opens(7)
    assert "row=7" in table.page.url
    table.page.reload()
    table.opens(7)
    table.dialog.locator("button.close").click()
    table.closes()
    assert "row=7" not in table.page.url


def test_the_rows_before_and_after_follow_the_order_that_is_shown(table: Table) -> None:
    table.sort("rouge_score")
    table.page.wait_for_url("**sort=rouge_score**")
    table.page.wait_for_function("() => document.querySelector('#rows tbody tr').dataset.row !== '0'")
    order = table.rows
    table.click(order[1])
    table.opens(order[1])
    table.dialog.locator("button.after").click()
    table.opens(order[2])
    table.dialog.locator("button.before").click()
    table.opens(order[1])
    table.dialog.locator("button.before").click()
    table.opens(order[0])
    assert table.dialog.locator("button.before").is_disabled()


@pytest.mark.parametrize(("row", "direction"), [(0, "rtl"), (1, "ltr")])
def test_data_is_shown_in_the_direction_of_its_script(
    offline_page: Page, reports: Reports, row: int, direction: str
) -> None:
    offline_page.goto(f"{reports('scripts').as_uri()}#row={row}")
    table = Table(offline_page)
    table.opens(row)
    directions = table.row.evaluate(
        "(row) => [...row.querySelectorAll('.data')]"
        ".filter((part) => /[\\u0600-\\u06ff\\u3040-\\u30ff]/.test(part.textContent))"
        ".map((part) => getComputedStyle(part).direction)"
    )
    assert directions
    assert set(directions) == {direction}
    assert table.question(row).evaluate("(link) => getComputedStyle(link).direction") == direction
    assert offline_page.evaluate("getComputedStyle(document.body).direction") == "ltr"  # the interface is English
