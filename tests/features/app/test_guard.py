import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from app_client import HOST, ORIGIN, PORT, TOKEN, client, write_run
from starlette.testclient import TestClient

PAGES = ["/", "/run/demo", "/api/rows/demo", "/api/row/demo/0", "/nothing"]
PATHS = [*PAGES, "/assets/base.css"]
COOKIE = f"rag_evaluator_{PORT}={TOKEN}"
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
POLICY = ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'")
OPENED = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}  # as a browser asks for a page


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("results") / "demo").parent


@pytest.fixture
def inside(results: Path) -> Iterator[TestClient]:
    with client(results) as made:
        yield made


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Cookie": COOKIE},
    ],
    ids=str,
)
def test_nobody_without_the_token_gets_a_page(results: Path, path: str, headers: dict[str, str]) -> None:
    answer = client(results, entered=False).get(path, headers=headers)
    assert answer.status_code == 403
    assert "Nolu" not in answer.text


@pytest.mark.parametrize("path", ["/", "/run/demo", "/nothing", f"/?token={TOKEN}", f"/compare?run=a&token={TOKEN}"])
def test_a_browser_gets_a_page_without_data_whose_script_has_the_token(results: Path, path: str) -> None:
    """The other paths are asked by scripts only."""
    answer = client(results, entered=False).get(path, headers=OPENED)
    assert (answer.status_code, "set-cookie" in answer.headers) == (200, False)
    assert "/assets/enter.js" in answer.text
    assert not any(word in answer.text for word in ("Nolu", "demo", TOKEN))


@pytest.mark.parametrize("path", ["/api/rows/demo", "/api/row/demo/0"])
def test_what_scripts_ask_for_opens_as_no_page(results: Path, path: str) -> None:
    assert client(results, entered=False).get(path, headers=OPENED).status_code == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_without_the_token_the_page_without_data_is_only_read(results: Path, method: str) -> None:
    assert client(results, entered=False, who="anna").request(method, "/", headers=OPENED).status_code == 403


def test_scripts_and_styles_of_the_program_need_no_token_but_a_page_of_this_server(results: Path) -> None:
    outside = client(results, entered=False)
    assert outside.get("/assets/base.css").status_code == 200
    assert outside.get("/assets/base.css", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert outside.get("/assets/base.css", headers={"Host": "evil.example"}).status_code == 403
    assert outside.get("/assets/..%2fapp.py").status_code == 404


def test_a_link_on_another_site_opens(results: Path) -> None:
    headers = {**OPENED, "Sec-Fetch-Site": "cross-site"}
    outside = client(results, entered=False)
    assert outside.get(f"/?token={TOKEN}", headers=headers).status_code == 200
    assert outside.get("/", headers=headers).status_code == 403
    assert outside.get(f"/?token={TOKEN}", headers={**headers, "Origin": "https://evil.example"}).status_code == 403


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x", TOKEN.upper(), "ä" * 20, "\ud800"])
def test_a_wrong_token_is_refused_even_with_the_right_header(inside: TestClient, token: str) -> None:
    assert inside.get("/", params={"token": token.encode("utf-8", "surrogatepass")}).status_code == 403


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (f"127.0.0.1:{PORT}", 200),
        (f"localhost:{PORT}", 200),
        ("localhost:9001", 200),  # through a tunnel the reader may have another port
        (f"[::1]:{PORT}", 200),
        ("127.0.0.1.evil.example:8765", 403),
        ("evil.example", 403),
        (f"localhost.evil.example:{PORT}", 403),
        (f"127.0.0.2:{PORT}", 403),
        (f"user@127.0.0.1:{PORT}", 403),
        ("127.0.0.1:123456", 403),
        ("evil.example/127.0.0.1", 403),
        (f"[::ffff:127.0.0.1]:{PORT}", 403),
        (f"::1:{PORT}", 403),
        ("", 403),
    ],
)
def test_a_host_that_is_not_this_server_is_refused(inside: TestClient, host: str, status: int) -> None:
    assert inside.get("/api/rows/demo", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    ("host", "name", "status"),
    [
        ("node17", "node17", 200),
        ("node17", "node18", 403),
        ("0.0.0.0", socket.gethostname().lower(), 200),
        ("0.0.0.0", "10.1.2.3", 200),
        ("0.0.0.0", "0.0.0.0", 403),
        ("0.0.0.0", "evil.example", 403),
    ],
)
def test_a_server_for_other_machines_knows_its_own_names_only(results: Path, host: str, name: str, status: int) -> None:
    answer = client(results, host=host).get("/api/rows/demo", headers={"Host": f"{name}:{PORT}"})
    assert answer.status_code == status


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
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
def test_a_page_of_another_origin_is_refused_even_with_the_token(inside: TestClient, headers: Any, path: str) -> None:
    answer = inside.get(path, headers=headers)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("headers", [{"Origin": ORIGIN}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}])
def test_its_own_pages_are_answered(inside: TestClient, headers: dict[str, str]) -> None:
    assert inside.get("/api/rows/demo", headers=headers).status_code == 200


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
    [policy] = headers.get_list("content-security-policy")
    assert {*POLICY} <= {*policy.split("; ")}
    assert "unsafe" not in policy


def test_a_fault_of_the_program_shows_no_traceback(
    inside: TestClient, monkeypatch: pytest.MonkeyPatch, results: Path
) -> None:
    def fault(*arguments: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("rag_evaluator.features.app.app.row_html", fault)
    answer = inside.get("/api/row/demo/0")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
