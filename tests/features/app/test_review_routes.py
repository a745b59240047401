"""What a reviewer's browser gets and may send: blind labels stay blind, records are checked, conflicts are told."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from labelled_runs import faithful_run, graded_run
from starlette.testclient import TestClient

from rag_evaluator.features.app import ReviewStore, make_app
from rag_evaluator.features.certify import DrawRecord, draw_rows, write_draw

TOKEN, BASE = "t" * 20, "http://127.0.0.1:8765"


def client_of(results: Path, who: str | None = "anna") -> TestClient:
    client = TestClient(make_app(results, TOKEN, "127.0.0.1", 8765, review=True, who=who), base_url=BASE)
    client.headers.update({"authorization": f"Bearer {TOKEN}", "origin": BASE})
    return client


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
def client(results: Path) -> TestClient:
    return client_of(results)


def sent(client: TestClient, run: str = "exact", api: str = "review", **values: Any) -> Any:
    known = {"id": uuid4().hex, "row": 0, "kind": "flag", "field": "too_easy", "before": False, "after": True}
    if values.get("row", 0) is not None and "sample" not in values:
        known["sample"] = client.get(f"/api/label/row/{run}/{values.get('row', 0)}").json()["sample"]
    body = json.dumps({**known, **values})  # in ASCII: as a browser sends half a surrogate pair
    return client.post(f"/api/{api}/record/{run}", content=body, headers={"content-type": "application/json"})


def label(client: TestClient, run: str, row: int, metric: str, value: float, **values: Any) -> Any:
    about = {"row": row, "field": metric, "before": None, "after": value}
    return sent(client, run, "label", **{"kind": "label", **about, **values})


def test_a_flag_and_a_correction_are_confirmed_and_shown_with_the_row(client: TestClient, results: Path) -> None:
    assert sent(client).json()["kept"]["by"] == "anna"
    assert sent(client, kind="correct", field="reference", before="yes", after="y") is not None
    row = client.get("/api/review/row/exact/0").json()
    assert row["last"]["flag.too_easy"]["after"] is True
    assert row["columns"]["reference"] == "yes"
    assert 'data-row="0"' in row["html"]
    assert client.get("/api/review/queues/exact").json()["queues"]["reviewed"] == [0]
    assert len(ReviewStore(results / "exact").records()) == 2


def test_pages_open_without_style_or_script_inside(client: TestClient) -> None:
    for address in ("/review/exact", "/label/exact"):
        page = client.get(address)
        assert page.status_code == 200
        assert "style=" not in page.text
        assert "onclick" not in page.text
        for name in ("review.js", "label.js", "pending.js", "review.css"):
            assert client.get(f"/assets/{name}").status_code == 200
            assert f"/assets/{name}" in page.text


@pytest.mark.parametrize(
    ("wrong", "status", "said"),
    [
        ({"field": "response"}, 400, "'field'"),
        ({"row": 4000, "sample": "x"}, 404, ""),
        ({"row": -1, "sample": "x"}, 400, "'row'"),
        ({"row": "0", "sample": "x"}, 400, "'row'"),
        ({"sample": "x"}, 409, "another one since"),
        ({"kind": "label"}, 400, "neither a flag nor a correction"),
        ({"kind": ["flag"]}, 400, "'kind'"),
        ({"by2": "x"}, 400, "'by2'"),
        ({"id": None}, 400, "'id'"),
        ({"kind": "correct", "field": "reference", "before": None, "after": {"a": 1}}, 400, "'after'"),
    ],
    ids=str,
)
def test_a_record_that_says_something_else_is_refused(
    client: TestClient, results: Path, wrong: dict, status: int, said: str
) -> None:
    answer = sent(client, **wrong)
    assert (answer.status_code, said in answer.json()["error"]) == (status, True)
    assert not (results / "exact" / "reviews.jsonl").exists()


@pytest.mark.parametrize("names", [("Jos\u00e9", "Jose\u0301"), ("\ud800x", "\\ud800x")], ids=ascii)
def test_a_name_is_one_person_however_its_letters_are_written(
    client: TestClient, results: Path, names: tuple[str, str]
) -> None:
    client, draw = client_of(results, who=None), drawn(results / "exact")
    for name in names:
        assert label(client, "exact", draw.rows[0], "answer_rubric", 1.0, by=name, draw=draw.name).status_code == 200
    assert len(list((results / "exact" / "labels").glob("*.jsonl"))) == 1
    assert len({record.by for record in ReviewStore(results / "exact").records()}) == 1


@pytest.mark.parametrize("body", [b"[", b"[]", b"\xff", b"[" * 100_000], ids=repr)
def test_a_body_that_is_no_object_is_refused(client: TestClient, body: bytes) -> None:
    answer = client.post("/api/review/record/exact", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400


def test_a_body_that_is_too_large_is_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_evaluator.features.app.review.MOST_BYTES", 1000)
    assert sent(client, after="x" * 2000).status_code == 400


def test_without_review_nothing_can_be_changed(results: Path) -> None:
    client = TestClient(make_app(results, TOKEN, "127.0.0.1", 8765), base_url=BASE)
    client.headers["authorization"] = f"Bearer {TOKEN}"
    assert client.get("/review/exact").status_code == 404
    assert client.post("/api/review/record/exact", json={}, headers={"origin": BASE}).status_code == 405


def test_a_conflict_is_told_with_the_change_of_the_other(results: Path) -> None:
    anna, bob = client_of(results), client_of(results, "bob")
    values = {"kind": "correct", "field": "reference", "before": "yes"}
    first = sent(anna, **values, after="by anna").json()["kept"]
    answer = sent(bob, **values, after="by bob")
    assert answer.status_code == 409
    assert answer.json()["conflict"] == first
    assert sent(bob, **{**values, "before": "by anna"}, seen=first["id"], after="by bob").status_code == 200


def test_without_a_name_nothing_is_kept_and_the_server_decides_who_it_is_if_it_knows(results: Path) -> None:
    anybody = client_of(results, None)
    assert "who reviews" in sent(anybody).json()["error"]
    assert sent(anybody, by="carla").json()["kept"]["by"] == "carla"
    assert sent(client_of(results), id="other", field="duplicate", by="carla").json()["kept"]["by"] == "anna"


def drawn(run: Path) -> DrawRecord:
    record = draw_rows(run, 24).record
    write_draw(run, record)
    return record


def test_the_items_are_the_rows_of_the_draw_in_its_order(client: TestClient, results: Path) -> None:
    record = drawn(results / "exact")
    items = client.get(f"/api/label/items/exact?draw={record.name}").json()["items"]
    assert [row for row, *_ in items] == list(record.rows)
    assert client.get("/api/label/items/exact?draw=other").status_code == 404


def test_metrics_that_ask_no_judge_are_not_asked_of_people(tmp_path: Path) -> None:
    graded_run(tmp_path / "mixed", metrics=["exact_match", "answer_rubric"])
    client, record = client_of(tmp_path), drawn(tmp_path / "mixed")
    items = client.get(f"/api/label/items/mixed?draw={record.name}").json()
    assert {metric for _, metric, *_ in items["items"]} == {ask["metric"] for ask in items["asks"]} == {"answer_rubric"}


@pytest.mark.parametrize("per", ["statement", "score"])
def test_nothing_that_the_judge_said_reaches_the_browser_while_a_draw_is_open(
    client: TestClient, results: Path, per: str
) -> None:
    name = drawn(results / "faith").name
    items = client.get(f"/api/label/items/faith?draw={name}&per={per}").json()["items"]
    row, metric, statement, _ = items[0]
    assert label(client, "faith", row, metric, 1.0, statement=statement, draw=name).status_code == 200
    answers = [
        client.get("/label/faith"),
        client.get("/api/label/draws/faith"),
        client.get(f"/api/label/items/faith?draw={name}&per={per}"),
        *(client.get(f"/api/label/row/faith/{row}?metric=faithfulness") for row, *_ in items),
        *(client.get(f"/api/review/row/faith/{row}") for row, *_ in items),
    ]
    text = "\n".join(answer.text for answer in answers)
    assert "It is so" in text
    for word in ("about: ", "verdict", "supported", "0.5", "reason", "confidence"):
        assert word not in text, word
    worst = client.get("/api/review/queues/faith").json()["queues"]["worst"]
    assert not {row for row, *_ in items} & set(worst)


def test_a_closed_draw_takes_no_label_and_names_the_command_that_compares(results: Path) -> None:
    anna, bob, record = client_of(results), client_of(results, "bob"), drawn(results / "exact")
    name, rows = record.name, record.rows
    for row in rows:
        assert label(anna, "exact", row, "answer_rubric", float(row < 20), draw=name).status_code == 200
    label(bob, "exact", rows[0], "answer_rubric", 0.0, draw=name)
    end = {"row": None, "sample": None, "kind": "close", "field": "", "before": None, "after": None, "draw": name}
    assert anna.post("/api/label/record/exact", json={"id": "end", **end}).status_code == 200
    found = anna.get(f"/api/label/items/exact?draw={name}").json()
    assert found["closed"]
    assert found["next"].endswith(f"--labels {results}/exact/labels/{name}.anna.jsonl")
    assert not bob.get(f"/api/label/items/exact?draw={name}").json()["closed"]
    [draw] = anna.get("/api/label/draws/exact").json()["draws"]
    assert (draw["labelled"], draw["closed"]) == (24, True)
    again = label(anna, "exact", rows[0], "answer_rubric", 0.0, draw=name, id="again")
    assert (again.status_code, "closed" in again.json()["error"]) == (400, True)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"after": 0.5}, "is one of"),
        ({"field": "faithfulness"}, "not drawn"),
        ({"draw": "../../x"}, "no such draw"),
        ({"draw": None}, "no such draw"),
        ({"row": ...}, "not drawn"),
        ({"statement": "never said"}, "no such statement"),
        ({"kind": "flag"}, "neither a label"),
    ],
    ids=str,
)
def test_a_label_that_nobody_asked_for_is_refused(client: TestClient, results: Path, wrong: dict, said: str) -> None:
    draw = drawn(results / "exact")
    other = next(row for row in range(100) if row not in draw.rows)
    known = {"row": draw.rows[0], "metric": "answer_rubric", "value": 1.0, "draw": draw.name}
    answer = label(client, "exact", **{**known, **wrong, **({"row": other} if "row" in wrong else {})})
    assert (answer.status_code, said in answer.json()["error"]) == (400, True)
