"""What a reviewer's browser gets and may send: records are checked, and nobody's text is lost."""

from pathlib import Path
from typing import Any

import pytest
from aliases import Json
from app_client import ORIGIN, client, kept
from app_client import sent as send
from starlette.testclient import TestClient

FLAG = {"row": 0, "kind": "flag", "field": "too_easy", "before": False, "after": True}
TEXT = {"row": 0, "kind": "correct", "field": "reference", "before": "yes"}


def sent(browser: TestClient, values: Json, **more: Any) -> Any:
    """The answer to a flag or correction of a row of `exact`."""
    return send(browser, "exact", {**values, **more})


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
    assert [record["by"] for record in kept(results / "exact")] == ["anna"] * 3


@pytest.mark.parametrize(
    ("wrong", "status", "said"),
    [
        ({"field": "response"}, 400, "'field'"),
        ({"row": 4000}, 404, ""),
        ({"row": -1}, 400, "'row'"),
        ({"sample": "x"}, 400, "has changed since"),
        ({"sample": None}, 400, "'sample'"),
        ({"kind": "delete"}, 400, "'kind'"),
        ({"after": "yes"}, 400, "'after'"),
        ({"before": "x"}, 400, "'before'"),
        ({"kind": "correct", "field": "reference_contexts", "before": [], "after": "x"}, 400, "'after'"),
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
    anna = client(results, who="anna")
    bob = client(results, who="bob")
    assert sent(anna, TEXT, after="by anna").status_code == 200
    answer = sent(bob, TEXT, after="by bob")
    assert answer.status_code == 409
    assert answer.json()["now"] == "by anna"
    assert "by anna" in answer.json()["error"]
    assert sent(bob, TEXT, before="by anna", after="by bob").status_code == 200
    assert sent(anna, TEXT, after="by bob").status_code == 200, "both want the same"
