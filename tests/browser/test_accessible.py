"""axe-core finds no serious fault on any page, in light and dark."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page
from table import Table

Reports = Callable[..., Path]
SERIOUS = ("serious", "critical")


def faults(page: Page) -> list[str]:
    """What axe-core calls serious or critical, with the first elements."""
    found: list[dict[str, Any]] = Axe().run(page).response["violations"]
    return [
        f"{fault['id']}: {fault['help']}: {[node['html'][:120] for node in fault['nodes'][:4]]} "
        f"{fault['nodes'][0].get('failureSummary', '')[:300]}"
        for fault in found
        if fault["impact"] in SERIOUS
    ]


@pytest.fixture(params=["light", "dark"])
def themed(request: pytest.FixtureRequest, new_context: Callable[..., Any]) -> Page:
    page: Page = new_context(color_scheme=request.param).new_page()
    return page


@pytest.mark.parametrize("names", [("plain",), ("missing",), ("panel",), ("arabic",), ("plain", "other")])
def test_a_report_has_no_serious_fault(themed: Page, reports: Reports, names: tuple[str, ...]) -> None:
    themed.goto(reports(*names).as_uri())
    themed.wait_for_function("() => document.querySelectorAll('#rows tbody tr').length > 0")
    assert faults(themed) == []


@pytest.mark.parametrize("names", [("plain",), ("panel",), ("plain", "other")])
def test_an_open_row_has_no_serious_fault(themed: Page, reports: Reports, names: tuple[str, ...]) -> None:
    themed.goto(f"{reports(*names).as_uri()}#row=1")
    row = Table(themed).dialog.locator("article.row")
    row.first.wait_for()
    row.first.evaluate("(row) => row.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert faults(themed) == []
