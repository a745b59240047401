"""The list of runs of the app, from which a run opens."""

from collections.abc import Callable

from made_runs import RUNS, Runs
from playwright.sync_api import Page, expect
from served import Server
from table import Table

Serve = Callable[..., Server]


def test_all_runs_are_listed_with_means_and_open(page: Page, runs: Runs, serve: Serve) -> None:
    for name in RUNS:
        runs(name)
    page.goto(serve(runs.folder).link)
    page.wait_for_function("() => document.readyState === 'complete' && document.querySelector('main table')")
    listed = page.locator("main").text_content()  # the same before and after its style sheets are there
    assert listed is not None
    for name in set(RUNS) - {"hostile", "long"}:
        assert name in listed
    assert "0.67" in listed  # faithfulness of plain
    page.get_by_role("link", name="plain", exact=True).first.click()
    Table(page).shows(range(12))
    page.go_back()
    expect(page.locator("main")).to_have_text(listed, timeout=20_000)
