"""Blind labels in the browser: they stay blind, and `certify` reads them as it reads those of a workbook."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from app_client import client, label, question
from folders import lines_of
from labelled_runs import faithful_run, fill
from starlette.testclient import TestClient

from rag_evaluator import RagEvaluatorError, certify, label_sheet
from rag_evaluator.features.certify import draws_in
from rag_evaluator.results import Run, is_judged

Json = dict[str, Any]  # Any: JSON


def drawn(run: Path) -> str:
    """The name of a new draw."""
    return label_sheet(run, run / "sheet.xlsx", size=24, force=True).name


def test_questions_come_in_the_order_of_the_draw_from_the_first_without_an_answer(results: Path) -> None:
    record = label_sheet(results / "exact", results / "exact" / "sheet.xlsx", size=24, force=True)
    anna = client(results, who="anna")
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
    anna = client(results, who="anna")
    bob = client(results, who="bob")
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


def table_of(run: Path) -> list[Json]:
    [table] = (run / "labels").glob("*.jsonl")
    return [json.loads(line) for line in table.read_bytes().splitlines()]


def test_an_answer_is_changed_or_taken_back(anna: TestClient, results: Path) -> None:
    draw = drawn(results / "exact")
    for place, answer in ((0, 0), (1, 0), (0, 1)):
        label(anna, "exact", question(anna, "exact", draw, place=place)["answers"][answer])
    assert [line["label"] for line in table_of(results / "exact")] == [0.0, 1.0]
    *_, undo = question(anna, "exact", draw)["answers"]
    assert undo == {**question(anna, "exact", draw, place=1)["answers"][0], "after": None}
    assert label(anna, "exact", undo).status_code == 200
    assert [line["label"] for line in table_of(results / "exact")] == [0.0]


def test_labels_of_rows_that_are_others_since_are_left_out(anna: TestClient, results: Path) -> None:
    run = results / "exact"
    draw = drawn(run)
    label(anna, "exact", question(anna, "exact", draw)["answers"][0])
    [line] = table_of(run)
    reviews = run / "reviews.jsonl"
    reviews.write_text(reviews.read_text().replace(line["sample"], "another"))
    label(anna, "exact", question(anna, "exact", draw, place=1)["answers"][0])
    assert line["row"] not in [other["row"] for other in table_of(run)]


@pytest.mark.parametrize("blank", [0, 3])
def test_labels_from_the_app_make_the_certificate_that_the_workbook_makes(
    anna: TestClient, results: Path, blank: int
) -> None:
    run = results / "exact"
    record = label_sheet(run, run / "sheet.xlsx", size=24, force=True)
    accepted = {row: row % 3 > 0 for row in record.rows[: len(record.rows) - blank]}
    words = {True: "yes", False: "no", None: None}
    fill(run / "sheet.xlsx", [words[accepted.get(row)] for row in range(40)])
    by_book = certify(run, run / "sheet.xlsx", out=run / "book.json")
    for place, is_accepted in enumerate(accepted.values()):
        yes, no, *_ = question(anna, "exact", record.name, place=place)["answers"]
        assert label(anna, "exact", yes if is_accepted else no).status_code == 200
    by_app = certify(run, run / "labels" / f"{record.name}.anna.jsonl", out=run / "app.json")
    a, b = (made.certificate["metrics"]["answer_rubric"] for made in (by_app, by_book))
    assert {**a, "annotators": 0} == {**b, "annotators": 0}
    assert (a["annotators"], b["annotators"]) == (["anna"], [""])
    assert by_app.certificate["draws"] == [record.name]


def test_people_have_a_table_each_also_where_their_names_are_one_file_name(results: Path) -> None:
    run = results / "exact"
    draw = drawn(run)
    names = ["../anna", "Anna", "anna"]
    for name in names:
        browser = client(results, who=name)
        for place in range(24):
            asked = question(browser, "exact", draw, place=place)
            label(browser, "exact", asked["answers"][0 if name == "anna" else asked["row"] % 2])
    tables = list((run / "labels").glob(f"{draw}.*.jsonl"))
    assert len(tables) == 3
    assert certify(run, tables, out=run / "app.json").certificate["metrics"]["answer_rubric"]["annotators"] == names


def test_statements_are_labelled_one_by_one_and_compared_with_the_verdicts(tmp_path: Path) -> None:
    run = faithful_run(tmp_path / "run", ["It is so. It is wrong. It is so."] * 25)
    anna = client(tmp_path, who="anna")
    draw = label_sheet(run, run / "sheet.xlsx", size=25).name
    for place in range(50):  # a statement that is there twice is asked for once
        asked = question(anna, "run", draw, "statement", place)
        assert [answer["after"] for answer in asked["answers"][:2]] == [1.0, 0.0]
        label(anna, "run", asked["answers"][place % 2])
    assert "Every question has an answer" in question(anna, "run", draw, "statement")["text"]
    table = run / "labels" / f"{draw}.anna.jsonl"
    figures = certify(run, table, out=run / "c.json").certificate["metrics"]["faithfulness"]["statements"]
    assert (figures["labels"], figures["rows"], figures["binary"]["agreement"]["mean"]) == (50, 25, 1.0)


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


def test_the_page_draws_rows_and_a_judge_who_is_wrong_gets_a_label_with_a_note(results: Path) -> None:
    anna = client(results, who="anna")
    assert anna.post("/api/label/draw/exact", json={}).status_code == 200
    assert len(draws_in(results / "exact")) == 1
    sample = anna.get("/api/review/row/exact/3").json()["sample"]
    [metric] = [name for name in Run(results / "exact").metrics if is_judged(Run(results / "exact").manifest, name)][:1]
    said = {"row": 3, "sample": sample, "field": metric, "after": 1, "note": "context 2 <b>has it"}
    assert anna.post("/api/label/wrong/exact", json={**said, "after": 7}).status_code == 400
    for given in (0, 1):  # the last one counts
        assert anna.post("/api/label/wrong/exact", json={**said, "after": given}).status_code == 200
    [line] = lines_of(results / "exact" / "labels" / "wrong.anna.jsonl")
    assert (line["row"], line["metric"], line["label"], line["draw"]) == (3, metric, 1, None)
    assert line["note"] == said["note"]
    with pytest.raises(RagEvaluatorError, match="1 labels"):
        certify(results / "exact", results / "exact" / "labels" / "wrong.anna.jsonl")
