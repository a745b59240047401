"""Labels given in the app: the order of the draw, the table that `certify` reads."""

import json
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest
from labelled_runs import faithful_run, graded_run
from made import review

from rag_evaluator import certify, label_sheet
from rag_evaluator.features.app.label import LabelItem, choices, given_labels, items_of, write_label_table
from rag_evaluator.features.app.store import ReviewStore
from rag_evaluator.results import Run
from rag_evaluator.statistics import Scale


def label(store: ReviewStore, row: int, value: float | None, metric: str, **more: object) -> None:
    values = {"kind": "label", "field": metric, "before": None, "after": value, "row": row, **more}
    made = review(sample=Run(store.folder).digests[row], **values)
    last = {record.key: record for record in store.records()}.get(made.key)
    store.add(made if last is None else replace(made, before=last.after))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return graded_run(tmp_path / "run")


@pytest.mark.parametrize("blank", [0, 3])
def test_labels_from_the_app_make_the_certificate_that_the_workbook_makes(run: Path, blank: int) -> None:
    record = label_sheet(run, run / "a.xlsx", size=24)
    people = [row % 3 > 0 for row in record.rows]
    book = openpyxl.load_workbook(run / "a.xlsx")
    for place, accepted in enumerate(people[: len(people) - blank], start=2):
        book.worksheets[0].cell(place, 7).value = "yes" if accepted else "no"
    book.save(run / "a.xlsx")
    by_book = certify(run, run / "a.xlsx", out=run / "book.json")
    store = ReviewStore(run)
    for row, accepted in list(zip(record.rows, people, strict=True))[: len(people) - blank]:
        label(store, row, float(accepted), "answer_rubric", draw=record.name)
    table = write_label_table(store, record.name, "anna", Run(run).digests)
    assert table == run / "labels" / f"{record.name}.anna.jsonl"
    by_app = certify(run, table, out=run / "app.json")
    a, b = (found.certificate["metrics"]["answer_rubric"] for found in (by_app, by_book))
    assert {**a, "annotators": 0} == {**b, "annotators": 0}
    assert (a["annotators"], b["annotators"]) == (["anna"], [""])
    assert by_app.certificate["draws"] == [record.name]


def test_two_people_have_a_table_each_also_where_their_names_are_one_file_name(run: Path) -> None:
    record = label_sheet(run, run / "a.xlsx", size=24)
    store = ReviewStore(run)
    for name in ("Anna", "anna", "../anna"):
        for row in record.rows:
            label(store, row, 1.0 if name == "anna" else float(row % 2), "answer_rubric", draw=record.name, by=name)
    tables = [write_label_table(store, record.name, name, Run(run).digests) for name in ("Anna", "anna", "../anna")]
    assert len(set(tables)) == 3
    assert {path.parent for path in tables} == {run / "labels"}
    assert certify(run, tables, out=run / "app.json").certificate["metrics"]["answer_rubric"]["annotators"] == [
        "../anna",
        "Anna",
        "anna",
    ]


def test_a_label_that_is_changed_or_taken_back_is_so_in_the_table(run: Path) -> None:
    store = ReviewStore(run)
    for row, value in ((1, 1.0), (2, 0.0), (1, 0.0), (2, None)):
        label(store, row, value, "answer_rubric", draw="d")
    path = write_label_table(store, "d", "anna", Run(run).digests)
    assert [(line["row"], line["label"]) for line in map(json.loads, path.read_text().splitlines())] == [(1, 0.0)]
    assert given_labels(store, "d", "anna", Run(run).digests) == {LabelItem(1, "answer_rubric"): 0.0}


def test_labels_of_rows_that_are_others_since_are_left_out(run: Path) -> None:
    store = ReviewStore(run)
    label(store, 1, 1.0, "answer_rubric", draw="d")
    changed = ["other" if place == 1 else digest for place, digest in enumerate(Run(run).digests)]
    assert write_label_table(store, "d", "anna", changed).read_bytes() == b""


def test_statements_are_labelled_one_by_one_and_compared_with_the_verdicts(tmp_path: Path) -> None:
    run = faithful_run(tmp_path / "run", ["It is so. It is wrong. It is so."] * 25)
    files = Run(run)
    store = ReviewStore(run)
    rows = list(range(25))
    record = label_sheet(run, run / "a.xlsx", size=25)
    name = record.name
    items = items_of(rows, ["faithfulness"], {row: files.details(row) for row in rows})
    assert items[:2] == [LabelItem(0, "faithfulness", "It is so."), LabelItem(0, "faithfulness", "It is wrong.")]
    assert len(items) == 50, "a statement that is there twice is asked for once"
    for item in items:
        label(store, item.row, float("so" in str(item.statement)), item.metric, statement=item.statement, draw=name)
    table = write_label_table(store, name, "anna", Run(run).digests)
    found = certify(run, table, out=tmp_path / "c.json").certificate["metrics"]["faithfulness"]["statements"]
    assert (found["labels"], found["rows"], found["binary"]["agreement"]["mean"]) == (50, 25, 1.0)


@pytest.mark.parametrize(
    ("scale", "per_statement", "keys", "values"),
    [
        (Scale(), False, "yn", [1.0, 0.0]),
        (Scale(-1, 1), False, "yn", [1.0, 0.0]),
        (Scale(1, 5), False, "12345", [1.0, 2.0, 3.0, 4.0, 5.0]),
        (Scale(1, 5), True, "yn", [1.0, 0.0]),
    ],
)
def test_the_answers_are_those_of_the_workbook(scale: Scale, per_statement: bool, keys: str, values: list) -> None:
    found = choices(scale, per_statement)
    assert ("".join(key for key, _, _ in found), [value for _, _, value in found]) == (keys, values)
