"""The table of rows as a test uses it: the one place that knows its elements."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from folders import lines_of
from playwright.sync_api import Locator, Page, TimeoutError

from rag_evaluator.report import worst_places
from rag_evaluator.results import Run

SHOWN = "[...document.querySelectorAll('#rows tbody tr[data-row]')].map((row) => Number(row.dataset.row))"


class Table:
    def __init__(self, page: Page) -> None:
        self.page = page

    @property
    def rows(self) -> list[int]:
        """Numbers of the rows that are shown, in order."""
        shown: list[int] = self.page.evaluate(SHOWN)
        return shown

    @property
    def count(self) -> str:
        return self.page.locator("#rows .count").inner_text()

    @property
    def dialog(self) -> Locator:
        return self.page.locator("dialog#row[open]")

    @property
    def row(self) -> Locator:
        """The row that is open."""
        return self.dialog.locator("article.row")

    def question(self, row: int) -> Locator:
        """The link of a row."""
        return self.page.locator(f"#rows tbody tr[data-row='{row}'] td.asks a")

    def shows(self, expected: Sequence[int]) -> None:
        """Wait until exactly these rows are shown, in this order."""
        try:
            self.page.wait_for_function(
                f"(rows) => JSON.stringify({SHOWN}) === JSON.stringify(rows)", arg=list(expected)
            )
        except TimeoutError:
            pytest.fail(f"expected rows {list(expected)}, shown are {self.rows} at {self.page.url}")

    def opens(self, row: int) -> None:
        """Wait until a row is open."""
        self.dialog.locator(f"article.row[data-row='{row}']").wait_for()

    def closes(self) -> None:
        self.page.locator("dialog#row:not([open])").wait_for(state="attached")

    def sort(self, key: str) -> None:
        self.page.locator(f"#rows thead th[data-key='{key}'] button").click()

    def set(self, name: str, value: str) -> None:
        field = self.page.locator(f"#rows form [name='{name}']")
        if name == "missing":
            field.set_checked(bool(value))
        elif name == "metric":
            field.select_option(value)
        else:
            field.fill(value)

    def click(self, row: int) -> None:
        """Click beside the link: the whole line opens the row."""
        self.page.locator(f"#rows tbody tr[data-row='{row}'] td").first.click()


def values(run: Path, metric: str) -> list[float | None]:
    return [row[metric] for row in rows_of(run)]


def rows_of(run: Path) -> list[dict[str, Any]]:
    return lines_of(run / "scores.jsonl")


def by_value(run: Path, metric: str, descending: bool = False) -> list[int]:
    """Rows in the order of their scores; those without one come last, of equal ones the worst first."""
    found = values(run, metric)
    places = worst_places(Run(run))
    sign = -1 if descending else 1
    return sorted(range(len(found)), key=lambda row: (found[row] is None, sign * (found[row] or 0.0), places[row]))
