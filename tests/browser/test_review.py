"""People flag and correct rows: nothing that they did is lost by a reload, a second tab, or a server that is killed."""

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from complaints import Complaints
from desk import Desk, written
from keyboard import tab_to
from playwright.sync_api import BrowserContext, Response, expect
from served import Server
from test_accessible import faults

Serve = Callable[..., Server]
NewContext = Callable[..., BrowserContext]
EDITS, KILLS, SEED = 200, 10, 20261122
FLAGS = ("too_easy", "ambiguous", "not_answerable", "duplicate")


@pytest.fixture
def run(to_review: Callable[[str], Path]) -> Path:
    return to_review("plain")


@pytest.fixture
def server(run: Path, serve: Serve) -> Server:
    return serve(run.parent, "--review", "--as", "ana")


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
    desk.says("saved")
    expect(desk.page.locator(".flag[data-flag=too_easy]")).to_have_attribute("aria-pressed", "false")
    desk.sends_all()
    said = [(line["by"], line["row"], line["field"], line["before"], line["after"]) for line in written(run)]
    assert said == [
        ("ana", 0, "too_easy", False, True),
        ("ana", 0, "duplicate", False, True),
        ("ana", 0, "too_easy", True, False),
    ]


def test_a_correction_is_written_at_once_and_shown_after_a_reload(desk: Desk, run: Path) -> None:
    old = desk.page.evaluate("window.reviewPage.known.columns.reference")
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


def test_what_is_typed_and_not_saved_survives_a_reload(desk: Desk, run: Path) -> None:
    desk.page.keyboard.press("e")
    desk.field("reference").fill("half a sen")
    desk.page.reload()
    desk.shows(0)
    expect(desk.field("reference")).to_have_value("half a sen")
    assert written(run) == []


def test_a_row_is_found_flagged_and_corrected_without_a_mouse(
    new_context: NewContext, server: Server, run: Path
) -> None:
    page = new_context().new_page()
    page.goto(server.link)
    tab_to(page, f"a[href='/run/{run.name}']", most=400)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/run/{run.name}")
    tab_to(page, f"a[href='/review/{run.name}']")
    page.keyboard.press("Enter")
    page.wait_for_function("() => window.reviewPage?.known?.row === 0 && window.reviewPage.queues.worst")
    keys = page.keyboard
    keys.press("j")
    page.wait_for_function("() => window.reviewPage.known?.row === 1")
    keys.press("4")
    tab_to(page, "button.edit")
    keys.press("Enter")
    expect(page.locator("form.corrections [name=reference]")).to_be_focused()
    keys.press("Control+a")
    keys.type("by hand")
    tab_to(page, "button.save-now")
    keys.press("Enter")
    expect(page.locator("button.edit")).to_be_focused()
    page.wait_for_function("() => !window.reviewPage.outbox.entries().length")
    assert [(line["row"], line["field"], line["after"]) for line in written(run)] == [
        (1, "duplicate", True),
        (1, "reference", "by hand"),
    ]


def test_nothing_of_the_last_row_stays_where_the_next_one_does_not_load(desk: Desk, complaints: Complaints) -> None:
    complaints.expected += ["Failed to load resource", "net::ERR"]
    desk.correct("reference", "by hand")
    desk.says("saved")
    history = desk.page.locator(".history")
    expect(history).to_contain_text("by hand")
    desk.page.route("**/api/review/row/*/1?*", lambda route: route.abort())
    desk.page.keyboard.press("j")
    desk.page.locator(".fragment .notice").wait_for()
    expect(history).to_be_hidden()
    expect(desk.page.locator(".tools")).to_be_hidden()
    desk.page.unroute("**/api/review/row/*/1?*")
    desk.shows(1)
    expect(desk.page.locator(".tools")).to_be_visible()
    expect(history).to_be_hidden()


@pytest.mark.parametrize("keep", ["mine", "theirs"])
def test_two_people_who_change_the_same_see_both_texts(
    new_context: NewContext, run: Path, serve: Serve, complaints: Complaints, keep: str
) -> None:
    complaints.expected.append("status of 409")
    server = serve(run.parent, "--review")
    ana = Desk(new_context().new_page(), server, run.name, 3, who="ana")
    ben = Desk(new_context().new_page(), server, run.name, 3, who="ben")
    ben.page.keyboard.press("e")
    ben.field("reference").fill("what ben says")
    ana.correct("reference", "what ana says")
    ana.says("saved")
    ben.field("reference").press("Control+Enter")
    ben.says("conflict")
    shown = ben.page.locator(".troubles .conflict")
    expect(shown).to_contain_text("ana")
    expect(shown).to_contain_text("what ana says")
    expect(shown).to_contain_text("what ben says")
    shown.get_by_role("button").nth(1 if keep == "mine" else 0).click()
    expect(ben.page.locator(".troubles .conflict")).to_have_count(0)
    ben.sends_all()
    expected = ["what ana says", "what ben says"] if keep == "mine" else ["what ana says"]
    assert [line["after"] for line in written(run)] == expected


def test_an_edit_survives_the_server_and_the_tab(desk: Desk, run: Path, server: Server, complaints: Complaints) -> None:
    complaints.expected += ["Failed to load resource", "net::ERR"]
    server.kill()
    desk.flag(3)
    desk.says("waiting")
    context = desk.page.context
    desk.page.close()
    server.start()
    again = Desk(context.new_page(), server, run.name)
    again.sends_all()
    assert [(line["field"], line["after"]) for line in written(run)] == [("not_answerable", True)]


def test_every_confirmed_edit_of_two_browsers_is_there_though_the_server_is_killed_ten_times(
    new_context: NewContext, run: Path, serve: Serve, complaints: Complaints
) -> None:
    complaints.expected += ["Failed to load resource", "net::ERR"]
    server, rng = serve(run.parent, "--review"), random.Random(SEED)
    confirmed: list[str] = []

    def note(response: Response) -> None:
        if response.request.method == "POST" and response.status == 200:
            confirmed.append(response.request.post_data_json["id"])

    desks = [Desk(new_context().new_page(), server, run.name, place, who) for place, who in enumerate(("ana", "ben"))]
    for desk in desks:
        desk.page.on("response", note)
    kills, killing = set(rng.sample(range(EDITS), KILLS)), threading.Thread()

    def kill(seconds: float) -> None:
        time.sleep(seconds)
        server.kill()
        server.start()

    expected: dict[tuple[int, str], object] = {}
    for number in range(EDITS):
        if number in kills:
            if killing.ident is not None:
                killing.join()
            killing = threading.Thread(target=kill, args=(rng.random() * 0.2,))
            killing.start()
        desk, row = desks[number % 2], number % 2
        if rng.random() < 0.3:
            expected[row, "reference"] = f"edit {number}"
            desk.correct("reference", f"edit {number}")
        else:
            place = rng.randrange(len(FLAGS))
            expected[row, FLAGS[place]] = not expected.get((row, FLAGS[place]), False)
            desk.flag(place + 1)
    killing.join()
    for desk in desks:
        desk.sends_all()
    lines = written(run)
    ids = [line["id"] for line in lines]
    assert len(ids) == len(set(ids)) == EDITS  # none twice, none lost
    assert set(confirmed) <= set(ids)
    assert {(line["row"], line["field"]): line["after"] for line in lines} == expected


def test_the_page_of_a_reviewer_has_no_serious_fault(desk: Desk) -> None:
    expect(desk.page.locator(".queues a").first).to_be_visible()
    assert faults(desk.page) == []
    desk.page.keyboard.press("e")
    expect(desk.page.locator("form.corrections")).to_be_visible()
    assert faults(desk.page) == []
