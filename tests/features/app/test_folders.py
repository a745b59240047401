from pathlib import Path

import pytest
from app_client import client, write_run

from rag_evaluator import ResultsError
from rag_evaluator.features.app.state import Folders, NotThere, open_folders


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


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_path_that_is_no_run_below_the_results_is_not_there(results: Path, path: str) -> None:
    with pytest.raises(NotThere):
        open_folders(results).find(path)


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
    ],
)
def test_no_address_leads_out_of_the_results(results: Path, path: str) -> None:
    answer = client(results).get(path)
    assert answer.status_code == 404
    assert "Nolu" not in answer.text


def test_runs_are_found_below_the_root_and_once(results: Path) -> None:
    assert open_folders(results).paths() == ["deep/er/run", "demo", "inside", "stolen"]


def test_a_single_run_shows_nothing_of_its_neighbours(results: Path) -> None:
    folders = open_folders(results / "demo")
    assert folders == Folders(results.resolve(), "demo")
    assert folders.paths() == ["demo"]
    browser = client(results / "demo")
    assert browser.get("/").headers["location"] == "/run/demo"
    assert browser.get("/run/demo").status_code == 200
    assert browser.get("/run/deep/er/run").status_code == 404


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="nothing: no such folder"):
        open_folders(tmp_path / "nothing")
