"""axe-core finds no serious and no moderate fault on any page: in light and dark, in a wide and a narrow window."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from made_runs import Runs
from playwright.sync_api import Page
from served import Server
from table import Table

Reports = Callable[..., Path]
FAULTS = ("moderate", "serious", "critical")
ALL_RULES = {"resultTypes": ["violations"]}
DRAWN = "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
IN_DARK = {**ALL_RULES, "runOnly": ["color-contrast"]}  # only colours are others


def faults(page: Page) -> list[str]:
    """What axe-core calls moderate or worse, with the first elements."""
    found: list[dict[str, Any]] = []
    for scheme, options in (("dark", IN_DARK), ("light", ALL_RULES)):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.evaluate(DRAWN)
        found += Axe().run(page, options=options).response["violations"]
    return [
        f"{fault['id']}: {fault['help']}: {[node['html'][:120] for node in fault['nodes'][:4]]} "
        f"{fault['nodes'][0].get('failureSummary', '')[:300]}"
        for fault in found
        if fault["impact"] in FAULTS
    ]


@pytest.mark.parametrize("names", [("plain",), ("missing",), ("scripts",), ("verified",), ("plain", "other")])
def test_a_report_and_an_open_row_have_no_serious_fault(
    offline_page: Page, reports: Reports, names: tuple[str, ...]
) -> None:
    offline_page.goto(reports(*names).as_uri())
    offline_page.wait_for_function("() => document.querySelectorAll('#rows tbody tr[data-row]').length > 1")
    assert faults(offline_page) == []
    table = Table(offline_page)
    table.question(1).click()
    table.row.first.wait_for()
    table.row.first.evaluate("(row) => row.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert faults(offline_page) == []


def test_the_list_of_runs_and_the_page_of_a_run_in_the_app_have_no_serious_fault(
    page: Page, runs: Runs, serve: Callable[..., Server]
) -> None:
    page.goto(serve(runs("plain").parent).link)
    page.wait_for_function("() => document.readyState === 'complete' && document.querySelector('main table')")
    assert faults(page) == []
    page.get_by_role("link", name="plain", exact=True).first.click()
    page.wait_for_selector("#worst")
    page.wait_for_selector("#spread")
    assert faults(page) == []
