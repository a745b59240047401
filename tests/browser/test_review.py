"""People flag and correct rows: what is saved stays, and of what is not the page says so and keeps the text."""

from collections.abc import Callable
from pathlib import Path

import pytest
from complaints import Complaints
from desk import Desk, written
from playwright.sync_api import BrowserContext, expect
from served import Server
from test_accessible import faults

Serve = Callable[..., Server]
NewContext = Callable[..., BrowserContext]
FLAGS = ("too_easy", "ambiguous", "not_answerable", "duplicate")


@pytest.fixture
def run(to_review: Callable[[str], Path]) -> Path:
    return to_review("plain")


@pytest.fixture
def desk(new_context: NewContext, server: Server, run: Path) -> Desk:
    return Desk(new_context().new_page(), server, run.name)


def test_flags_are_set_by_keys_and_clicks_and_survive_a_reload(desk: Desk, run: Path) -> None:
    desk.flag(1)
    desk.says("saved")
    desk.page.locator(".flag[data-flag=duplicate]").click()
    desk.page.locator(".flag[data-flag=duplicate][aria-pressed=true]").wait_for()
    desk.says("saved")
    desk.page.reload()
    desk.shows(0)
    expect(desk.page.locator(".flag[data-flag=too_easy]")).to_have_attribute("aria-pressed", "true")
    assert [desk.flagged(name) for name in FLAGS] == [True, False, False, True]
    desk.flag(1)
    expect(desk.page.locator(".flag[data-flag=too_easy]")).to_have_attribute("aria-pressed", "false")
    said = [(line["by"], line["row"], line["field"], line["before"], line["after"]) for line in written(run)]
    assert said == [
        ("ana", 0, "too_easy", False, True),
        ("ana", 0, "duplicate", False, True),
        ("ana", 0, "too_easy", True, False),
    ]


def test_a_correction_is_written_at_once_and_shown_after_a_reload(desk: Desk, run: Path) -> None:
    old = desk.page.evaluate("window.reviewPage.known.texts.reference")
    desk.correct("reference", "Marlow, <b>of course</b>")
    desk.says("saved")
    desk.page.reload()
    desk.shows(0)
    expect(desk.page.locator(".history ins")).to_have_text("Marlow, <b>of course</b>")
    [line] = written(run)
    assert (line["kind"], line["field"], line["before"], line["after"]) == (
        "correct",
        "reference",
        old,
        "Marlow, <b>of course</b>",
    )
    assert line["at"]


def test_nothing_of_the_last_row_stays_where_the_next_one_does_not_load(
    desk: Desk, server: Server, complaints: Complaints
) -> None:
    complaints.expected += ["Failed to load resource", "net::ERR"]
    desk.correct("reference", "by hand")
    desk.says("saved")
    history = desk.page.locator(".history")
    expect(history).to_contain_text("by hand")
    server.kill()
    desk.page.keyboard.press("j")
    desk.page.locator(".fragment .notice").wait_for()
    expect(history).to_be_hidden()
    expect(desk.page.locator(".tools")).to_be_hidden()


def test_of_two_people_who_change_the_same_the_second_sees_both_texts(
    new_context: NewContext, run: Path, serve: Serve, complaints: Complaints
) -> None:
    complaints.expected.append("status of 409")
    ana = Desk(new_context().new_page(), serve(run.parent, "--review", "--as", "ana"), run.name, 3)
    ben = Desk(new_context().new_page(), serve(run.parent, "--review", "--as", "ben"), run.name, 3)
    ben.page.keyboard.press("e")
    ben.field("reference").fill("what ben says")
    ana.correct("reference", "what ana says")
    ana.says("saved")
    ben.field("reference").press("Control+Enter")
    ben.says("failed")
    expect(ben.page.locator(".trouble")).to_contain_text("what ana says")
    expect(ben.field("reference")).to_have_value("what ben says")
    ben.field("reference").press("Control+Enter")
    ben.says("saved")
    assert [(line["by"], line["after"]) for line in written(run)] == [
        ("ana", "what ana says"),
        ("ben", "what ben says"),
    ]


def test_what_a_killed_server_does_not_save_stays_in_the_form_until_it_is_saved(
    desk: Desk, run: Path, server: Server, complaints: Complaints
) -> None:
    complaints.expected += ["Failed to load resource", "net::ERR"]
    server.kill()
    desk.flag(1)
    desk.says("failed")
    desk.correct("reference", "typed into the void")
    desk.says("failed")
    assert written(run) == []
    server.start()
    desk.field("reference").press("Control+Enter")
    desk.says("saved")
    expect(desk.page.locator(".history ins")).to_have_text("typed into the void")
    assert [line["after"] for line in written(run)] == ["typed into the void"]


def test_what_is_typed_is_left_only_by_a_person_who_says_so(desk: Desk, run: Path, complaints: Complaints) -> None:
    complaints.expected.append("What you typed is not saved")  # the test's browser answers no
    desk.page.keyboard.press("e")
    desk.field("reference").fill("half a sen")
    desk.field("reference").press("Escape")
    expect(desk.field("reference")).to_have_value("half a sen")
    desk.page.locator("button.after").click()
    desk.shows(0)
    expect(desk.field("reference")).to_have_value("half a sen")
    assert desk.page.url.endswith("#row=0")


def test_the_page_of_a_reviewer_has_no_serious_fault(desk: Desk) -> None:
    expect(desk.page.locator(".queues a").first).to_be_visible()
    assert faults(desk.page) == []
    desk.page.keyboard.press("e")
    expect(desk.page.locator("form.corrections")).to_be_visible()
    assert faults(desk.page) == []
