"""A folder whose files somebody has edited or damaged: it is listed with what is wrong, and the others work."""

import json
from pathlib import Path
from typing import Any

import pytest
from app_client import client, write_run
from starlette.testclient import TestClient

ODD = [
    ("manifest.json", (), [1]),
    ("manifest.json", (), {}),
    ("summary.json", (), 7),
    ("summary.json", ("exact_match", "count"), -1),
]
OF_THE_OTHER = ["/run/good", "/api/rows/good", "/api/figures/good", "/review/good"]
OF_THE_ODD = ["/run/odd", "/api/rows/odd", "/api/figures/odd", "/review/odd", "/compare?run=good&run=odd"]


def edit(path: Path, keys: tuple[str, ...], value: Any) -> None:
    document = part = json.loads(path.read_bytes())
    for key in keys[:-1]:
        part = part[key]
    if keys:
        part[keys[-1]] = value
    path.write_text(json.dumps(document if keys else value))


def browser_of(results: Path) -> TestClient:
    """A browser that shows a fault of the program as an exception."""
    browser = client(results, who="ana")
    browser._transport.raise_server_exceptions = True  # type: ignore[attr-defined]
    return browser


@pytest.mark.parametrize(("file", "keys", "value"), ODD, ids=str)
def test_a_folder_with_odd_values_is_listed_with_what_is_wrong(
    tmp_path: Path, file: str, keys: tuple[str, ...], value: Any
) -> None:
    write_run(tmp_path / "good")
    edit(write_run(tmp_path / "odd") / file, keys, value)
    with browser_of(tmp_path) as browser:
        page = browser.get("/").text
        assert "/run/good" in page
        assert "damaged" in page
        assert file in page
        assert all(key in page for key in keys)
        for address in OF_THE_OTHER:
            assert browser.get(address).status_code == 200, address
        for address in OF_THE_ODD:
            assert browser.get(address).status_code in (200, 400, 500), address


def test_a_wrong_summary_is_named_with_the_command_that_writes_it_again(tmp_path: Path) -> None:
    (write_run(tmp_path / "run") / "summary.json").write_text("1")
    with browser_of(tmp_path) as browser:
        assert "summary.json" in browser.get("/").text
        answer = browser.get("/api/rows/run")
    assert "summary.json: cannot be read" in answer.text and "rag-evaluator merge" in answer.text
