"""The page of a reviewer as a test uses it: the one place that knows its elements."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page
from served import Server

WAIT = 40_000  # milliseconds: a server starts again meanwhile


class Desk:
    """The review page of a run, opened by the printed link."""

    def __init__(self, page: Page, server: Server, run: str, row: int = 0) -> None:
        self.page = page
        self.server = server
        self.run = run
        page.goto(server.link)
        page.goto(f"{server.origin}/review/{run}#row={row}")
        self.shows(row)

    def shows(self, row: int) -> None:
        """Wait until a row is there with what is known of it."""
        self.page.wait_for_function(
            "(row) => window.reviewPage?.known?.row === row && window.reviewPage.row === row", arg=row, timeout=WAIT
        )

    def go(self, row: int) -> None:
        self.page.evaluate("(row) => { location.hash = `row=${row}`; }", row)
        self.shows(row)

    def flag(self, place: int) -> None:
        """Press the key of a flag, from 1."""
        self.page.keyboard.press(str(place))

    def flagged(self, name: str) -> bool:
        return self.page.locator(f".flag[data-flag={name}]").get_attribute("aria-pressed") == "true"

    def field(self, name: str) -> Locator:
        return self.page.locator(f"form.corrections [name={name}]")

    def correct(self, name: str, text: str) -> None:
        """Open the form, type, save."""
        self.page.keyboard.press("e")
        self.field(name).fill(text)
        self.page.keyboard.press("Control+Enter")

    def says(self, state: str) -> None:
        """Wait until the page says that the last change is `saved`, or that it has `failed`."""
        self.page.evaluate("() => window.reviewPage.saving")
        self.page.locator(f".save[data-state={state}]").wait_for(timeout=WAIT)


def written(folder: Path) -> list[dict[str, Any]]:
    """The records on disk."""
    path = folder / "reviews.jsonl"
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if b'"kind"' in line]
