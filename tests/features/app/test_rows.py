import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from app_client import asked, client, made_run, write_run

from rag_evaluator.report import frames_of, worst_places
from rag_evaluator.results import Run

METRIC = 'odd "name"; DROP TABLE rows'  # what a custom metric may be called
Row = dict[str, Any]


def made_rows(count: int = 300) -> list[Row]:
    draw = random.Random(0)
    return [
        {
            "id": f"row {number}",
            "user_input": f"{draw.choice('abcDEF')} question {number} % _ ' Straße",
            "response": draw.choice(["ÄPFEL", "äpfel", "pears", "\ud800 half"]),
            "team": draw.choice(["north", "south", None]),
            "m": draw.choice([None, 0.0, 0.25, 0.3, 1 / 3, 0.9999999999, 1.0]),
            METRIC: draw.choice([None, -1.0, 0.5, 2.5]),
        }
        for number in range(count)
    ]


ROWS = made_rows()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_run(tmp_path_factory.mktemp("results") / "run", ROWS, ["m", METRIC], ["team"]).parent


def ranked(worst: list[int], key: Callable[[int], Any], down: bool = False) -> list[int]:
    """Missing last, of equal ones the worst first: what the index has to agree with.

    Args:
        worst: the rows by their combined rank.
    """
    sign = -1 if down else 1
    there = sorted((row for row in worst if key(row) is not None), key=lambda row: sign * key(row))
    return there + [row for row in worst if key(row) is None]


def score(row: int) -> Any:
    return ROWS[row]["m"]


ALL = list(range(len(ROWS)))
Expected = list[int] | Callable[[list[int]], list[int]]  # or what gives them, from the rows by their combined rank
QUERIES: list[tuple[Row, Expected]] = [
    ({}, ALL),
    ({"sort": "worst"}, lambda worst: worst),
    ({"sort": "m"}, lambda worst: ranked(worst, score)),
    ({"sort": "m", "descending": 1}, lambda worst: ranked(worst, score, down=True)),
    ({"sort": METRIC}, lambda worst: ranked(worst, lambda row: ROWS[row][METRIC])),
    ({"sort": "question"}, sorted(ALL, key=lambda row: ROWS[row]["user_input"].lower())),
    ({"sort": "group:team"}, lambda worst: sorted(worst, key=lambda row: ROWS[row]["team"] or "(no value)")),
    ({"metric": "m", "min": 0.25, "max": 0.3}, [row for row in ALL if score(row) in (0.25, 0.3)]),
    ({"metric": "m", "min": 1}, [row for row in ALL if score(row) in (0.9999999999, 1.0)]),
    ({"missing": 1}, [row for row in ALL if None in (score(row), ROWS[row][METRIC])]),
    ({"missing": 1, "metric": "m"}, [row for row in ALL if score(row) is None]),
    ({"search": "äpfel"}, [row for row in ALL if ROWS[row]["response"].lower() == "äpfel"]),
    ({"search": "STRASSE"}, ALL),
    ({"search": "17  ROW"}, [row for row in ALL if "17" in str(row)]),
    ({"search": "[U+D800]"}, [row for row in ALL if "\ud800" in ROWS[row]["response"]]),
    ({"search": "' OR 1=1 --"}, []),
    (
        {"search": "question 1", "metric": "m", "min": 0.5, "sort": "m"},
        lambda worst: ranked([row for row in worst if "1" in str(row) and (score(row) or 0) >= 0.5], score),
    ),
]


@pytest.mark.parametrize(
    ("query", "rows"), QUERIES, ids=lambda value: "by rank" if callable(value) else str(value)[:60]
)
def test_the_index_finds_and_orders_rows_as_python_does(results: Path, query: Row, rows: Expected) -> None:
    places = worst_places(Run(results / "run"))
    expected = rows(sorted(ALL, key=places.__getitem__)) if callable(rows) else rows
    with client(results) as browser:
        pages = [asked(browser, "/api/rows/run", **query, offset=offset, limit=100) for offset in (0, 100, 200)]
    assert [row["row"] for page in pages for row in page["rows"]] == expected
    assert {(page["total"], page["all"]) for page in pages} == {(len(expected), len(ROWS))}


@pytest.mark.parametrize(
    "query",
    [
        "sort=m;DROP TABLE rows",
        "metric=none",
        "metric=m&min=nan",
        "min=0.5",
        "offset=-1",
        "limit=100000",
        "what=1",
        "search=" + "x" * 501,
    ],
)
def test_a_query_that_makes_no_sense_is_refused_with_a_sentence(results: Path, query: str) -> None:
    answer = client(results).get(f"/api/rows/run?{query}")
    assert answer.status_code == 400
    assert answer.json()["error"].endswith(("?", "."))


def test_rows_written_anew_are_shown_at_once(tmp_path: Path) -> None:
    made_run(tmp_path / "run", ROWS[:5], ["m"])
    with client(tmp_path) as browser:
        assert asked(browser, "/api/rows/run", sort="m")["total"] == 5
        made_run(tmp_path / "run", ROWS[:7], ["m"])
        assert asked(browser, "/api/rows/run", sort="m")["total"] == 7
        assert asked(browser, "/api/rows/run")["total"] == 7
        (tmp_path / "run" / "scores.jsonl").unlink()
        assert browser.get("/api/rows/run", params={"sort": "m"}).status_code == 500


@pytest.mark.parametrize("line", ["{", "[1]", "\udcff", ""])
def test_a_damaged_line_is_reported_in_a_sentence(tmp_path: Path, line: str) -> None:
    made_run(tmp_path / "run", ROWS[:3], ["m"])
    with (tmp_path / "run" / "scores.jsonl").open("ab") as file:
        file.write(line.encode("utf-8", "surrogateescape") + b"\n")
    with client(tmp_path) as browser:
        for query in ("", "?sort=m"):
            answer = browser.get(f"/api/rows/run{query}")
            assert answer.status_code == 500
            assert "scores.jsonl" in answer.json()["error"]
            assert "Traceback" not in answer.text


def test_a_run_that_took_the_place_of_another_of_the_same_size_and_time_is_shown(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", [{"user_input": "first", "m": 1}], ["m"])
    other = made_run(tmp_path / "other", [{"user_input": "other", "m": 1}], ["m"])
    for path in (run, other):
        os.utime(path / "scores.jsonl", ns=(1, 1))
    with client(tmp_path) as browser:
        assert asked(browser, "/api/rows/run", sort="m")["rows"][0]["question"] == "first"
        (other / "scores.jsonl").replace(run / "scores.jsonl")
        assert asked(browser, "/api/rows/run", sort="m")["rows"][0]["question"] == "other"


def test_two_runs_are_one_table_with_their_differences(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    rows = [{"id": "b", "user_input": "Who built it?", "response": "Lira", "reference": "Lira"}]
    rows += [{"id": "d", "user_input": "What else?", "response": "x", "reference": "y"}]
    write_run(tmp_path / "b", rows, group_by=[])
    with client(tmp_path) as browser:
        found = asked(browser, "/api/rows/a", **{"with": "b"})
        assert [row["label"] for row in found["rows"]] == ["a", "b", "c", "b: d"]
        differences = [row["scores"].get("exact_match 1-0") for row in found["rows"]]
        assert differences == [None, 1.0, None, None]
        sort = asked(browser, "/api/rows/a", **{"with": "b", "sort": "exact_match 1-0"})
        assert [row["row"] for row in sort["rows"]] == [1, 2, 0, 3]  # of the others row 2 is the worst
        pair = browser.get("/api/row/a/3?with=b")
        assert pair.status_code == 200
        assert "What else?" in pair.text
        assert browser.get("/api/row/a/4?with=b").status_code == 404
        assert browser.get("/api/rows/a?with=../a").status_code == 404


def test_the_heads_of_prompts_that_rows_name_are_given_once_for_all_runs(results: Path) -> None:
    run = results / "run"
    frame = {"when": {}, "head": "Judge this.\n<b>", "tail": "\nOutput: ", "keys": {}, "ascii": False}
    (run / "prompts.json").write_text(json.dumps({"m": {"prompt": {"frames": [frame]}}}), "utf-8")
    with client(results) as browser:
        answer = browser.get("/api/frames/run")
    assert list(answer.json().values()) == ["Judge this.\n<b>"]
    assert answer.json() == frames_of(Run(run))


def test_the_first_rows_of_a_run_need_no_index_which_takes_seconds_to_make(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("rag_evaluator.features.app.app.RowIndex")
    with client(results) as app:
        found = asked(app, "/api/rows/run", offset=50, limit=20)
    assert (found["total"], found["all"]) == (len(ROWS), len(ROWS))
    assert [row["row"] for row in found["rows"]] == list(range(50, 70))


def test_rows_are_filtered_by_a_group_and_an_unknown_column_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    browser = client(tmp_path)
    shown = browser.get("/api/rows/run", params={"group:team": "north"}).json()
    assert [row["row"] for row in shown["rows"]] == [0, 2]
    assert browser.get("/api/rows/run", params={"group:town": "north"}).status_code == 400
