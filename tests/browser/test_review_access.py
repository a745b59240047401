"""Where something can be written, only a page of the app writes it: all others are refused, and no file changes."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from complaints import Complaints
from desk import Desk, written
from folders import contents_of
from playwright.sync_api import Page
from served import TOKEN, Server

from rag_evaluator import label_sheet

Serve = Callable[..., Server]
RECORD = "/api/review/record/{run}"
REFUSED: Mapping[str, Mapping[str, str | None]] = {
    "another origin": {"Origin": "https://evil.example"},
    "an origin that is hidden": {"Origin": "null"},
    "another port": {"Origin": "http://127.0.0.1:1"},
    "no origin": {"Origin": None},
    "a page of another port": {"Sec-Fetch-Site": "same-site"},
    "no token": {"Authorization": None},
    "the token in a cookie": {"Authorization": None, "Cookie": f"rag_evaluator_{{port}}={TOKEN}"},
    "another host": {"Host": "evil.example:{port}"},
    "text": {"Content-Type": "text/plain"},
    "a form": {"Content-Type": "application/x-www-form-urlencoded"},
    "no type": {"Content-Type": None},
}


@pytest.fixture(scope="module")
def run(to_review: Callable[[str], Path]) -> Path:
    folder = to_review("long")
    label_sheet(folder, folder / "sheet.xlsx", 30, ["faithfulness"])
    return folder


def headers_of(server: Server, changes: Mapping[str, str | None]) -> dict[str, str]:
    """Those of a page of the app, changed; None takes one away."""
    own = {"Origin": server.origin, "Content-Type": "application/json", **server.entered(), **changes}
    return {name: value.format(port=server.port) for name, value in own.items() if value is not None}


def requests_of(server: Server, run: Path) -> dict[str, bytes]:
    """Path -> body of everything that writes."""
    draw = label_sheet(run, run / "sheet.xlsx", 30, ["faithfulness"], force=True)
    row = draw.rows[0]
    shown = server.request("GET", f"/api/review/row/{run.name}/{row}", headers=server.entered())
    asked = server.request("GET", f"/api/label/item/{run.name}?draw={draw.name}&place=0", headers=server.entered())
    record = {"row": row, "sample": shown.json()["sample"]}
    flag = {**record, "kind": "flag", "field": "too_easy", "before": False, "after": True}
    [label, *_] = re.findall("data-send='(.*?)'", asked.text)
    bodies = {RECORD: json.dumps(flag), "/api/label/record/{run}": label}
    return {path.format(run=run.name): body.encode() for path, body in bodies.items()}


@pytest.mark.parametrize("changes", REFUSED.values(), ids=list(REFUSED))
def test_what_no_page_of_the_app_sends_is_refused_and_writes_nothing(
    server: Server, run: Path, changes: Mapping[str, str | None]
) -> None:
    before = contents_of(run.rglob("*"))
    for path, body in requests_of(server, run).items():
        assert server.request("POST", path, body, headers_of(server, changes)).status_code in (403, 415), path
    assert contents_of(run.rglob("*")) == before


def test_a_link_with_the_token_writes_nothing(server: Server, run: Path) -> None:
    before = contents_of(run.rglob("*"))
    for path, body in requests_of(server, run).items():
        answer = server.request("POST", f"{path}?token={TOKEN}", body, headers_of(server, {"Authorization": None}))
        assert answer.status_code == 403
    assert contents_of(run.rglob("*")) == before


SEND = """async ([url, body]) => {
  for (const type of ["text/plain", "application/json"])
    for (const mode of ["cors", "no-cors"])
      await fetch(url, {method: "POST", mode, credentials: "include", body, headers: {"Content-Type": type}})
        .catch(() => 0);
  navigator.sendBeacon(url, new Blob([body], {type: "text/plain"}));
  const [name, value] = [body.slice(0, -1) + ', "', '":1}'];  // name=value makes JSON of a form
  const form = Object.assign(document.createElement("form"), {method: "post", action: url, enctype: "text/plain"});
  form.append(Object.assign(document.createElement("input"), {name, value}));
  document.body.append(form);
  form.submit();
}"""


def test_a_page_of_another_origin_in_a_browser_that_reviews_writes_nothing(
    page: Page, server: Server, run: Path, elsewhere: tuple[str, Path], complaints: Complaints
) -> None:
    complaints.expected += ["CORS policy", "Failed to load resource", "ERR_FAILED", "ERR_BLOCKED"]
    origin, folder = elsewhere
    (folder / "page.html").write_text("<!doctype html><title>evil</title><body>", "utf-8")
    desk = Desk(page, server, run.name)
    before = contents_of(run.rglob("*"))
    foreign = page.context.new_page()  # the same browser, in which the app is open
    for path, body in requests_of(server, run).items():
        foreign.goto(f"{origin}/page.html")
        with foreign.expect_navigation() as navigation:
            foreign.evaluate(SEND, [server.origin + path, body.decode()])
        assert navigation.value is not None
        assert navigation.value.status == 403
    assert contents_of(run.rglob("*")) == before
    page.bring_to_front()
    desk.flag(1)
    desk.says("saved")
    assert [line["kind"] for line in written(run)] == ["flag"]


def test_what_a_page_of_the_app_sends_is_written(server: Server, run: Path) -> None:
    """Else the tests above would show nothing."""
    for path, body in requests_of(server, run).items():
        assert server.request("POST", path, body, headers_of(server, {})).status_code == 200, path
    assert [line["kind"] for line in written(run)][-2:] == ["flag", "label"]
    assert list((run / "labels").iterdir())
