"""Ids of contexts, scores of documents, answerable, rubrics: the columns beside the texts."""

import json
import math
from pathlib import Path
from typing import Any

import numpy
import pytest

from rag_evaluator import DatasetError, load_dataset
from rag_evaluator.dataset import open_dataset
from tests.dataset.data_files import Row, write_csv, write_jsonl

MORE = ["retrieved_context_ids", "reference_context_ids", "document_score", "answerable", "rubrics"]
RUBRICS = {"score1_description": "wrong", "score5_description": "right"}

READ: list[tuple[str, Any, Any]] = [
    ("retrieved_context_ids", ["a", 7], ["a", "7"]),
    ("retrieved_context_ids", [8.0, "9.0"], ["8", "9.0"]),
    ("retrieved_context_ids", numpy.array([1, 2]), ["1", "2"]),
    ("reference_context_ids", [], None),
    ("document_score", [0.5, 2], [0.5, 2.0]),
    ("document_score", [None, None], None),
    ("document_score", math.nan, None),
    *(("answerable", value, True) for value in (True, 1, " Yes ", "1")),
    *(("answerable", value, False) for value in (numpy.bool_(False), 0.0, "NO", "False")),
    ("answerable", " ", None),
    ("rubrics", RUBRICS, RUBRICS),
    ("rubrics", {"score1_description": "wrong", "score2_description": None}, {"score1_description": "wrong"}),
    ("rubrics", {"score1_description": None}, None),
    ("rubrics", {}, None),
]

WRONG: list[tuple[str, Any, str]] = [
    ("retrieved_context_ids", "a", "expected a list of ids, received 'a'. Put it in a list"),
    ("retrieved_context_ids", ["a"], "expected an id for each of the 2 retrieved contexts, received 1. Correct them,"),
    ("retrieved_context_ids", [], "expected an id for each of the 2 retrieved contexts, received 0"),
    ("retrieved_context_ids", ["a", None], "'retrieved_context_ids', item 2: expected an id"),
    ("reference_context_ids", [True], "'reference_context_ids', item 1: expected an id"),
    ("document_score", [0.5], "expected a number for each of the 2 retrieved contexts, received 1"),
    ("document_score", [0.5, None], "item 2: expected a number, received None"),
    ("document_score", [0.5, "0.4"], "item 2: expected a number, received '0.4'"),
    ("document_score", [True, 0.4], "item 1: expected a number, received "),
    ("document_score", [10**400, 0.4], "item 1: expected a number"),
    ("document_score", "high", "expected a list of numbers, received 'high'"),
    ("answerable", "maybe", "expected true or false, received 'maybe'"),
    ("answerable", 2, "expected true or false, received 2"),
    ("rubrics", "be kind", "expected an object"),
    ("rubrics", {"score1": "wrong"}, "expected keys such as score1_description, received 'score1'"),
    ("rubrics", {"score1_description": ["x"]}, "item 'score1_description': expected a string, received "),
]


def row_with(column: str, value: Any) -> Row:
    return {"question": "q", "contexts": ["a", "b"], column: value}


@pytest.mark.parametrize(("column", "value", "expected"), READ, ids=repr)
def test_a_column_is_read(column: str, value: Any, expected: Any) -> None:
    sample = load_dataset([row_with(column, value)])[0]
    assert (sample.columns.get(column), sample.wrong) == (expected, {})
    assert type(sample.columns.get(column)) is type(expected)
    assert sample.has(column) == (expected is not None)


@pytest.mark.parametrize(("column", "value", "message"), WRONG, ids=repr)
def test_what_cannot_be_read_stops_only_what_needs_it_and_passes_through(
    column: str, value: Any, message: str, tmp_path: Path
) -> None:
    for source in ([row_with(column, value)], write_jsonl(tmp_path / "rows.jsonl", [row_with(column, value)])):
        samples = open_dataset(source)
        assert samples[0].columns == {"user_input": "q", "retrieved_contexts": ["a", "b"]}
        assert samples[0].row[column] == value
        samples.check_columns({"m": ["retrieved_contexts"]}, "rows")
        with pytest.raises(DatasetError) as caught:
            samples.check_readable([column])
        assert message in str(caught.value)
        load_dataset(source)  # it knows no metric: a column of the user's own may have such a name


CELLS: list[tuple[str, str, Any]] = [
    ("retrieved_context_ids", '["a", 7]', ["a", "7"]),
    ("reference_context_ids", "a", ["a"]),
    ("document_score", "[0.5, 2]", [0.5, 2.0]),
    ("answerable", "TRUE", True),
    ("answerable", "0", False),
    ("rubrics", json.dumps(RUBRICS), RUBRICS),
]


@pytest.mark.parametrize(("column", "cell", "expected"), CELLS)
def test_cells_are_read(column: str, cell: str, expected: Any, tmp_path: Path) -> None:
    sample = open_dataset(write_csv(tmp_path / "rows.csv", [row_with(column, cell)]))[0]
    assert (sample.columns.get(column), sample.wrong) == (expected, {})


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("document_score", "[0.5", "expected a list of numbers"),
        ("document_score", "0.5", "expected a number for each of the 2 retrieved contexts, received 1"),
        ("rubrics", "{'score1_description': 'x'}", "expected an object"),
        ("rubrics", '["x"]', "expected an object"),
    ],
)
def test_broken_cells_are_reported(column: str, cell: str, message: str, tmp_path: Path) -> None:
    sample = open_dataset(write_csv(tmp_path / "rows.csv", [row_with(column, cell)]))[0]
    assert message in sample.wrong[column]


def test_one_score_of_one_context_needs_no_list() -> None:
    assert load_dataset([{"context": "c", "document_score": 1}])[0].columns["document_score"] == [1.0]


def test_scores_of_contexts_that_cannot_be_read_are_not_counted() -> None:
    sample = open_dataset([{"contexts": 5, "document_score": [1, 2]}])[0]
    assert list(sample.wrong) == ["retrieved_contexts"]


def test_scores_keep_the_order_of_contexts_that_are_no_log() -> None:
    sample = load_dataset([row_with("document_score", [0.1, 0.9])])[0]
    assert (sample.columns["retrieved_contexts"], sample.columns["document_score"]) == (["a", "b"], [0.1, 0.9])


@pytest.mark.parametrize("value", [1, "true", True])
def test_equal_values_have_equal_digests_on_disk_and_in_memory(value: Any, tmp_path: Path) -> None:
    row = {**row_with("answerable", value), "document_score": [1, 0]}
    path = write_jsonl(tmp_path / "rows.jsonl", [row])
    sample = open_dataset(path)[0]
    expected = load_dataset([row_with("answerable", True) | {"document_score": [1.0, 0]}])
    assert sample.digest_of(MORE) == expected[0].digest_of(MORE)
    assert sample.columns["answerable"] is True
    assert [type(score) for score in sample.columns["document_score"]] == [float, float]


def test_a_changed_value_changes_the_digest_of_those_who_read_it_only() -> None:
    before, after = (load_dataset([row_with("answerable", value)])[0] for value in (True, False))
    assert before.digest_of(["user_input", "answerable"]) != after.digest_of(["user_input", "answerable"])
    assert before.digest_of(["user_input"]) == after.digest_of(["user_input"])


@pytest.mark.parametrize(
    ("row", "columns", "reason"),
    [
        ({}, ["answerable"], "no answerable in this row"),
        ({"reference": ""}, ["response", "reference"], "no response and no reference in this row"),
        (
            {"retrieved_context_ids": ["", " "]},
            ["retrieved_context_ids"],
            "retrieved_context_ids are blank in this row",
        ),
        ({"contexts": [" "]}, ["retrieved_contexts"], "retrieved_contexts are blank in this row"),
        ({"response": " "}, ["response"], "response is blank in this row"),
        ({"rubrics": {"score1_description": " "}}, ["rubrics"], "no rubrics in this row"),
    ],
)
def test_the_reason_of_a_missing_score_is_grammatical(row: Row, columns: list[str], reason: str) -> None:
    assert load_dataset([{"question": "q", **row}])[0].missing(columns) == reason
