"""The input rows: formats, aliases, types, and what the messages say."""

import csv
import datetime
import decimal
import enum
import json
import math
import os
import re
import subprocess
import sys
import uuid
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy
import openpyxl
import pandas
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document

from rag_evaluator import DatasetError, load_dataset
from rag_evaluator.dataset import ALIASES, Sample, Unwritable, check_columns, open_dataset
from tests.dataset.data_files import (
    TRICKY,
    Row,
    arrow_table,
    write_cells,
    write_csv,
    write_folder,
    write_jsonl,
    write_parquet,
    write_text,
    write_xlsx,
)


def columns_of(samples: Sequence[Sample]) -> list[Mapping[str, Any]]:
    return [sample.columns for sample in samples]


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


def test_a_selection_of_a_dataset_keeps_its_order() -> None:
    dataset = datasets.Dataset.from_dict({"question": ["a", "b", "c"]}).select([2, 0])
    assert columns_of(load_dataset(dataset)) == [{"user_input": "c"}, {"user_input": "a"}]


@pytest.mark.parametrize("path_type", [str, Path])
def test_a_path_may_be_text_or_a_path(tmp_path: Path, path_type: Callable[[Path], Any]) -> None:
    assert len(load_dataset(path_type(write_jsonl(tmp_path / "data.jsonl", TRICKY)))) == 4


def test_a_suffix_may_be_written_in_capitals(tmp_path: Path) -> None:
    assert len(load_dataset(write_jsonl(tmp_path / "DATA.JSONL", TRICKY))) == 4


@pytest.mark.parametrize("name", ["data.jsonl", "data.json", "data.csv"])
def test_a_byte_order_mark_is_not_part_of_the_data(tmp_path: Path, name: str) -> None:
    texts = {"data.jsonl": '{"question": "é"}', "data.json": '[{"question": "é"}]', "data.csv": "question\né\n"}
    samples = load_dataset(write_text(tmp_path / name, texts[name], "utf-8-sig"))
    assert samples[0].row == {"question": "é"}


def test_blank_lines_in_jsonl_are_skipped_but_counted(tmp_path: Path) -> None:
    path = write_text(tmp_path / "data.jsonl", '\n{"question": "a"}\r\n\n  \n{"question": "b"}')
    samples = load_dataset(path)
    assert [(sample.index, sample.where) for sample in samples] == [
        (0, "data.jsonl, line 2"),
        (1, "data.jsonl, line 5"),
    ]


@pytest.mark.parametrize(
    "document",
    [
        [{"question": "a"}, {"question": "b"}],
        {"samples": [{"question": "a"}, {"question": "b"}]},
        {"data": [{"question": "a"}, {"question": "b"}], "schema": {"fields": []}},
        {"rows": [{"question": "a"}, {"question": "b"}], "name": "x"},
        {"results": [{"question": "a"}, {"question": "b"}], "errors": []},
        {"question": ["a", "b"]},
    ],
)
def test_json_may_hold_objects_a_wrapped_list_or_columns(tmp_path: Path, document: Any) -> None:
    samples = load_dataset(write_text(tmp_path / "data.json", json.dumps(document)))
    assert columns_of(samples) == [{"user_input": "a"}, {"user_input": "b"}]
    assert samples[1].where == "data.json, row 1"


def test_csv_cells_are_text_and_an_empty_cell_is_missing(tmp_path: Path) -> None:
    path = write_text(
        tmp_path / "data.csv", "question,answer,reference,contexts\n007,NA,,\nnull,1.50,nan,one context\n"
    )
    samples = load_dataset(path)
    assert columns_of(samples) == [
        {"user_input": "007", "response": "NA"},
        {"user_input": "null", "response": "1.50", "reference": "nan", "retrieved_contexts": ["one context"]},
    ]
    assert samples[0].row == {"question": "007", "answer": "NA", "reference": "", "contexts": ""}


def test_csv_rows_are_numbered_as_a_spreadsheet_shows_them(tmp_path: Path) -> None:
    path = write_text(tmp_path / "data.csv", 'question,answer\n"two\nlines",b\n\n,\nc,d\n')
    assert [sample.where for sample in load_dataset(path)] == ["data.csv, row 2", "data.csv, row 5"]


def test_a_csv_cell_may_be_larger_than_the_default_limit_of_pythons_reader(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    samples = load_dataset(write_csv(tmp_path / "data.csv", [{"contexts": ["x" * 200_000]}]))
    assert len(samples[0].columns["retrieved_contexts"][0]) == 200_000
    assert csv.field_size_limit() == limit


def test_the_index_column_that_pandas_adds_to_a_csv_is_kept_under_the_name_pandas_gives_it(tmp_path: Path) -> None:
    pandas.DataFrame({"question": ["a"]}).to_csv(tmp_path / "data.csv")
    assert load_dataset(tmp_path / "data.csv")[0].row == {"Unnamed: 0": "0", "question": "a"}


def test_empty_columns_without_a_name_are_dropped(tmp_path: Path) -> None:
    path = write_text(tmp_path / "data.csv", "question,,\na,,\n")
    assert load_dataset(path)[0].row == {"question": "a"}


def test_xlsx_numbers_become_text_in_columns_and_stay_numbers_in_the_row(tmp_path: Path) -> None:
    path = write_cells(tmp_path / "data.xlsx", [["question", "answer", "contexts"], ["How many?", 7, 2.5]])
    sample = load_dataset(path)[0]
    assert sample.columns == {"user_input": "How many?", "response": "7", "retrieved_contexts": ["2.5"]}
    assert sample.row == {"question": "How many?", "answer": 7, "contexts": 2.5}


def test_xlsx_dates_become_iso_dates(tmp_path: Path) -> None:
    rows = [["question", "answer", "at"], ["When?", datetime.date(1967, 1, 15), datetime.datetime(1967, 1, 15, 12, 30)]]
    sample = load_dataset(write_cells(tmp_path / "data.xlsx", rows))[0]
    assert sample.columns["response"] == "1967-01-15"
    assert sample.row["at"] == "1967-01-15T12:30:00"


def test_xlsx_rows_have_the_numbers_excel_shows_and_blank_rows_are_skipped(tmp_path: Path) -> None:
    path = write_cells(tmp_path / "data.xlsx", [[], ["question"], ["a"], [], [None], ["b"]])
    samples = load_dataset(path)
    assert [(s.where, s.columns["user_input"]) for s in samples] == [
        ("data.xlsx, row 3", "a"),
        ("data.xlsx, row 6", "b"),
    ]


@pytest.mark.parametrize(
    ("sheets", "taken"),
    [
        (["Sheet", "other"], "Sheet"),
        (["summary", "other"], "summary"),
        (["scores", "summary"], "scores"),  # as older results have them
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


def test_an_xlsx_error_value_is_a_missing_cell(tmp_path: Path) -> None:
    path = write_cells(tmp_path / "data.xlsx", [["question", "answer"], ["a", "#N/A"]])
    assert load_dataset(path)[0].row == {"question": "a", "answer": None}


def test_a_calculated_xlsx_formula_counts_as_its_value(tmp_path: Path) -> None:
    import xlsxwriter

    book = xlsxwriter.Workbook(tmp_path / "data.xlsx")
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["question", "answer"])
    sheet.write_string(1, 0, "a")
    sheet.write_formula(1, 1, '=UPPER("b")', value="B")
    book.close()
    assert load_dataset(tmp_path / "data.xlsx")[0].columns == {"user_input": "a", "response": "B"}


def write_formula(path: Path, formula: str, engine: str) -> Path:
    pandas.DataFrame({"question": ["a"], "answer": [formula]}).to_excel(path, index=False, engine=engine)
    return path


@pytest.mark.parametrize("engine", ["openpyxl", "xlsxwriter"])
def test_an_xlsx_formula_without_a_value_is_an_error_where_its_column_is_needed(engine: str, tmp_path: Path) -> None:
    path = write_formula(tmp_path / "data.xlsx", '=UPPER("b")', engine)
    assert message_of(path) == (
        "data.xlsx, row 2: column 'answer' (read as response) holds the formula '=UPPER(\"b\")' without a value; open "
        "the workbook in a spreadsheet program and save it, so that it is calculated. Correct it, or convert it to "
        "text."
    )
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


@pytest.mark.parametrize("name", ["data.csv", "data.tsv"])
@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"], ids=["CR", "CRLF", "LF"])
def test_lines_may_end_in_any_of_the_usual_signs(name: str, end: str, tmp_path: Path) -> None:
    mark = "\t" if name == "data.tsv" else ","
    text = end.join(mark.join(cells) for cells in (["question", "answer"], ["a", "b"], ["c", "d"])) + end
    samples = load_dataset(write_text(tmp_path / name, text))
    assert [sample.columns for sample in samples] == [
        {"user_input": "a", "response": "b"},
        {"user_input": "c", "response": "d"},
    ]
    assert samples[1].where == f"{name}, row 3"


def test_parquet_values_become_plain_json(tmp_path: Path) -> None:
    at = datetime.datetime(2024, 5, 1, 12, 0)
    table = pyarrow.table(
        {
            "question": ["a", "b"],
            "count": pyarrow.array([1, None], pyarrow.int64()),
            "score": [math.nan, 0.5],
            "at": pyarrow.array([at, None], pyarrow.timestamp("ns")),
            "price": pyarrow.array([decimal.Decimal("1.10"), None]),
            "meta": [{"tags": ["x"]}, None],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "data.parquet")
    first, second = (sample.row for sample in load_dataset(tmp_path / "data.parquet"))
    assert first == {
        "question": "a",
        "count": 1,
        "score": None,
        "at": "2024-05-01T12:00:00",
        "price": "1.10",
        "meta": {"tags": ["x"]},
    }
    assert second == {"question": "b", "count": None, "score": 0.5, "at": None, "price": None, "meta": None}
    assert type(first["count"]) is int


def test_parquet_in_a_folder_named_like_a_partition_gets_no_extra_column(tmp_path: Path) -> None:
    (tmp_path / "split=test").mkdir()
    path = write_parquet(tmp_path / "split=test" / "data.parquet", [{"question": "a"}])
    assert load_dataset(path)[0].row == {"question": "a"}


def test_a_pandas_frame_read_from_parquet_has_arrays_that_become_lists(tmp_path: Path) -> None:
    frame = pandas.read_parquet(write_parquet(tmp_path / "data.parquet", [{"contexts": ["a", "b"]}]))
    assert isinstance(frame["contexts"][0], numpy.ndarray)
    assert columns_of(load_dataset(frame)) == [{"retrieved_contexts": ["a", "b"]}]


COLOUR = enum.Enum("COLOUR", {"RED": "red"}, type=str)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (numpy.int64(3), 3),
        (numpy.float32(0.5), 0.5),
        (numpy.float64("nan"), None),
        (math.nan, None),
        (numpy.bool_(True), True),
        (numpy.str_("x"), "x"),
        (numpy.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (numpy.datetime64("2024-05-01T00:00:00", "ns"), "2024-05-01T00:00:00"),
        (numpy.datetime64("NaT"), None),
        (pandas.Timestamp("2024-05-01"), "2024-05-01T00:00:00"),
        (pandas.NaT, None),
        (decimal.Decimal("NaN"), None),
        (pandas.Timedelta(hours=1), "0 days 01:00:00"),
        (pandas.NA, None),
        (pandas.Series([1, 2]), [1, 2]),
        (pyarrow.scalar(5), 5),
        (datetime.time(9, 30), "09:30:00"),
        (datetime.timedelta(hours=1), "1:00:00"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Path("a") / "b", str(Path("a") / "b")),
        (COLOUR.RED, "red"),
        (("a", {"b": (1, None)}), ["a", {"b": [1, None]}]),
        ({1: "x"}, {"1": "x"}),
        (Document(page_content="x", metadata={"page": 2}), {"page_content": "x", "metadata": {"page": 2}}),
        (Document(page_content="x", id="d1"), {"id": "d1", "page_content": "x", "metadata": {}}),
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
    plain = load_dataset([{"question": "a", "extra": value}])[0].row["extra"]
    assert isinstance(plain, Unwritable)
    assert plain.reason == "an infinite number"
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


# Columns

SEEDS: dict[str, tuple[Row, Row]] = {
    "ragas": (
        {"user_input": "q", "response": "a", "retrieved_contexts": ["c"], "reference": "r"},
        {"user_input": "q", "response": "a", "retrieved_contexts": ["c"], "reference": "r"},
    ),
    "ragas 0.1": (
        {"question": "q", "answer": "a", "contexts": ["c1", "c2"], "ground_truth": "r"},
        {"user_input": "q", "response": "a", "retrieved_contexts": ["c1", "c2"], "reference": "r"},
    ),
    "LangChain": (
        {"query": "q", "result": "a", "source_documents": [Document(page_content="c")], "ground_truths": "r"},
        {"user_input": "q", "response": "a", "retrieved_contexts": ["c"], "reference": "r"},
    ),
    "evaluation dataset": (
        {"id": 1, "input": "q", "correct_answer": "r", "correct_context": "c"},
        {"user_input": "q", "reference": "r", "reference_contexts": ["c"]},
    ),
    "generation log": ({"input": "q", "output": "a"}, {"user_input": "q", "response": "a"}),
    "retrieval log": (
        {"question": "q", "document_score": [0.2, 0.9], "reference": ["low", "high"]},
        {"user_input": "q", "retrieved_contexts": ["high", "low"], "document_score": [0.9, 0.2]},
    ),
    "retrieval log, a line per chunk": (
        {"question": "q", "document_score": 0.2, "reference": "text"},
        {"user_input": "q", "retrieved_contexts": ["text"], "document_score": [0.2]},
    ),
    "RagSGE": (
        {"question": "q", "contexts": ["c"], "ground_truth": "r"},
        {"user_input": "q", "retrieved_contexts": ["c"], "reference": "r"},
    ),
}


@pytest.mark.parametrize("name", SEEDS)
def test_the_column_names_of_the_seeds_are_understood(name: str) -> None:
    row, columns = SEEDS[name]
    assert columns_of_row(row) == columns


@pytest.mark.parametrize(
    ("alias", "canonical"), [(alias, name) for name, aliases in ALIASES.items() for alias in (name, *aliases)]
)
def test_every_alias_is_read_as_its_canonical_column(alias: str, canonical: str) -> None:
    values = {"document_score": [0.5], "answerable": True, "rubrics": {"score1_description": "text"}}
    value = values.get(canonical, ["text"] if canonical.endswith("s") else "text")
    contexts = {"contexts": ["c"]} if canonical == "document_score" else {}
    assert columns_of_row({alias: value, **contexts})[canonical] == value


def test_the_row_keeps_its_own_names_values_and_order() -> None:
    row = {"z": 1, "question": "q", "extra": {"nested": [None, 1.5]}, "contexts": []}
    sample = load_dataset([row])[0]
    assert sample.row == row
    assert list(sample.row) == list(row)


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


def test_a_canonical_name_wins_over_its_aliases() -> None:
    assert columns_of_row({"answer": "alias", "response": "canonical"}) == {"response": "canonical"}


def test_an_empty_canonical_column_leaves_the_place_to_an_alias() -> None:
    assert columns_of_row({"answer": "alias", "response": None}) == {"response": "alias"}


def test_two_aliases_may_agree() -> None:
    assert columns_of_row({"ground_truth": "r", "ground_truths": ["r"]}) == {"reference": "r"}


def test_two_aliases_that_differ_are_an_error_that_names_both() -> None:
    assert message_of([{"question": "q"}, {"answer": "a", "result": "b"}]) == (
        "row 1: 'answer' and 'result' are both read as response, and differ. Keep one of them, or choose with "
        "columns: {answer: response}."
    )


def test_the_users_columns_win_over_canonical_names_and_aliases() -> None:
    row = {"frage": "mapped", "user_input": "canonical", "question": "alias"}
    assert columns_of_row(row, {"frage": "user_input"}) == {"user_input": "mapped"}


def test_a_mapped_column_is_not_replaced_by_another_where_it_is_empty() -> None:
    samples = load_dataset([{"gold": "r"}, {"gold": "", "reference": "other"}], {"gold": "reference"})
    assert columns_of(samples) == [{"reference": "r"}, {}]


def test_a_mapped_column_no_longer_counts_as_an_alias() -> None:
    assert columns_of_row({"answer": "r", "output": "a"}, {"answer": "reference"}) == {
        "response": "a",
        "reference": "r",
    }


def test_a_mapping_chooses_between_two_aliases() -> None:
    assert columns_of_row({"answer": "a", "result": "b"}, {"answer": "response"}) == {"response": "a"}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            {"question": "user_imput"},
            "list: columns maps 'question' to 'user_imput', which is no canonical column. Did you mean 'user_input'?",
        ),
        (
            {"question": "retrieved_contexts［||］"},
            (
                "list: columns maps 'question' to 'retrieved_contexts［||］', which is no canonical column. "
                "Write its brackets in ASCII: 'retrieved_contexts[||]'."
            ),
        ),
        (
            {"user_input": "question"},
            (
                "list: columns maps 'user_input' to 'question', which is no canonical column. It is one of the file's, "
                "whose names come first: 'question' to 'user_input'."
            ),
        ),
        (
            {"questoin": "user_input"},
            (
                "list: columns maps 'questoin' to 'user_input', but no row has a column 'questoin'. "
                "Did you mean 'question'?"
            ),
        ),
        (
            {"question": "response", "answer": "response"},
            "list: columns maps both 'question' and 'answer' to 'response'. Keep one of them.",
        ),
    ],
)
def test_a_wrong_mapping_is_an_error(columns: dict[str, str], expected: str) -> None:
    assert message_of([{"question": "q", "answer": "a"}], columns) == expected


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


def test_a_retrieval_log_may_carry_the_reference_answer_under_another_name() -> None:
    row = {"question": "q", "reference": ["c"], "correct_answer": "r", "document_score": [0.5]}
    assert columns_of_row(row) == {
        "user_input": "q",
        "retrieved_contexts": ["c"],
        "reference": "r",
        "document_score": [0.5],
    }


def test_a_retrieval_log_in_csv_has_its_lists_in_cells(tmp_path: Path) -> None:
    rows = [["question", "document_score", "reference"], ["q", "[0.1, 0.9]", '["a", "b"]'], ["p", "0.3", "c"]]
    with (tmp_path / "log.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    contexts = [row["retrieved_contexts"] for row in columns_of(load_dataset(tmp_path / "log.csv"))]
    assert contexts == [["b", "a"], ["c"]]


def test_beside_another_contexts_column_a_reference_list_is_the_answer_even_where_the_contexts_are_empty() -> None:
    rows = [{"contexts": ["c"], "reference": ["r"]}, {"contexts": [], "reference": ["s"]}, {"reference": ["t"]}]
    assert columns_of(load_dataset(rows)) == [
        {"retrieved_contexts": ["c"], "reference": "r"},
        {"retrieved_contexts": [], "reference": "s"},
        {"reference": "t"},
    ]


def test_references_that_are_lists_in_some_rows_only_are_answers() -> None:
    assert columns_of(load_dataset([{"reference": "r"}, {"reference": ["s"]}])) == [
        {"reference": "r"},
        {"reference": "s"},
    ]


def test_a_mapping_decides_whether_reference_is_the_answer_or_a_log() -> None:
    row = {"reference": ["x"], "document_score": [1.0]}
    assert columns_of_row(row, {"reference": "reference"}) == {"reference": "x"}
    log = columns_of_row(row, {"reference": "retrieved_contexts"})
    assert log == {"retrieved_contexts": ["x"], "document_score": [1.0]}


# Types


def test_documents_may_be_strings_dicts_or_langchain_documents() -> None:
    documents = ["a", {"page_content": "b", "metadata": {"page": 1}}, Document(page_content="c")]
    assert columns_of_row({"source_documents": documents}) == {"retrieved_contexts": ["a", "b", "c"]}


def test_empty_contexts_inside_a_list_keep_their_rank() -> None:
    assert columns_of_row({"contexts": ["", "b"]}) == {"retrieved_contexts": ["", "b"]}


def test_a_single_reference_context_is_a_list_of_one() -> None:
    assert columns_of_row({"reference_contexts": "[1] c"}) == {"reference_contexts": ["[1] c"]}


def test_ground_truths_with_one_answer_is_that_answer() -> None:
    assert columns_of_row({"ground_truths": ["r"]}) == {"reference": "r"}


def test_an_answer_in_a_cell_may_begin_with_a_bracket(tmp_path: Path) -> None:
    rows = [{"question": "[q]", "answer": '["a"]', "ground_truth": "[1] says so"}]
    expected = {"user_input": "[q]", "response": '["a"]', "reference": "[1] says so"}
    assert columns_of(load_dataset(write_csv(tmp_path / "data.csv", rows))) == [expected]


def test_ground_truths_in_a_cell_is_a_json_list(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "data.csv", [{"question": "q", "ground_truths": ["r"]}])
    assert columns_of(load_dataset(path)) == [{"user_input": "q", "reference": "r"}]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {"response": ["a"]},
            (
                "row 0: column 'response': expected a string, received a list, ['a']. Write it as text, or rename "
                "the column if it is no response."
            ),
        ),
        (
            {"result": {"text": "a"}},
            (
                "row 0: column 'result' (read as response): expected a string, received an object, {'text': 'a'}. "
                "Write it as text, or rename the column if it is no response."
            ),
        ),
        (
            {"user_input": [{"type": "human", "content": "Hi"}]},
            (
                "row 0: column 'user_input': expected one question as a string, received a list, [{'type': 'human', "
                "'content': 'Hi'}]. Only single-turn samples are supported: give the last question."
            ),
        ),
        (
            {"contexts": "one text"},
            (
                "row 0: column 'contexts' (read as retrieved_contexts): expected a list of strings, received a string, "
                "'one text'. Put it in a list: [\"...\"]."
            ),
        ),
        (
            {"contexts": '["a"]'},
            (
                "row 0: column 'contexts' (read as retrieved_contexts): expected a list of strings, received a string, "
                "'[\"a\"]'. Parse the text with json.loads first."
            ),
        ),
        (
            {"contexts": ["a", None]},
            (
                "row 0: column 'contexts' (read as retrieved_contexts), item 2: expected a string or a document with "
                'the text in `page_content`, `text` or `content`, received null, None. Write its text, or "" to keep '
                "its rank."
            ),
        ),
        (
            {"retrieved_contexts": [["a"]]},
            (
                "row 0: column 'retrieved_contexts', item 1: expected a string or a document with the text in "
                "`page_content`, `text` or `content`, received a list, ['a']. Write its text, or \"\" to keep its rank."
            ),
        ),
        (
            {"ground_truths": ["r", "s"]},
            (
                "row 0: column 'ground_truths' (read as reference): expected one reference answer, received a list, "
                "['r', 's']. Keep the best one as a string, or join them yourself into one text."
            ),
        ),
        (
            {"reference": True},
            (
                "row 0: column 'reference': expected a string, received a boolean, True. Write it as text, or rename "
                "the column if it is no reference."
            ),
        ),
        (
            {"question": "a\ud800"},
            (
                "row 0: column 'question' (read as user_input) holds half of a surrogate pair (\\ud800) at character "
                "2. Correct it, or convert it to text."
            ),
        ),
        (
            {"response": b"\x00"},
            (
                "row 0: column 'response' holds a value of type bytes, which JSON cannot hold. Correct it, or convert "
                "it to text."
            ),
        ),
    ],
    ids=str,
)
def test_a_wrong_type_is_an_error(row: Row, expected: str) -> None:
    assert message_of([row]) == expected


@pytest.mark.parametrize("name", ["data.csv", "data.xlsx"])
@pytest.mark.parametrize("cell", ['["a", "b', "['a', 'b']", "['a' 'b']"])
def test_a_broken_list_in_a_cell_is_an_error_with_file_and_row(tmp_path: Path, name: str, cell: str) -> None:
    write = write_csv if name == "data.csv" else write_xlsx
    message = message_of(write(tmp_path / name, [{"contexts": '["fine"]'}, {"contexts": cell}]))
    assert message.startswith(
        f"{name}, row 3: column 'contexts' (read as retrieved_contexts): expected a JSON list in a cell that begins "
        f"with '[', received a string, {cell!r}. It is broken ("
    )
    assert message.endswith("Write lists with json.dumps(contexts); Python's own ['...'] is no JSON.")


def test_a_lone_surrogate_hidden_in_a_cells_json_is_an_error(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "data.csv", [{"contexts": '["\\ud800"]'}])
    assert "data.csv, row 2: column 'contexts'" in (message := message_of(path))
    assert "half of a surrogate pair" in message


# Errors of files


def test_a_missing_file_is_an_error_that_suggests_near_names(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "dataset.jsonl", TRICKY)
    expected = f"{tmp_path / 'datset.jsonl'}: no such file or folder. Did you mean 'dataset.jsonl'? Correct the path."
    assert message_of(tmp_path / "datset.jsonl") == expected


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    message = message_of(tmp_path / "none" / "data.jsonl")
    assert message.endswith(f"The folder {tmp_path / 'none'} does not exist either. Correct the path.")


def test_an_unknown_suffix_is_an_error_that_lists_the_known(tmp_path: Path) -> None:
    assert message_of(write_text(tmp_path / "data.txt", "x")) == (
        "data.txt: expected one of .jsonl, .ndjson, .json, .csv, .tsv, .parquet, .xlsx or a folder saved by "
        "`datasets`, received the suffix '.txt'. Convert the file, or rename it if only its name is wrong."
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("data.jsonl", "\n \n"),
        ("data.json", "[]"),
        ("data.json", '{"samples": []}'),
        ("data.csv", "question,answer\n"),
        ("data.csv", "\n\n"),
    ],
)
def test_a_file_without_rows_is_an_error(tmp_path: Path, name: str, text: str) -> None:
    message = message_of(write_text(tmp_path / name, text))
    assert message.startswith(f"{name}: expected at least one row, received none. Check that it is the right dataset")


@pytest.mark.parametrize(
    ("source", "name"),
    [([], "list"), (pandas.DataFrame({"question": []}), "DataFrame"), (datasets.Dataset.from_dict({}), "Dataset")],
    ids=["list", "frame", "dataset"],
)
def test_an_object_without_rows_is_an_error(source: Any, name: str) -> None:
    assert message_of(source).startswith(f"{name}: expected at least one row, received none.")


def test_a_broken_jsonl_line_is_an_error_with_line_column_and_excerpt(tmp_path: Path) -> None:
    path = write_text(tmp_path / "data.jsonl", '{"question": "a"}\n\n{"question": "b", answer: 1}\n')
    assert message_of(path) == (
        "data.jsonl, line 3, column 19: broken JSON (Expecting property name enclosed in double quotes) near "
        '\'{"question": "b", answer: 1}\'. Correct it there. If the file is one JSON document, rename it to .json.'
    )


def test_a_torn_last_line_is_an_error(tmp_path: Path) -> None:
    path = write_text(tmp_path / "data.jsonl", '{"question": "a"}\n{"question": "b", "answ')
    assert message_of(path).startswith("data.jsonl, line 2, column 19: broken JSON (Unterminated string")


def test_a_jsonl_line_that_is_no_object_is_an_error(tmp_path: Path) -> None:
    assert message_of(write_text(tmp_path / "data.jsonl", '{"question": "a"}\n["b"]\n')) == (
        "data.jsonl, line 2: expected an object (dict), received list. Write one object per line, or rename a JSON "
        "document to .json."
    )


def test_a_key_that_appears_twice_is_an_error(tmp_path: Path) -> None:
    path = write_text(tmp_path / "data.jsonl", '{"answer": "a", "answer": "b"}')
    assert message_of(path) == (
        "data.jsonl, line 1: column 'answer' (read as response): expected every column once, received it 2 times: 'a', "
        "'b'. Rename or delete one of them."
    )


def test_json_nested_without_end_is_an_error(tmp_path: Path) -> None:
    message = message_of(write_text(tmp_path / "data.json", "[" * 100_000))
    assert message.startswith("data.json: unusable JSON (")


def test_broken_json_is_an_error_with_the_line_in_the_file(tmp_path: Path) -> None:
    path = write_text(tmp_path / "data.json", '{"question": "a"}\n{"question": "b"}\n')
    assert message_of(path) == (
        'data.json, line 2, column 1: broken JSON (Extra data) near \'{"question": "a"}\\n{"question": "b"}\\n\'. '
        "Correct it there. If it has one object per line, rename it to .jsonl."
    )


@pytest.mark.parametrize(
    ("document", "received"),
    [
        ({"question": {"0": "a"}}, "one object with the keys 'question'"),
        ({}, "one object with the keys (none)"),
        ("text", "str"),
        ({"samples": [{"a": 1}], "rows": [{"a": 2}]}, "one object with the keys 'samples', 'rows'"),
    ],
)
def test_json_of_another_shape_is_an_error(tmp_path: Path, document: Any, received: str) -> None:
    assert message_of(write_text(tmp_path / "data.json", json.dumps(document))) == (
        "data.json: expected a list of objects, one object with that list under one of samples, data, rows, results, "
        f"or an object of equally long lists, received {received}. Put the rows in a list (pandas: orient='records')."
    )


def test_columns_of_unequal_length_are_an_error(tmp_path: Path) -> None:
    path = write_text(tmp_path / "data.json", '{"question": ["a", "b"], "answer": ["c"]}')
    assert message_of(path) == (
        "data.json: expected lists of equal length, received 'question': 2, 'answer': 1. Give each row a value."
    )


def test_a_json_row_that_is_no_object_is_an_error(tmp_path: Path) -> None:
    path = write_text(tmp_path / "data.json", '[{"question": "a"}, "b"]')
    expected = "data.json, row 1: expected an object (dict), received str. Make each row {column name: value}."
    assert message_of(path) == expected


@pytest.mark.parametrize("name", ["data.jsonl", "data.json", "data.csv", "data.tsv"])
def test_another_encoding_is_an_error_with_the_line(tmp_path: Path, name: str) -> None:
    path = write_text(tmp_path / name, '{"question": "a"}\n{"question": "año"}\n', "latin-1")
    assert message_of(path) == (
        f"{name}, line 2: expected UTF-8, received the byte 0xf1. The file looks like CP1252. Save the file as UTF-8 "
        f"(Excel: 'CSV UTF-8'; or: iconv -f CP1252 -t UTF-8 {name})."
    )


def test_utf_16_is_recognised(tmp_path: Path) -> None:
    assert "The file looks like UTF-16." in message_of(write_text(tmp_path / "data.csv", "question\na\n", "utf-16"))


@pytest.mark.parametrize(
    ("text", "encoding", "named"),
    [
        ("質問,回答\nノルは誰？,画家です\n", "cp932", "CP932"),
        ("问题,回答\n谁是诺卢？,他是画家\n", "gbk", "GB18030"),
        ("вопрос,ответ\nКто это?,художник\n", "cp1251", ""),
        ("pregunta,respuesta\n¿Quién?,«Él»\n", "cp1252", "CP1252"),
        ("question,answer\nWho?,Nolu’s friend\n", "cp1252", "CP1252"),
        ("pytanie\nCo to jest „różnica”, która była ważna?\n", "cp1250", ""),
    ],
)
def test_what_excel_writes_in_japanese_chinese_and_western_languages_is_named(
    text: str, encoding: str, named: str, tmp_path: Path
) -> None:
    message = message_of(write_text(tmp_path / "data.csv", text, encoding))
    assert (f"The file looks like {named}." in message) is bool(named)
    assert f"iconv -f {named or '<encoding>'} -t UTF-8 data.csv" in message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_an_error(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "data.jsonl", TRICKY)
    path.chmod(0)
    assert message_of(path).startswith("data.jsonl: expected a readable file, but it cannot be read (PermissionError")


def test_a_column_that_appears_twice_in_a_csv_header_is_an_error(tmp_path: Path) -> None:
    assert message_of(write_text(tmp_path / "data.csv", "answer,question,answer\na,b,c\n")) == (
        "data.csv, row 2: column 'answer' (read as response): expected every column once, received it 2 times: 'a', "
        "'c'. Rename or delete one of them."
    )


def test_a_csv_row_with_another_number_of_cells_is_an_error(tmp_path: Path) -> None:
    assert message_of(write_text(tmp_path / "data.csv", "question,answer\na,b\nc, d, e\n")) == (
        "data.csv, row 3: expected 2 cells as in the header, received 3. Put cells that hold ',' in double quotes, and "
        "write an empty cell for a missing value."
    )


def test_a_csv_quote_that_is_never_closed_is_an_error_with_the_row_that_opens_it(tmp_path: Path) -> None:
    message = message_of(write_text(tmp_path / "data.csv", 'question,answer\na,b\nc,"d\ne,f\n'))
    assert message.startswith("data.csv, row 3: broken CSV (unexpected end of data; it was noticed on line 4). ")
    assert message.endswith('double each quote inside them: "say ""yes""".')


def test_a_tsv_with_another_separator_is_an_error(tmp_path: Path) -> None:
    assert message_of(write_text(tmp_path / "data.tsv", "question;answer\na;b, c\n")) == (
        "data.tsv, row 1: expected columns separated by '\\t', received 'question;answer', which looks separated by "
        "';'. Save it with '\\t', or rename it to .csv."
    )


@pytest.mark.parametrize(
    "text",
    [
        "question;answer\na;b, c\n",
        '"question";"answer"\n"a";"b, c"\n',
        "question\tanswer\na\tb, c\n",
        "question|answer\na|b, c\n",
        '\ufeff\n"question";answer\r\na;"b, c"\r\n',
    ],
    ids=["semicolons", "quoted", "tabs", "bars", "as Excel writes it"],
)
def test_a_csv_without_commas_in_its_header_is_divided_by_the_mark_that_is_there(tmp_path: Path, text: str) -> None:
    samples = load_dataset(write_text(tmp_path / "data.csv", text))
    assert [sample.columns for sample in samples] == [{"user_input": "a", "response": "b, c"}]


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
def test_contexts_may_stand_in_several_columns_or_in_one_cell_with_a_mark_between_them(
    tmp_path: Path, row: Row, columns: Mapping[str, str], expected: list[str], column: str
) -> None:
    mapping = {name: to.format(column) for name, to in columns.items()}
    for path in (write_csv(tmp_path / "data.csv", [row]), write_xlsx(tmp_path / "data.xlsx", [row])):
        assert load_dataset(path, mapping)[0].columns == {column: expected}


def test_only_contexts_are_divided_by_a_mark() -> None:
    assert message_of([{"question": "a || b"}], {"question": "user_input[||]"}).startswith(
        "list: columns maps 'question' to 'user_input[||]', which is no canonical column."
    )


@pytest.mark.parametrize(
    ("name", "kind"), [("data.parquet", "a Parquet file"), ("data.xlsx", "an Excel workbook")], ids=["parquet", "xlsx"]
)
def test_a_file_its_library_cannot_read_is_an_error_that_keeps_the_cause(tmp_path: Path, name: str, kind: str) -> None:
    with pytest.raises(DatasetError) as caught:
        load_dataset(write_text(tmp_path / name, "this is text, whatever its name says"))
    assert str(caught.value).startswith(f"{name}: expected {kind}, but it cannot be read (")
    assert caught.value.__cause__ is not None


def test_a_column_that_appears_twice_in_parquet_or_a_frame_is_an_error(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table([["a"], ["b"]], names=["answer", "answer"]), tmp_path / "data.parquet")
    twice = (
        "row 0: column 'answer' (read as response): expected every column once, received it 2 times: 'a', 'b'. Rename "
        "or delete one of them."
    )
    assert message_of(tmp_path / "data.parquet") == f"data.parquet, {twice}"
    assert message_of(pandas.DataFrame([["a", "b"]], columns=["answer", "answer"])) == twice


def test_a_frame_without_column_names_has_their_numbers_as_names() -> None:
    frame = pandas.DataFrame([["a", "b"]])
    with pytest.raises(DatasetError, match="received the columns '0', '1'"):
        check_columns(load_dataset(frame), {"exact_match": ["response"]}, "DataFrame")
    assert columns_of(load_dataset(frame, {"1": "response"})) == [{"response": "b"}]


def test_a_folder_of_several_splits_is_an_error_that_names_them(tmp_path: Path) -> None:
    split = datasets.Dataset.from_dict({"question": ["a"]})
    splits = datasets.DatasetDict(train=split, test=split)
    splits.save_to_disk(str(tmp_path / "saved"))
    assert message_of(tmp_path / "saved") == (
        "saved: expected one dataset, received a DatasetDict with the splits train, test. Give one of them: "
        f"{tmp_path / 'saved' / 'train'} or {tmp_path / 'saved' / 'test'}."
    )
    assert message_of(splits) == (
        "DatasetDict: expected one dataset, received a DatasetDict with the splits train, test. Give one of them: "
        "dataset['train'] or dataset['test']."
    )
    assert load_dataset(tmp_path / "saved" / "test")[0].where == "test, row 0"


def test_a_folder_that_datasets_did_not_save_is_an_error(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "data.jsonl", TRICKY)
    assert message_of(tmp_path) == (
        f"{tmp_path.name}: expected a folder saved by `Dataset.save_to_disk`, received one without state.json (in it: "
        "data.jsonl). Give the path of a data file or of such a folder."
    )


def test_a_damaged_datasets_folder_is_an_error(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "saved", [{"question": "a"}])
    next(folder.glob("*.arrow")).write_bytes(b"damaged")
    assert message_of(folder).startswith("saved: expected a `datasets` folder, but it cannot be read (")


def test_an_object_of_another_type_is_an_error() -> None:
    assert message_of({"a"}) == (
        "dataset: expected a path, a list of dicts, a dict of lists, a pandas DataFrame, a datasets.Dataset or a ragas "
        "EvaluationDataset, received set. Convert it first."
    )


def test_a_list_of_something_else_than_dicts_is_an_error() -> None:
    expected = "row 1: expected an object (dict), received str. Make each row {column name: value}."
    assert message_of([{"question": "a"}, "b"]) == expected


# What the metrics need


def test_columns_that_some_row_has_are_enough() -> None:
    samples = load_dataset([{"question": "q"}, {"question": "p", "answer": "a"}])
    check_columns(samples, {"answer_relevancy": ["user_input", "response"]}, "data.jsonl")


def test_a_column_that_no_row_has_is_an_error_that_names_metrics_aliases_and_columns() -> None:
    samples = load_dataset([{"question": "q", "Answer": "a"}])
    needed = {"faithfulness": ["user_input", "response"], "answer_relevancy": ["response"], "recall": ["reference"]}
    with pytest.raises(DatasetError) as caught:
        check_columns(samples, needed, "data.jsonl")
    assert str(caught.value) == (
        "data.jsonl: expected the column 'response', which faithfulness, answer_relevancy need (accepted names: "
        "response, answer, result, output), received the columns 'question', 'Answer'. Rename a column, map it with "
        "columns: {<your column>: response}, or leave out faithfulness, answer_relevancy.\n"
        "data.jsonl: expected the column 'reference', which recall needs (accepted names: reference, ground_truth, "
        "ground_truths, correct_answer), received the columns 'question', 'Answer'. Rename a column, map it with "
        "columns: {<your column>: reference}, or leave out recall."
    )


@pytest.mark.parametrize(
    ("row", "hint"),
    [
        ({"ground_truth": ""}, "'ground_truth' is empty in every row."),
        (
            {"reference": ["c"], "document_score": 1},
            "'reference' was read as another column: by your `columns`, or as a retrieval log.",
        ),
    ],
)
def test_a_column_that_is_there_but_does_not_count_is_explained(row: Row, hint: str) -> None:
    with pytest.raises(DatasetError, match=re.escape(hint)):
        check_columns(load_dataset([row]), {"context_recall": ["reference"]}, "data.jsonl")


# Rules for all inputs


def test_the_digest_depends_on_the_canonical_columns_only() -> None:
    first, second, third = (
        load_dataset([row])[0]
        for row in (
            {"question": "q", "answer": "a", "id": 1},
            {"response": "a", "id": 2, "user_input": "q"},
            {"question": "q", "answer": "b", "id": 1},
        )
    )
    assert re.fullmatch("[0-9a-f]{16}", first.digest)
    assert first.digest == second.digest != third.digest


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
@given(rows=ROWS, ensure_ascii=st.booleans(), end=st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_what_is_written_to_jsonl_is_read_back(tmp_path: Path, rows: list[Row], ensure_ascii: bool, end: str) -> None:
    text = end.join(json.dumps(row, ensure_ascii=ensure_ascii) for row in rows)
    samples = load_dataset(write_text(tmp_path / "data.jsonl", text))
    assert columns_of(samples) == rows
    assert [sample.row for sample in samples] == rows


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=ROWS)
def test_what_is_written_to_csv_is_read_back(tmp_path: Path, rows: list[Row]) -> None:
    rows = [{**row, "reference": "r" + row.get("reference", "")} for row in rows]  # '["a"]' in a cell is a list
    assert columns_of(load_dataset(write_csv(tmp_path / "data.csv", rows))) == rows
