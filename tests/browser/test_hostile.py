"""Hostile data is text: in the report and in the app nothing of it runs, loads, or changes the page."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import HOSTILE, SURROGATE_MARK
from made_runs import Runs
from playwright.sync_api import Page
from served import Server
from table import Table

from rag_evaluator.report import clean

HARM = """() => ({
  hacked: window.__hacked,
  elements: [...document.querySelectorAll("script, iframe, img, object, embed, base, meta[http-equiv=refresh], link")]
    .filter((part) => /hacked|evil/.test(part.outerHTML.slice(0, 500)) && !part.type?.startsWith("application/"))
    .map((part) => part.outerHTML.slice(0, 200)),
  handlers: [...document.querySelectorAll("*")].flatMap((part) => [...part.attributes])
    .filter((attribute) => /^on/i.test(attribute.name) || /^\\s*javascript:/i.test(attribute.value))
    .map((attribute) => `${attribute.name}=${attribute.value}`),
})"""
NO_HARM = {"hacked": None, "elements": [], "handlers": []}


def no_harm(page: Page) -> None:
    found = page.evaluate(HARM)
    assert {"hacked": None, **found} == NO_HARM


def as_shown(text: str) -> str:
    return clean(text.replace(SURROGATE_MARK, "\ud83d"))


@pytest.fixture(params=["report", "app"])
def start(request: pytest.FixtureRequest, page: Page, runs: Runs, serve: Callable[..., Server]) -> Page:
    """The page of the hostile run, in a file or served."""
    if request.param == "report":
        page.context.set_offline(True)
        page.goto(runs.report("hostile").as_uri())
    else:
        page.goto(serve(runs("hostile").parent).link)
        page.get_by_role("link", name=as_shown(SURROGATE_MARK)).first.click()
    Table(page).shows(range(len(HOSTILE)))
    return page


def test_every_hostile_text_is_shown_as_text(start: Page) -> None:
    table = Table(start)
    no_harm(start)
    for row, (name, text) in enumerate(HOSTILE.items()):
        start.evaluate("(row) => { location.hash = `#row=${row}`; }", row)
        table.opens(row)
        shown = table.row.text_content() or ""
        for said in (f"{text} ?", f"{text} said.", f"{text} was.", f"{text} context 0", f"{text} context 1"):
            assert as_shown(said) in shown, (name, said)
        no_harm(start)


def test_hostile_names_of_run_column_and_group_are_text(start: Page) -> None:
    whole = start.locator("body").text_content() or ""
    for name in ("image", "script", "svg", "attribute", "overrides"):
        assert as_shown(HOSTILE[name]) in whole, name
    no_harm(start)


@pytest.mark.parametrize(
    "hash",
    [
        "#row=<img src=x onerror=window.__hacked=1>",
        "#row=-1",
        "#metric=__proto__&min=0",
        "#sort=constructor",
        "#search=<script>window.__hacked=1</script>",
        "#offset=99999999",
        "#%E0%A4%A",
    ],
)
def test_a_hostile_address_breaks_nothing(page: Page, reports: Callable[..., Path], hash: str) -> None:
    page.goto(reports("plain").as_uri() + hash)
    page.locator("#rows .count").wait_for(state="attached")
    page.wait_for_function("() => document.querySelector('#rows tbody').children.length > 0")
    no_harm(page)
