"""Blind labels: in the order of the draw, without scores, safe from a reload; agreement only after the end."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from complaints import Complaints
from desk import written
from playwright.sync_api import Page, expect
from served import Server

SIZE = 20


@pytest.fixture
def run(to_review: Callable[[str], Path]) -> Path:
    return to_review("long")


@pytest.fixture
def drawn(page: Page, run: Path, serve: Callable[..., Server]) -> Page:
    """A draw of 20 rows, its first question shown."""
    server = serve(run.parent, "--review", "--as", "ana")
    page.goto(server.link)
    page.goto(f"{server.origin}/label/{run.name}")
    page.locator("form.draw [name=size]").fill(str(SIZE))
    page.locator("form.draw [name=metric]").evaluate_all("(all) => all.forEach((one) => { one.checked = false; })")
    page.locator("form.draw [name=metric][value=faithfulness]").check()
    page.locator("form.draw [type=submit]").click()
    page.locator(".draws .links a").first.click()
    page.locator(".asking:visible .choice").first.wait_for()
    return page


def answer(page: Page, count: int) -> None:
    """Answer so many questions by their first key."""
    for _ in range(count):
        before = page.evaluate("window.labelPage.place")
        page.wait_for_function("() => window.labelPage.samples.has(window.labelPage.items[window.labelPage.place].row)")
        page.keyboard.press(page.locator(".choice kbd").first.inner_text())
        page.wait_for_function("(before) => window.labelPage.place !== before", arg=before)


def test_labels_are_given_without_seeing_scores_and_kept_over_a_reload(drawn: Page, run: Path) -> None:
    answers: list[str] = []
    drawn.on("response", lambda response: answers.append(response.text()) if "/api/label/" in response.url else None)
    total = drawn.evaluate("window.labelPage.items.length")
    assert total >= SIZE - 2  # rows without a score cannot be labelled
    answer(drawn, 5)
    drawn.locator(".save[data-state=saved]").wait_for()
    drawn.reload()
    expect(drawn.locator(".asking .count")).to_contain_text("5")
    assert drawn.evaluate("window.labelPage.place") == 5
    reasons = [json.loads(line) for line in (run / "details.jsonl").read_bytes().splitlines()[:600]]
    said = [one["response"] for line in reasons for one in line["judgements"]]
    lists = [part for one in said for part in one.values() if isinstance(part, list)]
    texts = [line["reason"] for part in lists for line in part if isinstance(line, dict)]
    assert texts
    assert not [text for text in texts if any(text in shown for shown in answers)]
    assert len([line for line in written(run) if line["kind"] == "label"]) == 5
    assert all(line["draw"] for line in written(run))


def test_agreement_is_shown_only_after_the_draw_is_closed(drawn: Page, run: Path, complaints: Complaints) -> None:
    complaints.expected.append("Failed to load resource")  # what the test asks for too early
    total = drawn.evaluate("window.labelPage.items.length")
    answer(drawn, total)
    drawn.locator(".ending:visible").wait_for()
    assert not drawn.locator(".agreement").is_visible()
    status = drawn.evaluate(
        "async () => (await fetch(window.labelPage.address('agreement', {draw: window.labelPage.drawn}))).status"
    )
    assert status in (403, 404, 409)
    drawn.locator(".close-draw").click()
    drawn.locator(".close-draw").click()
    drawn.locator(".agreement:visible").wait_for()
    expect(drawn.locator(".agreement")).to_contain_text("faithfulness")
    assert [line["kind"] for line in written(run)].count("close") == 1
