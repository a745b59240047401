import re
from pathlib import Path
from urllib.parse import quote

import pytest
from app_client import client, write_run


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outside = tmp_path_factory.mktemp("outside")
    root = outside / "results"
    write_run(root / "demo")
    write_run(root / "deep" / "er" / "run")
    write_run(outside / "secret")
    (root / "link").symlink_to(outside / "secret")
    (root / "inside").symlink_to(root / "demo")
    stolen = root / "stolen"
    stolen.mkdir()
    (stolen / "summary.json").write_bytes((root / "demo" / "summary.json").read_bytes())
    (stolen / "scores.jsonl").symlink_to(outside / "secret" / "scores.jsonl")
    (root / "empty").mkdir()
    (root / ".hidden").mkdir()
    (root / ".hidden" / "scores.jsonl").write_text("{}")
    return root


OUTSIDE = [
    "..",
    "../secret",
    "demo/../../secret",
    "//etc",
    "",
    "demo\0",
    "link",
    "stolen",
    "empty",
    "x" * 5000,
    "\ud800",
]


@pytest.mark.parametrize(
    "path",
    [
        "/run/../../secret",
        "/run/%2e%2e/%2e%2e/secret",
        "/api/rows/demo/../demo/..%2f..%2fsecret",
        "/%c0%ae%c0%ae/etc/passwd",
        "/run/link",
        "/api/rows/stolen",
        "/api/row/link/0",
        "/api/row/demo/3",
        "/api/row/demo/" + "9" * 5000,
        "/compare?run=demo&run=../secret",
        *("/api/rows/" + quote(path, "", errors="surrogatepass") for path in OUTSIDE),
    ],
)
def test_no_address_leads_out_of_the_results(results: Path, path: str) -> None:
    answer = client(results).get(path)
    assert answer.status_code == 404
    assert "Nolu" not in answer.text


def test_runs_are_found_below_the_root_and_once(results: Path) -> None:
    links = re.findall(r'href="/run/([^"]+)"', client(results).get("/").text)
    assert sorted(links) == ["deep/er/run", "demo", "inside"]


def test_a_single_run_shows_nothing_of_its_neighbours(results: Path) -> None:
    browser = client(results / "demo")
    assert browser.get("/").headers["location"] == "/run/demo"
    assert browser.get("/run/demo").status_code == 200
    assert browser.get("/run/deep/er/run").status_code == 404
