"""The input rows: formats, aliases, types, and what the messages say."""

import csv
import datetime
import decimal
import enum
import json
import math
import re
import subprocess
import sys
import uuid
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import datasets
import numpy
import openpyxl
import pandas
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document

from rag_evaluator import DatasetError, load_dataset
from rag_evaluator.config import make_config
from rag_evaluator.dataset import ALIASES, TaskColumns, checked_rows, open_dataset
from tests.dataset.data_files import (
    TRICKY,
    Row,
    arrow_table,
    columns_of,
    write_cells,
    write_csv,
    write_folder,
    write_jsonl,
    write_text,
    write_xlsx,
)


def columns_of_row(row: Row, columns: Mapping[str, str] | None = None) -> Mapping[str, Any]:
    return load_dataset([row], columns)[0].columns


def message_of(source: Any, columns: Mapping[str, str] | None = None) -> str:
    with pytest.raises(DatasetError) as caught:
        load_dataset(source, columns)
    return str(caught.value)


# Formats


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: pandas.DataFrame(rows),
        lambda rows: datasets.Dataset(arrow_table(rows)),
        lambda rows: datasets.Dataset(arrow_table(rows)).with_format("numpy"),
        tuple,
    ],
    ids=["pandas", "datasets", "datasets as numpy", "tuple"],
)
def test_python_objects_give_the_same_columns_as_a_list_of_dicts(make: Callable[[Any], Any]) -> None:
    assert columns_of(load_dataset(make(TRICKY))) == columns_of(load_dataset(TRICKY))


QUESTIONS = [{"question": "a"}, {"question": "b"}]


@pytest.mark.parametrize(
    "document",
    [
        QUESTIONS,
        {"samples": QUESTIONS},
        {"data": QUESTIONS, "schema": {"fields": []}},
        {"rows": QUESTIONS, "name": "x"},
        {"results": QUESTIONS, "errors": []},
        {"question": ["a", "b"]},
    ],
)
def test_json_may_hold_objects_a_wrapped_list_or_columns(tmp_path: Path, document: Any) -> None:
    samples = load_dataset(write_text(tmp_path / "data.json", json.dumps(document), "utf-8-sig"))
    assert columns_of(samples) == [{"user_input": "a"}, {"user_input": "b"}]
    assert samples[1].where == "data.json, row 1"


def test_a_csv_cell_may_be_larger_than_the_default_limit_of_pythons_reader(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    samples = load_dataset(write_csv(tmp_path / "data.csv", [{"contexts": ["x" * 200_000]}]))
    assert len(samples[0].columns["retrieved_contexts"][0]) == 200_000
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    ("sheets", "taken"),
    [
        (["Sheet", "other"], "Sheet"),
        (["summary", "other"], "summary"),
        (["summary", "scores", "judgements"], "scores"),
        (["notes", "summary", "scores"], "notes"),
    ],
)
def test_xlsx_takes_the_first_sheet_but_the_scores_behind_a_summary(
    sheets: list[str], taken: str, tmp_path: Path
) -> None:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name in sheets:
        sheet = book.create_sheet(name)
        sheet.append(["question"])
        sheet.append([name])
    book.active = len(sheets) - 1  # the sheet that was open last is no choice
    book.save(tmp_path / "data.xlsx")
    assert columns_of(load_dataset(tmp_path / "data.xlsx")) == [{"user_input": taken}]


def workbook(path: Path, sheets: Mapping[str, tuple[str, list[Any]]]) -> Path:
    """A workbook of sheets, each with its state and its first column."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, (state, cells) in sheets.items():
        sheet = book.create_sheet(name)
        sheet.sheet_state = state
        for cell in cells:
            sheet.append([cell])
    book.save(path)
    return path


@pytest.mark.parametrize("state", ["hidden", "veryHidden"])
def test_a_hidden_sheet_is_not_read_and_the_sheets_are_named(state: str, tmp_path: Path) -> None:
    draft = (state, ["question", "draft"])
    rows = ("visible", ["question", "q"])
    path = workbook(tmp_path / "data.xlsx", {"old draft": draft, "answers": rows})
    assert columns_of(load_dataset(path)) == [{"user_input": "q"}]
    [doubt] = checked_rows(path, make_config({"metrics": ["exact_match"]}), {}).doubts
    assert doubt.startswith("data.xlsx has the sheets 'old draft' (hidden), 'answers': the first that is not hidden is")
    parts = {name: zipfile.ZipFile(path).read(name) for name in zipfile.ZipFile(path).namelist()}
    with zipfile.ZipFile(path, "w") as archive:  # as libraries may write it, and spreadsheet programs do not
        for name, part in parts.items():
            archive.writestr(name, part.replace(b'state="visible"', b'state="hidden"'))
    with pytest.raises(DatasetError, match=r"all sheets are hidden, 'old draft' .*. Show the one with the rows"):
        load_dataset(path)


@pytest.mark.parametrize("cells", [[], ["A report"], ["A report", "of 2026"]], ids=len)
def test_a_workbook_whose_first_sheet_is_no_table_is_an_error_that_names_the_sheets(
    cells: list[str], tmp_path: Path
) -> None:
    path = workbook(tmp_path / "data.xlsx", {"cover": ("visible", cells), "answers": ("visible", ["question", "q"])})
    with pytest.raises(DatasetError, match="has the sheets 'cover', 'answers': the first that is not hidden is read"):
        checked_rows(path, make_config({"metrics": ["exact_match"]}), {"m": TaskColumns(["user_input"])})


def write_formula(path: Path, formula: str, engine: str) -> Path:
    pandas.DataFrame({"question": ["a"], "answer": [formula]}).to_excel(path, index=False, engine=engine)
    return path


@pytest.mark.parametrize("engine", ["openpyxl", "xlsxwriter"])
def test_an_xlsx_formula_without_a_value_is_an_error_where_its_column_is_needed(engine: str, tmp_path: Path) -> None:
    path = write_formula(tmp_path / "data.xlsx", '=UPPER("b")', engine)
    message = message_of(path)
    assert message.startswith("data.xlsx, row 2: column 'answer' (read as response): ")
    assert "the formula '=UPPER(\"b\")' without a value" in message
    assert open_dataset(path)[0].columns == {"user_input": "a"}


def saved_by_excel(path: Path, cell: str) -> Path:
    """The workbook with another cell B2, and without the mark that formulas are still to be calculated."""
    small = write_formula(path.with_suffix(".small.xlsx"), "=1-1", "openpyxl")
    with zipfile.ZipFile(small) as source, zipfile.ZipFile(path, "w") as target:
        for part in source.namelist():
            text = source.read(part).decode("utf-8").replace(' fullCalcOnLoad="1"', "")
            target.writestr(part, re.sub(r'<c r="B2".*?</c>', cell, text, flags=re.DOTALL))
    return path


def test_the_zero_and_the_empty_text_of_a_calculated_xlsx_formula_are_its_values(tmp_path: Path) -> None:
    zero = saved_by_excel(tmp_path / "zero.xlsx", '<c r="B2"><f>1-1</f><v>0</v></c>')
    assert load_dataset(zero)[0].columns == {"user_input": "a", "response": "0"}
    empty = saved_by_excel(tmp_path / "empty.xlsx", '<c r="B2" t="str"><f>""</f><v></v></c>')
    assert load_dataset(empty)[0].columns == {"user_input": "a"}


COLOUR = enum.Enum("COLOUR", {"RED": "red"}, type=str)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (numpy.int64(3), 3),
        (numpy.float32(0.5), 0.5),
        (math.nan, None),
        (numpy.bool_(True), True),
        (numpy.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (numpy.datetime64("2024-05-01T00:00:00", "ns"), "2024-05-01T00:00:00"),
        (numpy.datetime64("NaT"), None),
        (pandas.Timestamp("2024-05-01"), "2024-05-01T00:00:00"),
        (pandas.NaT, None),
        (pandas.NA, None),
        (pyarrow.scalar(5), 5),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (COLOUR.RED, "red"),
        (("a", {"b": (1, None)}), ["a", {"b": [1, None]}]),
        ({1: "x"}, {"1": "x"}),
        (Document(page_content="x", metadata={"page": 2}), {"page_content": "x", "metadata": {"page": 2}}),
        (True, True),
        (None, None),
    ],
    ids=repr,
)
def test_values_of_libraries_become_plain_json_values(value: Any, expected: Any) -> None:
    plain = load_dataset([{"question": "a", "extra": value}])[0].row["extra"]
    assert plain == expected
    assert type(plain) is type(expected)


@pytest.mark.parametrize("value", [math.inf, -math.inf, numpy.float32("inf"), decimal.Decimal("Infinity")], ids=repr)
def test_an_infinite_number_is_no_blank_but_a_value_with_a_reason(value: Any) -> None:
    plain: Any = load_dataset([{"question": "a", "extra": value}])[0].row["extra"]
    assert "an infinite number" in plain.reason
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_reading_jsonl_and_csv_loads_no_heavy_library(tmp_path: Path) -> None:
    paths = [str(write_jsonl(tmp_path / "a.jsonl", TRICKY)), str(write_csv(tmp_path / "a.csv", TRICKY))]
    code = (
        "import sys; from rag_evaluator.dataset import load_dataset\n"
        "for path in sys.argv[1:]: load_dataset(path)\n"
        "print([m for m in ('torch', 'ragas', 'pandas', 'numpy', 'datasets', 'pyarrow', 'openpyxl', 'langchain_core') "
        "if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


TEXT_FILES: dict[str, tuple[str, str, list[Row], list[str]]] = {
    "blank lines": (
        "data.jsonl",
        '\n{"question": "a"}\r\n\n  \n{"question": "b"}',
        QUESTIONS,
        ["data.jsonl, line 2", "data.jsonl, line 5"],
    ),
    "cells are text": (
        "data.csv",
        "question,answer,contexts\n007,NA,\nnull,1.50,c\n",
        [{"question": "007", "answer": "NA", "contexts": ""}, {"question": "null", "answer": "1.50", "contexts": "c"}],
        ["data.csv, row 2", "data.csv, row 3"],
    ),
    "lines in cells, blank rows": (
        "data.csv",
        'question,answer\n"two\nlines",b\n\n,\nc,d\n',
        [{"question": "two\nlines", "answer": "b"}, {"question": "c", "answer": "d"}],
        ["data.csv, row 2", "data.csv, row 5"],
    ),
    "an index of pandas": ("a.csv", ",question\n0,a\n", [{"Unnamed: 0": "0", "question": "a"}], ["a.csv, row 2"]),
    "columns without a name": ("a.csv", "question,,\na,,\n", [{"question": "a"}], ["a.csv, row 2"]),
    "lines of an old Mac": ("a.tsv", "question\tanswer\ra\tb\r", [{"question": "a", "answer": "b"}], ["a.tsv, row 2"]),
    "capitals": ("A.CSV", "question\na\n", [{"question": "a"}], ["A.CSV, row 2"]),
}


@pytest.mark.parametrize("case", TEXT_FILES)
def test_rows_of_text_files_have_their_cells_and_the_numbers_of_an_editor(case: str, tmp_path: Path) -> None:
    name, text, rows, places = TEXT_FILES[case]
    samples = load_dataset(str(write_text(tmp_path / name, text)))
    assert [sample.row for sample in samples] == rows
    assert [sample.where for sample in samples] == places
    assert [sample.index for sample in samples] == list(range(len(rows)))


NOON = datetime.datetime(1967, 1, 15, 12, 30)
DAY = datetime.date(1967, 1, 15)


def test_xlsx_cells_keep_their_types_in_the_row_and_are_text_in_columns(tmp_path: Path) -> None:
    rows = [[], ["question", "answer", "contexts", "at"], ["a", 7, 2.5, NOON], [], [None], ["b", DAY, None, "#N/A"]]
    first, second = load_dataset(write_cells(tmp_path / "data.xlsx", rows))
    assert (first.where, second.where) == ("data.xlsx, row 3", "data.xlsx, row 6")
    assert first.row == {"question": "a", "answer": 7, "contexts": 2.5, "at": "1967-01-15T12:30:00"}
    assert first.columns == {"user_input": "a", "response": "7", "retrieved_contexts": ["2.5"]}
    assert second.row == {"question": "b", "answer": "1967-01-15", "contexts": None, "at": None}


# Columns


@pytest.mark.parametrize(
    ("alias", "canonical"), [(alias, name) for name, aliases in ALIASES.items() for alias in (name, *aliases)]
)
def test_every_alias_is_read_as_its_canonical_column(alias: str, canonical: str) -> None:
    values = {"document_score": [0.5], "answerable": True, "rubrics": {"score1_description": "text"}}
    value = values.get(canonical, ["text"] if canonical.endswith("s") else "text")
    contexts = {"contexts": ["c"]} if canonical == "document_score" else {}
    assert columns_of_row({alias: value, **contexts})[canonical] == value


@pytest.mark.parametrize("value", [None, "", [], math.nan, numpy.array([])], ids=repr)
@pytest.mark.parametrize("column", ["user_input", "response", "retrieved_contexts", "reference", "reference_contexts"])
def test_missing_and_empty_values_are_absent(column: str, value: Any) -> None:
    says_that_nothing_was_retrieved = column == "retrieved_contexts" and not isinstance(value, str | float | None)
    assert columns_of_row({"id": 1, column: value}) == ({column: []} if says_that_nothing_was_retrieved else {})


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"contexts": [], "context": ["c"]}, ["c"]),
        ({"contexts": [], "context": [" "]}, [" "]),
        ({"contexts": None, "context": []}, []),
    ],
)
def test_an_empty_list_of_contexts_is_read_where_no_other_column_has_some(row: Row, expected: list[str]) -> None:
    assert columns_of_row(row) == {"retrieved_contexts": expected}


def test_an_empty_list_in_a_cell_says_that_nothing_was_retrieved(tmp_path: Path) -> None:
    rows = [{"question": "q", "contexts": []}, {"question": "p", "contexts": ["c"]}]
    samples = load_dataset(write_csv(tmp_path / "rows.csv", rows))
    assert [sample.columns["retrieved_contexts"] for sample in samples] == [[], ["c"]]
    assert samples[0].missing(["retrieved_contexts"]) == "no retrieved_contexts in this row"


def test_a_mapped_column_is_not_replaced_by_another_where_it_is_empty() -> None:
    samples = load_dataset([{"gold": "r"}, {"gold": "", "reference": "other"}], {"gold": "reference"})
    assert columns_of(samples) == [{"reference": "r"}, {}]


READ_ROWS: dict[str, tuple[Row, Mapping[str, str], Row]] = {
    "two names agree": ({"answer": "a ", "response": "a"}, {}, {"response": "a"}),
    "a mapped canonical name wins": ({"answer": "a", "response": "b"}, {"response": "response"}, {"response": "b"}),
    "an empty one does not": ({"answer": "alias", "response": None}, {}, {"response": "alias"}),
    "two aliases agree": ({"ground_truth": "r", "ground_truths": ["r"]}, {}, {"reference": "r"}),
    "the user's name wins": (
        {"frage": "mapped", "user_input": "canonical", "question": "alias"},
        {"frage": "user_input"},
        {"user_input": "mapped"},
    ),
    "a mapped column is no alias": (
        {"answer": "r", "output": "a"},
        {"answer": "reference"},
        {"response": "a", "reference": "r"},
    ),
    "a mapping chooses": ({"answer": "a", "result": "b"}, {"answer": "response"}, {"response": "a"}),
    "reference is the answer": (
        {"reference": ["x"], "document_score": [1.0]},
        {"reference": "reference"},
        {"reference": "x"},
    ),
    "reference is the log": (
        {"reference": ["x"], "document_score": [1.0]},
        {"reference": "retrieved_contexts"},
        {"retrieved_contexts": ["x"], "document_score": [1.0]},
    ),
    "a log beside an answer": (
        {"question": "q", "reference": ["c"], "correct_answer": "r", "document_score": [0.5]},
        {},
        {"user_input": "q", "retrieved_contexts": ["c"], "reference": "r", "document_score": [0.5]},
    ),
    "a reference beside empty contexts": (
        {"contexts": [], "reference": ["s"]},
        {},
        {"retrieved_contexts": [], "reference": "s"},
    ),
    "documents": (
        {"source_documents": ["a", {"page_content": "b", "metadata": {"page": 1}}, Document(page_content="c"), ""]},
        {},
        {"retrieved_contexts": ["a", "b", "c", ""]},
    ),
    "one context": ({"reference_contexts": "[1] c"}, {}, {"reference_contexts": ["[1] c"]}),
    "one answer": ({"ground_truths": ["r"]}, {}, {"reference": "r"}),
}


@pytest.mark.parametrize("case", READ_ROWS)
def test_names_of_columns_are_read_by_their_rules(case: str) -> None:
    row, columns, expected = READ_ROWS[case]
    sample = load_dataset([row], columns)[0]
    assert sample.columns == expected
    assert list(sample.row) == list(row)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (
            {"question": "[q]", "answer": '["a"]', "ground_truth": "[1] says so"},
            {"user_input": "[q]", "response": '["a"]', "reference": "[1] says so"},
        ),
        ({"question": "q", "ground_truths": ["r"]}, {"user_input": "q", "reference": "r"}),
        ({"document_score": [0.1, 0.9], "reference": ["a", "b"]}, {"retrieved_contexts": ["b", "a"]}),
        ({"document_score": "0.3", "reference": "c"}, {"retrieved_contexts": ["c"]}),
    ],
)
def test_cells_hold_lists_only_where_a_column_may_have_them(tmp_path: Path, cells: Row, expected: Row) -> None:
    columns = load_dataset(write_csv(tmp_path / "data.csv", [cells]))[0].columns
    assert {name: columns.get(name) for name in expected} == expected


# The retrieval log


@pytest.mark.parametrize(
    ("score", "expected", "kept"),
    [
        ([0.1, 0.9, 0.5], ["b", "c", "a"], {"document_score": [0.9, 0.5, 0.1]}),
        ([1, 1, 2], ["c", "a", "b"], {"document_score": [2.0, 1.0, 1.0]}),
        ([0.1, 0.9], ["a", "b", "c"], {}),
        ([0.1, None, 0.5], ["a", "b", "c"], {}),
        (["0.1", "0.9", "0.5"], ["a", "b", "c"], {}),
        (0.7, ["a", "b", "c"], {}),
        (None, ["a", "b", "c"], {}),
    ],
    ids=["sorted", "ties as given", "other length", "a score missing", "scores as text", "one score", "no score"],
)
def test_a_retrieval_log_is_sorted_by_score_where_every_document_has_one(
    score: Any, expected: list[str], kept: Row
) -> None:
    assert columns_of_row({"question": "q", "reference": ["a", "b", "c"], "document_score": score}) == {
        "user_input": "q",
        "retrieved_contexts": expected,
        **kept,
    }


# Errors of files


@pytest.mark.parametrize(
    "text",
    [
        "question;answer\na;b, c\n",
        "question\tanswer\na\tb, c\n",
        "question|answer\na|b, c\n",
        '\ufeff\n"question";answer\r\na;"b, c"\r\n',
    ],
    ids=["semicolons", "tabs", "bars", "as Excel writes it"],
)
def test_a_csv_without_commas_in_its_header_is_divided_by_the_mark_that_is_there(tmp_path: Path, text: str) -> None:
    samples = load_dataset(write_text(tmp_path / "data.csv", text))
    assert columns_of(samples) == [{"user_input": "a", "response": "b, c"}]


def test_a_comma_in_the_header_of_a_csv_wins_over_other_marks(tmp_path: Path) -> None:
    path = write_text(tmp_path / "data.csv", "question,it is | good | or | bad\na,b\n")
    assert load_dataset(path)[0].row == {"question": "a", "it is | good | or | bad": "b"}


@pytest.mark.parametrize("column", ["retrieved_contexts", "reference_contexts"])
@pytest.mark.parametrize(
    ("row", "columns", "expected"),
    [
        ({"t": "one || two; b ||"}, {"t": "{}[||]"}, ["one", "two; b"]),
        ({"t": "one\n\ntwo"}, {"t": "{}[\n\n]"}, ["one", "two"]),
        ({"t": '["a || b", "c"]'}, {"t": "{}[||]"}, ["a || b", "c"]),
        ({"t": "[1] says so || two"}, {"t": "{}[||]"}, ["[1] says so", "two"]),
        ({"t2": "two", "t1": "one", "t3": ""}, {"t1": "{}", "t2": "{}", "t3": "{}"}, ["one", "two"]),
        ({"t1": "one || two", "t2": "three"}, {"t1": "{}[||]", "t2": "{}"}, ["one", "two", "three"]),
        ({"t1": "one", "t2": "one"}, {"t1": "{}", "t2": "{}"}, ["one", "one"]),
    ],
    ids=["a mark", "blank lines", "JSON wins", "a text that begins as JSON", "numbered", "both", "equal texts"],
)
def test_contexts_may_be_in_several_columns_or_in_one_cell_with_a_mark_between_them(
    tmp_path: Path, row: Row, columns: Mapping[str, str], expected: list[str], column: str
) -> None:
    mapping = {name: to.format(column) for name, to in columns.items()}
    for path in (write_csv(tmp_path / "data.csv", [row]), write_xlsx(tmp_path / "data.xlsx", [row])):
        assert load_dataset(path, mapping)[0].columns == {column: expected}


def test_a_mark_divides_texts_of_any_name_and_source_but_not_json() -> None:
    mapping = {"context": "retrieved_contexts[||]"}
    assert columns_of_row({"context": "a || b"}, mapping) == {"retrieved_contexts": ["a", "b"]}
    assert columns_of_row({"context": '["a || b", "c"]'}, mapping) == {"retrieved_contexts": ["a || b", "c"]}


def test_a_folder_of_several_splits_is_an_error_that_names_them(tmp_path: Path) -> None:
    split = datasets.Dataset.from_dict({"question": ["a"]})
    splits = datasets.DatasetDict(train=split, test=split)
    splits.save_to_disk(str(tmp_path / "saved"))
    paths = f"{tmp_path / 'saved' / 'train'} or {tmp_path / 'saved' / 'test'}."
    assert message_of(tmp_path / "saved").endswith(f"with the splits train, test. Give one of them: {paths}")
    assert message_of(splits).endswith("Give one of them: dataset['train'] or dataset['test'].")
    assert load_dataset(tmp_path / "saved" / "test")[0].where == "test, row 0"


READ_AS = "column 'contexts' (read as retrieved_contexts)"
BAD_ROWS: list[tuple[Row, Mapping[str, str], str, str]] = [  # row, mapping, place, what is wrong
    ({"response": ["a"]}, {}, "column 'response'", "expected a string, received ['a']"),
    ({"result": {"text": "a"}}, {}, "column 'result' (read as response)", "expected a string, received {"),
    ({"user_input": [{"content": "Hi"}]}, {}, "column 'user_input'", "expected one of user, human"),
    ({"contexts": "one text"}, {}, READ_AS, 'Put it in a list: ["..."]'),
    ({"contexts": '["a"'}, {}, READ_AS, "parse it with json.loads"),
    ({"contexts": ["a", {}]}, {}, f"{READ_AS}, item 2", "received {}"),
    ({"contexts": [["a"]]}, {}, f"{READ_AS}, item 1", "received ['a']"),
    ({"ground_truths": ["r", "s"]}, {}, "column 'ground_truths' (read as reference)", "Keep the best one"),
    ({"reference": True}, {}, "column 'reference'", "received True"),
    ({"answer": "a", "result": "b"}, {}, "'answer' and 'result'", "choose with columns: {answer: response}"),
    ({"question": "a"}, {"question": "user_imput"}, "'question' to 'user_imput'", "Did you mean 'user_input'?"),
    ({"question": "a"}, {"user_input": "question"}, "'user_input' to 'question'", "'question' to 'user_input'."),
    ({"question": "a"}, {"questoin": "user_input"}, "no row has a column 'questoin'", "Did you mean 'question'?"),
    ({"a": "x", "b": "x"}, {"a": "response", "b": "response"}, "'a' to 'response'", "Keep one of them."),
    ({"question": "a || b"}, {"question": "user_input[||]"}, "'user_input[||]'", "no canonical column"),
]


@pytest.mark.parametrize(("row", "columns", "place", "wrong"), BAD_ROWS, ids=str)
def test_a_row_that_cannot_be_read_is_an_error_with_its_place(
    row: Row, columns: Mapping[str, str], place: str, wrong: str
) -> None:
    message = message_of([row], columns)
    assert message.startswith("list: columns maps" if columns else "row 0: ")
    assert place in message
    assert wrong in message


BAD_FILES: list[tuple[str, bytes, str, str]] = [  # name, content, place, what is wrong
    ("a.txt", b"x", "a.txt", "expected one of .jsonl"),
    ("a.jsonl", b"\n \n", "a.jsonl", "expected at least one row"),
    ("a.json", b'{"samples": []}', "a.json", "expected at least one row"),
    ("a.csv", b"question,answer\n", "a.csv", "expected at least one row"),
    ("a.jsonl", b'{"question": "a"}\n\n{"question": "b", answer: 1}\n', "a.jsonl, line 3, column 19", "broken JSON"),
    ("a.jsonl", b'{"question": "a"}\n{"question": "b", "answ', "a.jsonl, line 2, column 19", "broken JSON"),
    ("a.jsonl", b'{"question": "a"}\n["b"]\n', "a.jsonl, line 2", "expected an object (dict), received list"),
    ("a.json", b"[" * 100_000, "a.json", "unusable JSON"),
    ("a.json", b'{"question": "a"}\n{"question": "b"}\n', "a.json, line 2, column 1", "rename it to .jsonl"),
    ("a.json", b'{"question": {"0": "a"}}', "a.json", "one object with the keys 'question'"),
    ("a.json", b"{}", "a.json", "(none)"),
    ("a.json", b'"text"', "a.json", "received str"),
    ("a.json", b'{"samples": [{"a": 1}], "rows": [{"a": 2}]}', "a.json", "the keys 'samples', 'rows'"),
    ("a.json", b'{"question": ["a", "b"], "answer": ["c"]}', "a.json", "'question': 2, 'answer': 1"),
    ("a.json", b'[{"question": "a"}, "b"]', "a.json, row 1", "expected an object (dict), received str"),
    ("a.csv", b"question,answer\na,b\nc, d, e\n", "a.csv, row 3", "expected 2 cells as in the header, received 3"),
    ("a.csv", b"question,answer\na,b\nc\n", "a.csv, row 3", "expected 2 cells as in the header, received 1"),
    ("a.csv", b'question,answer\na,b\nc,"d\ne,f\n', "a.csv, row 3", "broken CSV"),
]


@pytest.mark.parametrize(("name", "content", "place", "wrong"), BAD_FILES)
def test_a_file_that_cannot_be_read_is_an_error_with_its_place(
    name: str, content: bytes, place: str, wrong: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    message = message_of(tmp_path / name)
    assert message.startswith(place)
    assert wrong in message


@pytest.mark.parametrize("name", ["data.csv", "data.xlsx"])
@pytest.mark.parametrize("column", ["contexts", "context", "ground_truths"])
@pytest.mark.parametrize("cell", ['["a", "b', "['a' 'b']", "array(['a'])"])
def test_a_broken_list_in_a_cell_is_an_error_with_file_and_row(
    tmp_path: Path, name: str, column: str, cell: str
) -> None:
    write = write_csv if name == "data.csv" else write_xlsx
    message = message_of(write(tmp_path / name, [{column: '["fine"]'}, {column: cell}]))
    assert message.startswith(f"{name}, row 3: column '{column}' (read as ")
    assert "expected a JSON list" in message
    assert repr(cell) in message and "json.dumps(contexts)" in message


ENCODED: list[tuple[str, str, str]] = [
    ("質問,回答\nノルは誰？,画家です\n", "cp932", "CP932"),
    ("问题,回答\n谁是诺卢？,他是画家\n", "gbk", "GB18030"),
    ("вопрос,ответ\nКто это?,художник\n", "cp1251", ""),
    ("pytanie\nCo to jest „różnica”, która była ważna?\n", "cp1250", ""),
]


@pytest.mark.parametrize(("text", "encoding", "looks"), ENCODED)
def test_another_encoding_is_named(text: str, encoding: str, looks: str, tmp_path: Path) -> None:
    message = message_of(write_text(tmp_path / "data.csv", text, encoding))
    assert (f"The file looks like {looks}." in message) is bool(looks)
    assert f"iconv -f {looks or '<encoding>'} -t UTF-8 data.csv" in message


@pytest.mark.parametrize("name", ["data.jsonl", "data.json", "data.csv", "data.tsv"])
def test_another_encoding_is_an_error_with_the_line(tmp_path: Path, name: str) -> None:
    path = write_text(tmp_path / name, '{"question": "a"}\n{"question": "wąż"}\n', "cp1250")
    assert message_of(path).startswith(f"{name}, line 2: expected UTF-8, received the byte 0x")


def test_paths_and_objects_that_are_no_dataset_are_errors(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "dataset.jsonl", TRICKY)
    near = f"{tmp_path / 'datset.jsonl'}: no such file or folder. Did you mean 'dataset.jsonl'? Correct the path."
    assert message_of(tmp_path / "datset.jsonl") == near
    assert f"{tmp_path.name}: expected a folder saved by `Dataset.save_to_disk`" in message_of(tmp_path)
    folder = write_folder(tmp_path / "saved", [{"question": "a"}])
    next(folder.glob("*.arrow")).write_bytes(b"damaged")
    assert message_of(folder).startswith(
        "saved: expected a folder saved by `Dataset.save_to_disk`, but it cannot be read ("
    )
    for empty in ([], pandas.DataFrame({"question": []}), datasets.Dataset.from_dict({})):
        assert message_of(empty).startswith(f"{type(empty).__name__}: expected at least one row, received none.")


# What the metrics need


NEEDED = {"faithfulness": ["user_input", "response"], "answer_relevancy": ["response"]}


def test_columns_that_some_row_has_are_enough() -> None:
    open_dataset([{"question": "q"}, {"question": "p", "answer": "a"}]).check_columns(NEEDED, "data.jsonl")


@pytest.mark.parametrize(
    ("source", "column", "parts"),
    [
        (
            [{"question": "q", "Answer": "a"}],
            "response",
            ["which m, f need", "response, answer, result, output", "the columns 'question', 'Answer'. Rename"],
        ),
        (pandas.DataFrame([["a", "b"]]), "response", ["received the columns '0', '1'."]),
        ([{"question": "q", "answer": ""}], "response", [" blank in every row, or read as another column."]),
        ([{"reference": ["c"], "document_score": 1}], "reference", [" blank in every row, or read as another column."]),
    ],
)
def test_a_column_that_no_row_has_is_an_error_that_names_metrics_aliases_and_columns(
    source: Any, column: str, parts: list[str]
) -> None:
    with pytest.raises(DatasetError) as caught:
        open_dataset(source).check_columns({"m": [column], "f": [column]}, "data.jsonl")
    assert str(caught.value).startswith(f"data.jsonl: expected the column '{column}', which m, f need")
    assert [part for part in parts if part not in str(caught.value)] == []


# Rules for all inputs


def test_the_digest_does_not_change_between_versions() -> None:
    # printf '%s' '{"response":"ä","user_input":"q"}' | sha256sum
    assert load_dataset([{"question": "q", "answer": "ä"}])[0].digest == "6d0933bbb6fb0039"


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
CONTEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"user_input": TEXTS},
        optional={
            "response": TEXTS,
            "reference": TEXTS,
            "retrieved_contexts": CONTEXTS,
            "reference_contexts": CONTEXTS,
        },
    ),
    min_size=1,
    max_size=5,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=ROWS)
def test_what_is_written_to_csv_is_read_back(tmp_path: Path, rows: list[Row]) -> None:
    rows = [{**row, "reference": "r" + row.get("reference", "")} for row in rows]  # '["a"]' in a cell is a list
    assume(not any(value in ("nan", "NaN", "<NA>") for row in rows for value in row.values()))  # missing in a cell
    assert columns_of(load_dataset(write_csv(tmp_path / "data.csv", rows))) == rows
