"""Wherever a row is shown, its prompts unfold as they were sent: the head, which the page has once, and the rest."""

from collections.abc import Callable

import pytest
from made_runs import Runs
from playwright.sync_api import Page
from served import Server

from rag_evaluator import read_questions

Serve = Callable[..., Server]
ROW = 3
UNFOLD = "(row) => row.querySelectorAll('details').forEach((part) => { part.open = true; })"
TEXTS = "(all) => all.map((prompt) => [...prompt.querySelectorAll('pre')].map((part) => part.textContent).join(''))"
PLACES = {  # where a row is shown: (runs that are made for it, options of the app or None for a report, address)
    "report of a run": (["plain"], None, ""),
    "report of two runs": (["plain", "other"], None, ""),
    "app": (["plain"], [], "/run/plain"),
    "comparison in the app": (["plain", "other"], [], "/compare?run=plain&run=other"),
    "review": (["plain"], ["--review", "--as", "ana"], "/review/plain"),
}


@pytest.mark.parametrize("place", PLACES)
def test_prompts_unfold_with_head_and_rest_wherever_a_row_is_shown(
    page: Page, runs: Runs, serve: Serve, place: str
) -> None:
    names, options, address = PLACES[place]
    sent = [question["text"] for name in names for question in read_questions(runs(name), ROW)]
    assert sent
    page.goto(opened(page, runs, serve, names, options, address))
    row = page.locator(f"article.row[data-row='{ROW}']")
    row.locator("[data-frame]").first.wait_for(state="attached")
    row.evaluate(UNFOLD)
    page.wait_for_function("() => document.querySelectorAll('article.row [data-frame]:empty').length === 0")
    assert sorted(row.locator(".prompt").evaluate_all(TEXTS)) == sorted(sent)


def opened(page: Page, runs: Runs, serve: Serve, names: list[str], options: list[str] | None, address: str) -> str:
    """The address of the row."""
    if options is None:
        return f"{runs.report(*names).as_uri()}#row={ROW}"
    server = serve(runs.folder, *options)
    page.goto(server.link)
    return f"{server.origin}{address}#row={ROW}"
