"""Who may read the app: nobody without the token, no page of another origin."""

from collections.abc import Callable
from pathlib import Path

import pytest
from complaints import Complaints
from made_runs import Runs
from playwright.sync_api import Page
from served import TOKEN, Server

Serve = Callable[..., Server]


@pytest.fixture
def server(runs: Runs, serve: Serve) -> Server:
    return serve(runs("plain").parent)


@pytest.fixture
def inside(server: Server, page: Page) -> Page:
    page.goto(server.link)
    return page


def test_the_printed_link_opens_the_app_and_leaves_the_address(server: Server, inside: Page) -> None:
    heading = inside.locator("h1")
    heading.wait_for()
    assert "token" not in inside.url
    assert TOKEN not in inside.content()
    inside.reload()
    heading.wait_for()
    assert not inside.context.cookies()


def test_another_tab_opens_while_the_first_one_is_open(server: Server, inside: Page) -> None:
    inside.locator("h1").wait_for()
    other = inside.context.new_page()
    other.goto(f"{server.origin}/run/plain")
    other.locator("#rows tbody tr").first.wait_for()


def test_without_a_tab_that_has_the_token_the_page_asks_for_the_link(
    server: Server, page: Page, complaints: Complaints
) -> None:
    complaints.expected += ["Failed to load resource"]
    page.goto(f"{server.origin}/run/plain")
    page.get_by_text("Open that link again").wait_for()
    assert "Torvik" not in page.content()


READ = """async (url) => {
  const said = {};
  for (const [name, options] of Object.entries({
    cors: {credentials: "include"}, opaque: {credentials: "include", mode: "no-cors"},
    post: {credentials: "include", method: "POST", body: "{}"},
    json: {credentials: "include", method: "POST", body: "{}", headers: {"Content-Type": "application/json"}},
  })) said[name] = await fetch(url, options).then((r) => r.text()).catch(() => null);
  return said;
}"""


def test_a_page_of_another_origin_reads_and_writes_nothing(
    server: Server, inside: Page, elsewhere: tuple[str, Path], complaints: Complaints
) -> None:
    complaints.expected += ["CORS policy", "Failed to load resource", "ERR_BLOCKED_BY_RESPONSE", "frame", "ERR_FAILED"]
    origin, folder = elsewhere
    (folder / "page.html").write_text(
        f"<!doctype html><title>evil</title><iframe src='{server.origin}/'></iframe><img src='{server.origin}/'>"
        f"<form method=post action='{server.origin}/api/reviews/plain'><button>go</button></form>",
        "utf-8",
    )
    statuses: dict[str, int] = {}
    foreign = inside.context.new_page()  # the same browser, in which the app is open
    foreign.on("response", lambda response: statuses.update({response.url: response.status}))
    foreign.goto(f"{origin}/page.html")
    for path in ("/", "/api/rows/plain", "/api/row/plain/0"):
        assert not any(foreign.evaluate(READ, server.origin + path).values())
    assert "Torvik" not in "".join(frame.content() for frame in foreign.frames if frame.url.startswith("http"))
    with foreign.expect_navigation():
        foreign.get_by_role("button").click()
    answers = {url.removeprefix(server.origin): status for url, status in statuses.items() if server.origin in url}
    pages = {url: status for url, status in answers.items() if not url.startswith("/assets/")}  # styles of the refusal
    assert pages == {"/": 403, "/api/reviews/plain": 403}
