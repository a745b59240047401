"""The app's pages: the list of runs, a run of many rows, a run that is still going on."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from made_runs import RUNS, Runs
from playwright.sync_api import Page, expect
from served import Server
from table import Table, by_value, rows_of, values
from test_accessible import faults

Serve = Callable[..., Server]
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SHARE = "(document.querySelector('progress')?.position ?? 0)"
SLOW_RUN = """
import sys, time
import made_runs
from rag_evaluator import RAGEvaluator, ScriptedJudge

def slowly(prompt, model):
    time.sleep(0.3)
    return made_runs.judged(prompt, model)

config = {"name": "going", "metrics": ["faithfulness"], "chunk_size": 1}
RAGEvaluator(config, judge=ScriptedJudge(slowly)).evaluate(made_runs.sample_rows(), folder=sys.argv[1])
"""


def open_run(page: Page, name: str) -> Table:
    """From the list of runs to a run."""
    page.get_by_role("link", name=name, exact=True).first.click()
    return Table(page)


def test_all_runs_are_listed_with_means_and_open(page: Page, runs: Runs, serve: Serve) -> None:
    for name in RUNS:
        runs(name)
    page.goto(serve(runs.folder).link)
    listed = page.locator("main").inner_text()
    for name in set(RUNS) - {"hostile", "long"}:
        assert name in listed
    assert "0.67" in listed  # faithfulness of plain
    table = open_run(page, "plain")
    table.shows(range(12))
    page.go_back()
    assert page.locator("main").inner_text() == listed


def test_the_table_of_the_app_sorts_filters_and_searches_as_that_of_the_report(
    page: Page, runs: Runs, serve: Serve
) -> None:
    run = runs("plain")
    page.goto(serve(run.parent).link)
    table = open_run(page, "plain")
    table.shows(range(12))
    found = values(run, "faithfulness")
    table.sort("faithfulness")
    table.shows(by_value(found))
    table.sort("faithfulness")
    table.shows(by_value(found, descending=True))
    table.set("metric", "faithfulness")
    table.set("max", "0.5")
    kept = [row for row in by_value(found, descending=True) if (found[row] or 0.0) <= 0.5]
    table.shows(kept)
    table.click(kept[0])
    table.opens(kept[0])
    assert rows_of(run)[kept[0]]["response"] in (table.row.text_content() or "")
    page.reload()
    table.opens(kept[0])
    page.keyboard.press("Escape")
    table.closes()
    page.locator("#rows .clear").click()
    table.shows(range(12))
    table.set("search", "Marlow")
    page.wait_for_url("**search=Marlow**")
    page.wait_for_function("() => document.querySelectorAll('#rows tbody tr').length < 12")
    assert table.rows


def test_the_server_gives_many_rows_page_by_page(page: Page, runs: Runs, serve: Serve) -> None:
    runs("long")
    page.goto(serve(runs.folder).link)
    table = open_run(page, "made-up-0")
    table.shows(range(50))
    page.locator("#rows .pager .after").click()
    table.shows(range(50, 100))
    page.go_back()
    table.shows(range(50))


def test_two_runs_are_compared_from_the_list(page: Page, runs: Runs, serve: Serve) -> None:
    runs("plain"), runs("other")
    page.goto(serve(runs.folder).link)
    for name in ("plain", "other"):
        page.locator("tr", has=page.get_by_role("link", name=name, exact=True)).get_by_role("checkbox").check()
    page.get_by_role("button", name="Compare").click()
    Table(page).shows(range(12))


def test_a_running_evaluation_shows_how_far_it_is(page: Page, tmp_path: Path, serve: Serve) -> None:
    """Its journal grows under the eyes of the reader, until the run is there."""
    results = tmp_path / "results"
    results.mkdir()
    server = serve(results)
    page.goto(server.link)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}{os.pathsep}{HERE}"}
    going = subprocess.Popen([sys.executable, "-c", SLOW_RUN, str(results / "going")], env=environment)
    try:
        shown = page.locator("main")
        page.wait_for_function(f"() => {SHARE} > 0", timeout=60_000)  # appears by itself
        expect(shown).to_contain_text("going")
        page.wait_for_function(f"(first) => {SHARE} > first", arg=page.evaluate(SHARE), timeout=60_000)
        assert going.wait(timeout=60) == 0
        page.wait_for_function("() => !document.querySelector('progress')", timeout=20_000)
        open_run(page, "going").shows(range(12))
    finally:
        going.kill()
        going.wait()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_list_of_runs_has_no_serious_fault(
    new_context: Callable[..., object], runs: Runs, serve: Serve, scheme: str
) -> None:
    for name in RUNS:
        runs(name)
    page: Page = new_context(color_scheme=scheme).new_page()  # type: ignore[attr-defined]
    page.goto(serve(runs.folder).link)
    assert faults(page) == []
