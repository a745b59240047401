"""The app's pages: the list of runs, the way back, a run that is still going on."""

from collections.abc import Callable

from made_runs import RUNS, Runs
from playwright.sync_api import Page, expect
from served import Server
from table import Table, by_value

Serve = Callable[..., Server]


def open_run(page: Page, name: str) -> Table:
    """From the list of runs to a run."""
    page.get_by_role("link", name=name, exact=True).first.click()
    return Table(page)


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
    table = open_run(page, "plain")
    table.shows(range(12))
    page.go_back()
    expect(page.locator("main")).to_have_text(listed, timeout=20_000)


def test_the_back_button_goes_from_row_to_run_to_list_and_through_a_comparison(
    page: Page, runs: Runs, serve: Serve
) -> None:
    runs("plain"), runs("other")
    page.goto(serve(runs.folder).link)
    open_run(page, "plain").shows(range(12))
    table = Table(page)
    table.sort("faithfulness")
    order = by_value(runs("plain"), "faithfulness")
    table.shows(order)
    table.question(order[2]).click()
    table.opens(order[2])
    table.dialog.locator("button.after").click()
    table.opens(order[3])
    page.go_back()
    table.opens(order[2])
    page.go_back()
    table.closes()
    table.shows(order)
    page.go_back()
    table.shows(range(12))
    page.go_back()
    page.locator("button:disabled", has_text="Compare").wait_for()  # the script of the list is at work
    for name in ("plain", "other"):
        page.locator("tr", has=page.get_by_role("link", name=name, exact=True)).get_by_role("checkbox").check()
    page.get_by_role("button", name="Compare").click()
    table.shows(range(12))
    page.locator("nav.compared a").nth(1).click()
    page.wait_for_url("**/run/other")
    table.shows(range(12))
    page.go_back()
    page.wait_for_url("**/compare?**")
    table.shows(range(12))
    page.go_back()
    page.get_by_role("button", name="Compare").wait_for()
    page.go_forward()
    table.shows(range(12))
