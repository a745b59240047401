"""Sentences of a row in a report: signs in the text lead to what is known of them, and from there to the context."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from table import Table

Reports = Callable[..., Path]


def opened(page: Page, path: Path, row: int = 0) -> Table:
    page.goto(f"{path.as_uri()}#row={row}")
    table = Table(page)
    table.opens(row)
    return table


def test_the_keyboard_goes_from_a_sign_to_its_sentence_and_to_its_context(offline_page: Page, reports: Reports) -> None:
    row = opened(offline_page, reports("verified")).row
    sign = row.locator(".response a.sentence-sign.good").first
    sign.press("Enter")
    sentence = row.locator(".sentence:focus")
    expect(sentence.locator(".badge")).to_have_text("✓ supported")
    link = sentence.locator(".from a").first
    number = (link.text_content() or "").removeprefix("context ")
    link.press("Enter")
    expect(row.locator(".contexts > li:focus .rank-number")).to_have_text(number)
    row.locator(".contexts > li:focus a.mark-from").first.press("Enter")
    expect(row.locator(".sentence.good:focus")).to_be_visible()
