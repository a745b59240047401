import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from app_client import HOST, ORIGIN, PORT, TOKEN, client, write_run
from starlette.testclient import TestClient

from rag_evaluator.view.guard import HEADERS, is_name_of, split_host

COOKIE = f"rag_evaluator_{PORT}"
PATHS = ["/", "/run/demo", "/api/rows/demo", "/api/row/demo/0", "/api/progress", "/assets/base.css", "/nothing"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("results") / "demo").parent


@pytest.fixture
def inside(results: Path) -> Iterator[TestClient]:
    with client(results) as made:
        yield made


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("cookies", [{}, {COOKIE: "wrong"}, {COOKIE: TOKEN[:-1]}, {"rag_evaluator_1": TOKEN}], ids=str)
def test_nobody_without_the_token_gets_a_page(results: Path, path: str, cookies: dict[str, str]) -> None:
    outside = client(results, entered=False)
    outside.cookies.update(cookies)
    assert outside.get(path).status_code == 403
    assert "Nolu" not in outside.get(path).text


def test_the_link_gives_a_cookie_that_scripts_and_other_sites_do_not_have_and_leaves_the_address(results: Path) -> None:
    answer = client(results, entered=False).get(f"/compare?run=a&run=b%26c&token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/compare?run=a&run=b%26c")
    assert answer.headers["set-cookie"] == f"{COOKIE}={TOKEN}; HttpOnly; Path=/; SameSite=strict"


def test_a_link_on_another_site_opens_by_a_page_that_the_browser_sends_the_cookie_from(results: Path) -> None:
    answer = client(results, entered=False).get(f"/?token={TOKEN}", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 200
    assert 'content="0;url=/"' in answer.text
    assert TOKEN not in answer.text


def test_a_link_does_not_lead_to_another_server(results: Path) -> None:
    answer = client(results, entered=False).get(f"{ORIGIN}//evil.example/?token={TOKEN}")
    assert answer.headers["location"] == "/evil.example/"


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x", TOKEN.upper(), "ä" * 20, "\ud800"])
def test_a_wrong_token_is_refused_even_with_the_cookie(inside: TestClient, token: str) -> None:
    assert inside.get("/", params={"token": token.encode("utf-8", "surrogatepass")}).status_code == 403


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (f"127.0.0.1:{PORT}", 200),
        (f"localhost:{PORT}", 200),
        (f"LOCALHOST:{PORT}", 200),
        (f"[::1]:{PORT}", 200),
        ("127.0.0.1.evil.example:8765", 403),
        ("evil.example", 403),
        (f"evil.example:{PORT}", 403),
        (f"localhost.evil.example:{PORT}", 403),
        (f"127.0.0.2:{PORT}", 403),
        (f"0.0.0.0:{PORT}", 403),
        (f"user@127.0.0.1:{PORT}", 403),
        ("127.0.0.1:port", 403),
        ("::1", 403),
        ("", 403),
    ],
)
def test_a_host_that_is_not_this_server_is_refused(inside: TestClient, host: str, status: int) -> None:
    assert inside.get("/api/progress", headers={"Host": host}).status_code == status


def test_through_a_tunnel_the_reader_may_have_another_port(results: Path) -> None:
    browser = client(results, entered=False)
    answer = browser.get(f"/?token={TOKEN}", headers={"Host": "localhost:9001"})
    assert answer.headers["set-cookie"].startswith("rag_evaluator_9001=")


@pytest.mark.parametrize(
    ("host", "name", "expected"),
    [
        ("node17", "node17", True),
        ("NODE17", "node17", True),
        ("node17", "node18", False),
        ("::1", "::1", True),
        ("0.0.0.0", socket.gethostname().lower(), True),
        ("0.0.0.0", "10.1.2.3", True),
        ("::", "fe80::1", True),
        ("0.0.0.0", "0.0.0.0", False),
        ("0.0.0.0", "evil.example", False),
        ("10.1.2.3", "10.1.2.4", False),
    ],
)
def test_a_server_for_other_machines_knows_its_own_names_only(host: str, name: str, expected: bool) -> None:
    assert is_name_of(name, host) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:1", ("a", 1)),
        ("A", ("a", 80)),
        ("[::1]", ("::1", 80)),
        ("[::1]:5", ("::1", 5)),
        ("::1", (None, 0)),
        ("a:", (None, 0)),
        ("a:x", (None, 0)),
        ("a:123456", (None, 0)),
        ("a:²", (None, 0)),
    ],
)
def test_a_host_header_is_taken_apart(text: str, expected: tuple[str | None, int]) -> None:
    assert split_host(text) == expected


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": f"https://{HOST}:{PORT}"},
        {"Origin": f"http://{HOST}:1"},
        {"Origin": f"http://localhost:{PORT}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},  # another port of this machine may be another person's
        [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")],
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", PATHS)
def test_a_page_of_another_origin_is_refused_even_with_the_cookie(inside: TestClient, headers: Any, path: str) -> None:
    answer = inside.get(path, headers=headers)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("headers", [{"Origin": ORIGIN}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}])
def test_its_own_pages_are_answered(inside: TestClient, headers: dict[str, str]) -> None:
    assert inside.get("/api/progress", headers=headers).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", ["/", "/api/rows/demo", "/nothing"])
def test_without_review_every_other_method_is_refused(inside: TestClient, method: str, path: str) -> None:
    headers = {"Origin": ORIGIN, "Content-Type": "application/json"}
    assert inside.request(method, path, headers=headers).status_code == 405


@pytest.mark.parametrize("path", [*PATHS, "/api/rows/demo?sort=none", "/api/rows/nothing"])
@pytest.mark.parametrize("entered", [True, False])
def test_every_answer_has_the_headers_that_tie_the_browser(results: Path, path: str, entered: bool) -> None:
    headers = client(results, entered).get(path).headers
    assert {name: headers.get_list(name) for name in HEADERS} == {name: [value] for name, value in HEADERS.items()}
    assert "unsafe" not in headers["content-security-policy"]


def test_a_fault_of_the_program_shows_no_traceback(
    inside: TestClient, monkeypatch: pytest.MonkeyPatch, results: Path
) -> None:
    def fault(*arguments: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("rag_evaluator.view.row_api.row_html", fault)
    answer = inside.get("/api/row/demo/0")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
