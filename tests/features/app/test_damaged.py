"""A folder whose files somebody has edited or damaged: it is listed with what is wrong, and the others work."""

import json
from pathlib import Path
from typing import Any

import pytest
from app_client import asked, client, write_run
from starlette.testclient import TestClient

ODD = [
    ("manifest.json", (), [1]),
    ("manifest.json", (), {}),
    ("manifest.json", ("name",), {"a": 1}),
    ("manifest.json", ("signatures",), [1]),
    ("manifest.json", ("metrics", "exact_match"), 7),
    ("manifest.json", ("metrics", "exact_match", "range"), [0, {}]),
    ("manifest.json", ("config",), "none"),
    ("manifest.json", ("config", "group_by"), 7),
    ("manifest.json", ("config", "ci_level"), "x"),
    ("summary.json", (), 7),
    ("summary.json", ("exact_match",), None),
    ("summary.json", ("exact_match", "mean"), 10**400),
    ("summary.json", ("exact_match", "groups"), {"team": {"north": 7}}),
    ("summary.json", ("exact_match", "reasons"), {"x": "y"}),
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


@pytest.mark.parametrize("keys", [("exact_match", "count"), ("exact_match",), ()], ids=str)
def test_a_wrong_summary_hides_no_row(tmp_path: Path, keys: tuple[str, ...]) -> None:
    """The figures are not shown; the rows are."""
    run = write_run(tmp_path / "run")
    summary = json.loads((run / "summary.json").read_bytes())
    if keys == ("exact_match",):  # figures of another run
        (run / "summary.json").write_text(json.dumps({"bleu_score": summary["exact_match"]}))
    else:
        edit(run / "summary.json", keys, 1)
    with browser_of(tmp_path) as browser:
        for address in ("/", "/run/run"):
            answer = browser.get(address)
            assert answer.status_code == 200
            assert "summary.json" in answer.text
        found = asked(browser, "/api/rows/run")
        assert (found["total"], len(found["rows"])) == (3, 3)
        assert list(found["rows"][0]["scores"]) == ["exact_match", "string_presence"]
        assert asked(browser, "/api/rows/run", sort="string_presence")["total"] == 3
        assert browser.get("/api/row/run/2").status_code == 200
