"""Blind labels: in the order of the draw, without scores, kept when something breaks."""

from collections.abc import Callable
from pathlib import Path

import pytest
from complaints import Complaints
from desk import WAIT, written
from keyboard import tab_to
from playwright.sync_api import BrowserContext, Page, expect
from served import Server
from test_accessible import faults

from rag_evaluator import certify, label_sheet

SIZE = 30  # some of the rows have no score, and 20 labels of rows with one are needed
NewContext = Callable[..., BrowserContext]


@pytest.fixture
def run(to_review: Callable[[str], Path]) -> Path:
    """A run with a draw."""
    folder = to_review("long")
    label_sheet(folder, folder / "sheet.xlsx", SIZE, ["faithfulness"])
    return folder


@pytest.fixture
def server(run: Path, serve: Callable[..., Server]) -> Server:
    return serve(run.parent, "--review", "--as", "ana")


@pytest.fixture
def inside(new_context: NewContext, server: Server, run: Path) -> Page:
    """The page of the draws."""
    page = new_context().new_page()
    page.goto(server.link)
    page.goto(f"{server.origin}/label/{run.name}")
    return page


@pytest.fixture
def drawn(inside: Page) -> Page:
    """The first question of the draw."""
    inside.locator(".draws .links a").first.click()
    inside.locator(".asking:visible .choice").first.wait_for()
    return inside


def place(page: Page) -> int:
    return int(page.locator(".asking").get_attribute("data-place") or -1)


def answer(page: Page, count: int) -> None:
    """Answer so many questions by their first key."""
    for _ in range(count):
        before = place(page)
        page.keyboard.press(page.locator(".choice kbd").first.inner_text())
        page.locator(f".ending, .asking[data-place='{before + 1}']").wait_for()


def labels_of(run: Path) -> list[dict[str, object]]:
    return [line for line in written(run) if line["kind"] == "label"]


def test_labels_are_kept_over_a_reload(drawn: Page, run: Path) -> None:
    assert int(drawn.locator(".asking progress").get_attribute("max") or 0) >= SIZE - 2
    assert faults(drawn) == []
    answer(drawn, 5)
    drawn.locator(".save[data-state=saved]").wait_for()
    drawn.reload()
    expect(drawn.locator(".asking .count")).to_contain_text("5")
    assert place(drawn) == 5
    assert len(labels_of(run)) == 5
    assert all(line["draw"] for line in written(run))


def test_a_question_stays_until_its_answer_is_saved(
    drawn: Page, run: Path, server: Server, complaints: Complaints
) -> None:
    complaints.expected += ["Failed to load resource", "net::ERR"]
    answer(drawn, 2)
    server.kill()
    drawn.keyboard.press(drawn.locator(".choice kbd").first.inner_text())
    drawn.locator(".save[data-state=failed]").wait_for()
    assert place(drawn) == 2
    assert len(labels_of(run)) == 2
    server.start()
    answer(drawn, 1)
    assert len({line["row"] for line in labels_of(run)}) == 3


def test_rows_are_labelled_and_the_draw_is_closed_without_a_mouse(inside: Page, run: Path) -> None:
    keys = inside.keyboard
    inside.locator(".draws .links a").first.wait_for()
    tab_to(inside, ".draws .links a")
    keys.press("Enter")
    inside.locator(".asking:visible .choice").first.wait_for()
    answer(inside, 1)
    keys.press("u")
    inside.locator(".asking[data-place='0']").wait_for()
    total = int(inside.locator(".asking progress").get_attribute("max") or 0)
    answer(inside, total)
    inside.locator(".ending:visible").wait_for()
    assert inside.evaluate("document.activeElement.id") == "ending-title"
    tab_to(inside, ".close-draw")
    keys.press("Enter")
    [table] = (run / "labels").glob("*.jsonl")
    expect(inside.locator(".closed:visible .command")).to_contain_text(f"--labels {table}", timeout=WAIT)
    assert faults(inside) == []
    assert [line["kind"] for line in written(run)].count("close") == 1
    figures = certify(run, table).certificate["metrics"]["faithfulness"]
    assert figures["labels"] == total
    assert figures["label_mean"]["label_mean"] is not None  # of all rows: the draw is a random sample
