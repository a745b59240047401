"""What a reviewer's browser gets and may send: blind labels stay blind, records are checked, nobody's text is lost."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from app_client import ORIGIN, client
from labelled_runs import faithful_run, graded_run
from starlette.testclient import TestClient

from rag_evaluator import label_sheet
from rag_evaluator.features.app.store import ReviewStore

Json = dict[str, Any]  # Any: JSON
FLAG = {"row": 0, "kind": "flag", "field": "too_easy", "before": False, "after": True}
TEXT = {"row": 0, "kind": "correct", "field": "reference", "before": "yes"}


def browser_of(results: Path, who: str = "anna") -> TestClient:
    browser = client(results, who=who)
    browser.headers["origin"] = ORIGIN
    return browser


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    graded_run(root / "exact")
    faithful_run(root / "faith", [f"It is so {place}. It is wrong." for place in range(30)])
    return root


@pytest.fixture
def results(made: Path) -> Iterator[Path]:
    yield made
    for left in (*made.glob("*/reviews.jsonl"), *made.glob("*/labels/*")):
        left.unlink()


@pytest.fixture
def anna(results: Path) -> TestClient:
    return browser_of(results)


def sent(browser: TestClient, values: Json, **more: Any) -> Any:
    """The answer to a flag or correction of a row of `exact`."""
    sample = browser.get("/api/review/row/exact/0").json()["sample"]
    return browser.post("/api/review/record/exact", json={"sample": sample, **values, **more})


def drawn(run: Path) -> str:
    """The name of a new draw."""
    return label_sheet(run, run / "sheet.xlsx", size=24, force=True).name


def question(browser: TestClient, run: str, draw: str, per: str = "score", place: int | str = "") -> Json:
    """A question as the page shows it: its row, its texts, and what its buttons send."""
    page = browser.get(f"/api/label/item/{run}", params={"draw": draw, "per": per, "place": place}).text
    row = re.search(r'data-row="(\d+)"', page)
    answers = [json.loads(html.unescape(text)) for text in re.findall(r"data-send='(.*?)'", page)]
    return {"row": int(row[1]) if row else None, "answers": answers, "text": page}


def label(browser: TestClient, run: str, answer: Json, **other: Any) -> Any:
    return browser.post(f"/api/label/record/{run}", json={**answer, **other})


def test_a_flag_and_a_correction_are_shown_with_the_row_once_they_are_kept(anna: TestClient, results: Path) -> None:
    assert sent(anna, FLAG).status_code == 200
    assert sent(anna, TEXT, after="y <b>").status_code == 200
    row = anna.get("/api/review/row/exact/0").json()
    assert row["flags"] == {"too_easy": "anna"}
    assert row["texts"]["reference"] == "y <b>"
    assert "y &lt;b&gt;" in row["html"]
    assert 'data-row="0"' in row["html"]
    assert 'data-queue="reviewed" data-listed="[0]"' in anna.get("/review/exact").text
    assert sent(anna, FLAG, before=True, after=False).status_code == 200
    assert anna.get("/api/review/row/exact/0").json()["flags"] == {}
    assert [record.by for record in ReviewStore(results / "exact").records()] == ["anna"] * 3


@pytest.mark.parametrize(
    ("wrong", "status", "said"),
    [
        ({"field": "response"}, 400, "'field'"),
        ({"row": 4000}, 404, ""),
        ({"row": -1}, 400, "'row'"),
        ({"sample": "x"}, 400, "another one since"),
        ({"kind": "label", "before": None, "after": 1.0}, 400, "neither a flag nor a correction"),
        ({"kind": "correct", "field": "reference", "before": None, "after": {"a": 1}}, 400, "'after'"),
    ],
    ids=str,
)
def test_a_record_that_says_something_else_is_refused(
    anna: TestClient, results: Path, wrong: Json, status: int, said: str
) -> None:
    answer = sent(anna, FLAG, **wrong)
    assert (answer.status_code, said in answer.json()["error"]) == (status, True)
    assert not (results / "exact" / "reviews.jsonl").exists()


NO_JSON = "cannot be read as JSON: "
DEEP = b'{"after": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize(
    ("body", "said"),
    [(b"[", NO_JSON), (b"[]", "expected a JSON object"), (b"\xff", NO_JSON), (DEEP, NO_JSON)],
    ids=["half a list", "a list", "no text", "nested 100,000 deep"],
)
def test_a_body_that_is_no_object_is_refused(anna: TestClient, body: bytes, said: str) -> None:
    answer = anna.post("/api/review/record/exact", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, said in answer.json()["error"]) == (400, True)


def test_without_review_nothing_can_be_changed(results: Path) -> None:
    reader = client(results)
    assert reader.get("/review/exact").status_code == 404
    assert reader.post("/api/review/record/exact", json={}, headers={"origin": ORIGIN}).status_code == 405


def test_a_text_that_somebody_has_changed_meanwhile_is_shown_and_replaced_only_then(results: Path) -> None:
    anna = browser_of(results)
    bob = browser_of(results, "bob")
    assert sent(anna, TEXT, after="by anna").status_code == 200
    answer = sent(bob, TEXT, after="by bob")
    assert answer.status_code == 409
    assert answer.json()["now"] == "by anna"
    assert "by anna" in answer.json()["error"]
    assert sent(bob, TEXT, before="by anna", after="by bob").status_code == 200


def test_questions_come_in_the_order_of_the_draw_from_the_first_without_an_answer(results: Path) -> None:
    record = label_sheet(results / "exact", results / "exact" / "sheet.xlsx", size=24, force=True)
    anna = browser_of(results)
    draw = record.name
    assert [question(anna, "exact", draw, place=place)["row"] for place in range(24)] == list(record.rows)
    assert label(anna, "exact", question(anna, "exact", draw)["answers"][0]).status_code == 200
    assert question(anna, "exact", draw)["row"] == record.rows[1]
    assert anna.get("/api/label/item/exact?draw=other").status_code == 404
    page = anna.get("/label/exact").text
    assert f"?draw={draw}" in page
    assert "1 of 24 rows labelled" in page


@pytest.mark.parametrize("per", ["statement", "score"])
def test_no_answer_of_the_judge_reaches_the_browser_while_a_draw_is_open(
    anna: TestClient, results: Path, per: str
) -> None:
    draw = drawn(results / "faith")
    assert label(anna, "faith", question(anna, "faith", draw, per)["answers"][0]).status_code == 200
    places = range(48 if per == "statement" else 24)
    asked = [question(anna, "faith", draw, per, place) for place in places]
    rows = {each["row"] for each in asked}
    pages = [anna.get("/label/faith"), *(anna.get(f"/api/review/row/faith/{row}") for row in rows)]
    text = "\n".join([*(each["text"] for each in asked), *(page.text for page in pages)])
    assert len(rows) == 24
    assert "It is so" in text
    for word in ("about: ", "verdict", "supported", "0.5", "reason", "confidence"):
        assert word not in text, word
    [worst] = re.findall(r'data-queue="worst" data-listed="(.*?)"', anna.get("/review/faith").text)
    assert not rows & set(json.loads(worst))


def test_a_closed_draw_takes_no_label_and_names_the_command_that_compares(results: Path) -> None:
    anna = browser_of(results)
    bob = browser_of(results, "bob")
    draw = drawn(results / "exact")
    for place in range(24):
        asked = question(anna, "exact", draw, place=place)
        assert label(anna, "exact", asked["answers"][0]).status_code == 200
    assert label(bob, "exact", asked["answers"][1]).status_code == 200
    end = question(anna, "exact", draw)
    assert "Every question has an answer" in end["text"]
    assert label(anna, "exact", end["answers"][0]).status_code == 200
    assert f"--labels {results}/exact/labels/{draw}.anna.jsonl" in question(anna, "exact", draw)["text"]
    assert question(bob, "exact", draw)["row"] is not None
    again = label(anna, "exact", asked["answers"][1])
    assert (again.status_code, "closed" in again.json()["error"]) == (400, True)


def test_the_last_answer_is_taken_back(anna: TestClient, results: Path) -> None:
    draw = drawn(results / "exact")
    yes, _, *_ = question(anna, "exact", draw)["answers"]
    label(anna, "exact", yes)
    *_, undo = question(anna, "exact", draw)["answers"]
    assert undo == {**yes, "after": None}
    assert label(anna, "exact", undo).status_code == 200
    [table] = (results / "exact" / "labels").glob("*.jsonl")
    assert table.read_bytes() == b""


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"after": 0.5}, 400),
        ({"draw": "../../x"}, 404),
        ({"place": 24}, 400),
        ({"item": "of the row as it was"}, 400),
        ({"per": "statement"}, 200),  # a metric without statements is asked for as a whole
    ],
    ids=str,
)
def test_a_label_that_nobody_asked_for_is_refused(anna: TestClient, results: Path, wrong: Json, status: int) -> None:
    answer = question(anna, "exact", drawn(results / "exact"))["answers"][0]
    assert label(anna, "exact", answer, **wrong).status_code == status
    assert (results / "exact" / "reviews.jsonl").exists() is (status == 200)
