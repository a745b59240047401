"""Who may read the app: nobody without the token, no page of another origin, no name but its own."""

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


def test_the_printed_link_gives_a_cookie_and_leaves_the_address(server: Server, inside: Page) -> None:
    assert "token" not in inside.url
    assert TOKEN not in inside.content()
    [cookie] = [one for one in inside.context.cookies() if one["value"] == TOKEN]
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    inside.reload()
    assert inside.locator("h1").is_visible()
    assert TOKEN not in inside.evaluate("document.cookie")


def test_the_printed_link_is_what_the_program_prints(server: Server) -> None:
    log = server.log.read_text(encoding="utf-8")
    assert server.link.replace(TOKEN, "$RAG_EVALUATOR_TOKEN") in log or server.link in log


@pytest.mark.parametrize(
    "path", ["/", "/?token=wrong", "/?token=", "/api/rows/plain", "/api/row/plain/0", "/review", "/x"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_without_a_token_there_is_nothing(server: Server, method: str, path: str) -> None:
    answer = server.request(method, path)
    assert answer.status == 403
    assert b"Torvik" not in answer.body
    assert b"plain" not in answer.body


@pytest.mark.parametrize("cookie", ["", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper()])
def test_a_wrong_cookie_is_no_token(server: Server, cookie: str) -> None:
    name = server.entered()["Cookie"].partition("=")[0]
    assert server.request("GET", "/", headers={"Cookie": f"{name}={cookie}"}).status == 403


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.evil.example:{port}",
        "127.0.0.1@evil.example",
        "evil.example/127.0.0.1",
        "0.0.0.0:{port}",
        "127.0.0.2:{port}",
        "",
        "[::ffff:127.0.0.1]:{port}",
    ],
)
def test_a_name_that_was_made_to_point_here_is_refused(server: Server, host: str) -> None:
    named = {**server.entered(), "Host": host.format(port=server.port)}
    for path in ("/", f"/?token={TOKEN}", "/api/rows/plain"):
        answer = server.request("GET", path, headers=named)
        assert answer.status == 403
        assert "set-cookie" not in answer.headers
        assert b"Torvik" not in answer.body


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}"])
def test_its_own_names_are_answered(server: Server, host: str) -> None:
    assert server.request("GET", "/", headers={**server.entered(), "Host": host.format(port=server.port)}).status == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_origin_is_refused_even_with_the_cookie(server: Server, method: str, origin: str) -> None:
    headers = {**server.entered(), "Origin": origin.format(port=server.port), "Content-Type": "application/json"}
    for path in ("/", "/api/rows/plain", "/api/row/plain/0"):
        answer = server.request(method, path, b"{}" if method == "POST" else None, headers)
        assert answer.status == 403
        assert b"Torvik" not in answer.body
        assert "access-control-allow-origin" not in {name.lower() for name in answer.headers}


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
        encoding="utf-8",
    )
    statuses: dict[str, int] = {}
    foreign = inside.context.new_page()  # the same browser, which has the cookie
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


def test_a_link_on_a_page_of_another_origin_opens_nothing_by_itself(
    server: Server, inside: Page, elsewhere: tuple[str, Path], complaints: Complaints
) -> None:
    complaints.expected += ["Failed to load resource"]
    origin, folder = elsewhere
    (folder / "page.html").write_text(
        f"<!doctype html><title>x</title><a href='{server.origin}/'>go</a>", encoding="utf-8"
    )
    foreign = inside.context.new_page()
    foreign.goto(f"{origin}/page.html")
    with foreign.expect_navigation() as navigation:
        foreign.get_by_role("link").click()
    assert navigation.value is not None
    assert navigation.value.status == 403


@pytest.mark.parametrize(
    "path",
    [
        "/run/../../etc/passwd",
        "/run/..%2f..%2f..%2fetc%2fpasswd",
        "/run/%2e%2e/%2e%2e/etc/passwd",
        "/run//etc/passwd",
        "/run/%2Fetc",
        "/api/rows/..",
        "/api/rows/..%2f..",
        "/api/rows/plain%00",
        "/api/rows/plain/../plain/..%2f..%2fsecret",
        "/api/row/plain/99",
        "/api/row/plain/-1",
        "/api/row/plain/x",
        "/api/row/plain/1e3",
        "/api/row/..%2fsecret/0",
        "/api/row/link/0",
        "/api/rows/link",
        "/assets/../app.py",
        "/assets/..%2f..%2fapp.py",
        "/static/..%2f..%2f..%2fetc%2fpasswd",
        "/plain/manifest.json/..%2f..",
        "/%c0%ae%c0%ae/etc/passwd",
        "/nothing",
    ],
)
def test_what_is_not_below_the_results_is_not_found(server: Server, runs: Runs, path: str) -> None:
    secret = runs.folder.parent / "secret"  # a real run, beside the results
    if not secret.exists():
        secret.mkdir()
        for file in runs("plain").iterdir():
            if file.is_file():
                (secret / file.name).write_bytes(file.read_bytes())
        (runs.folder / "link").symlink_to(secret)
    answer = server.request("GET", path, headers=server.entered())
    assert answer.status == 404
    assert b"Torvik" not in answer.body
    assert b"root:" not in answer.body


def test_without_review_nothing_can_be_changed(runs: Runs, server: Server) -> None:
    before = sorted(runs.folder.rglob("*"))
    headers = {**server.entered(), "Origin": server.origin, "Content-Type": "application/json"}
    for path in ("/", "/api/rows/plain", "/api/reviews/plain", "/review/plain", "/api/labels/plain"):
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            assert server.request(method, path, b"{}", headers).status in (403, 404, 405)
    assert sorted(runs.folder.rglob("*")) == before


@pytest.mark.parametrize("path", ["/", "/nothing", "/api/rows/plain"])
def test_every_answer_has_a_strict_policy(server: Server, path: str) -> None:
    answer = server.request("GET", path, headers=server.entered())
    headers = {name.lower(): value for name, value in answer.headers.items()}
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
