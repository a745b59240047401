"""Sentences of a row in a report: signs in the text lead to what is known of them, and from there to the context."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from table import Table

Reports = Callable[..., Path]
NARROW = {"width": 375, "height": 800}


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


def test_signs_and_flagged_parts_are_seen_without_colours(offline_page: Page, reports: Reports) -> None:
    offline_page.emulate_media(media="print", forced_colors="active")
    row = opened(offline_page, reports("verified"), 12).row
    signs = row.locator(".response .sentence-sign .sign")
    assert signs.all_text_contents() == ["✓", "✗"]
    assert signs.first.is_visible()
    flagged = row.locator(".statement mark").first
    assert "underline" in flagged.evaluate("(mark) => getComputedStyle(mark).textDecorationLine")
    assert flagged.get_attribute("title") == "not supported: 83%"


def test_signs_are_not_copied_with_the_text(offline_page: Page, reports: Reports) -> None:
    row = opened(offline_page, reports("verified")).row
    copied = row.locator(".response .data").first.evaluate(
        "(text) => { getSelection().selectAllChildren(text); return getSelection().toString(); }"
    )
    assert copied.startswith("Is that so?")


def test_a_link_to_a_folded_context_unfolds_it(offline_page: Page, reports: Reports) -> None:
    offline_page.goto(f"{reports('verified', 'verified').as_uri()}#row=0")
    row = Table(offline_page).dialog.locator("article.row")
    row.locator(".sentence .from a").first.click()
    expect(row.locator(".contexts > li:focus")).to_be_visible()


def test_the_text_keeps_the_direction_of_its_script(offline_page: Page, reports: Reports) -> None:
    row = opened(offline_page, reports("verified"), 12).row
    text = row.locator(".response .data")
    assert text.evaluate("(text) => getComputedStyle(text).direction") == "rtl"
    first, second = (row.locator(".response .sentence-sign").nth(place).bounding_box() for place in (0, 1))
    assert first is not None
    assert second is not None
    assert first["x"] > second["x"]


def test_a_row_of_sentences_fits_into_a_narrow_window(new_context: Callable[..., Page], reports: Reports) -> None:
    page: Page = new_context(offline=True, viewport=NARROW).new_page()  # type: ignore[attr-defined]
    row = opened(page, reports("verified")).row
    assert row.evaluate("(row) => row.scrollWidth <= row.clientWidth")
