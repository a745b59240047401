"""The watcher of all tests here: what it would not see, no test would."""

from pathlib import Path

import pytest
from complaints import Complaints
from playwright.sync_api import Browser

STRICT = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; script-src 'nonce-a'\">"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<script>console.error('broken')</script>", "console: broken"),
        ("<script>null.x</script>", "error: "),
        ("<script>alert('here')</script>", "dialog: alert here"),
        ("<img src='https://evil.example/a.png'>", "request to another origin: https://evil.example/a.png"),
        (f"{STRICT}<p style='color: red'>", "content security policy: style-src-attr"),
        (f"{STRICT}<img src=x onerror='window.__hacked = 1'>", "content security policy: "),
        (f"{STRICT}<script>window.__hacked = 1</script>", "content security policy: script-src-elem inline"),
        ("<p>harmless</p>", None),
    ],
)
def test_what_a_page_must_not_do_is_noted(chromium: Browser, tmp_path: Path, body: str, kind: str | None) -> None:
    (tmp_path / "page.html").write_text(f"<!doctype html><title>page</title>{body}", "utf-8")
    complaints = Complaints()
    context = chromium.new_context(offline=True)
    complaints.watch(context)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    complaints.look(page)
    context.close()
    assert any(line.startswith(kind) for line in complaints.found) if kind else complaints.found == []
