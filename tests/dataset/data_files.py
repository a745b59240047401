"""Rows that are hard to write, and functions that write them to each kind of file that is read."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import openpyxl
import pandas
import pyarrow
import pyarrow.parquet

from rag_evaluator.dataset import Sample

Row = dict[str, Any]

TRICKY: list[Row] = [
    {
        "user_input": 'Who said "so it goes"? 🤔\nAnd why?',
        "response": "=1+1",
        "reference": "007",
        "retrieved_contexts": ['say "yes", or', "line one\nline two\r\nline three", "שלום עולם", ""],
        "reference_contexts": ["{'a': [1, 2]}"],
    },
    {
        "user_input": "مرحبا {question} [1]\u2028next",
        "response": "NA",
        "reference": " a, b; c\td ",
        "retrieved_contexts": ["=SUM(A1:A3)", "[not json", "true"],
        "reference_contexts": ["1e5", "null"],
    },
    {"user_input": "only a question, no answer", "retrieved_contexts": ["007"]},
    {"user_input": "东方航空公司主营业务", "response": "[INST] bracket", "reference": "-1", "note": "kept"},
]


def columns_of(samples: Iterable[Sample]) -> list[Mapping[str, Any]]:
    return [sample.columns for sample in samples]


def write_text(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def write_jsonl(path: Path, rows: Sequence[Row]) -> Path:
    return write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write_json(path: Path, rows: Sequence[Row]) -> Path:
    return write_text(path, json.dumps(rows, ensure_ascii=False, indent=1))


def in_cells(rows: Sequence[Row]) -> list[list[str]]:
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[row.get(name, "") for name in names] for row in rows]
    return [names, *[[json.dumps(cell) if isinstance(cell, list) else cell for cell in row] for row in cells]]


def write_csv(path: Path, rows: Sequence[Row]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",").writerows(in_cells(rows))
    return path


def write_xlsx(path: Path, rows: Sequence[Row]) -> Path:
    return write_cells(path, in_cells(rows))


def write_cells(path: Path, rows: Sequence[Sequence[Any]]) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for cell in (cell for row in book.active.iter_rows() for cell in row if cell.data_type == "f"):
        cell.data_type = "s"  # '=1+1' is text
    book.save(path)
    return path


def write_xlsx_with_pandas(path: Path, rows: Sequence[Row]) -> Path:
    header, *cells = in_cells(rows)
    texts = {"options": {"strings_to_formulas": False}}
    pandas.DataFrame(cells, columns=header).to_excel(path, index=False, engine="xlsxwriter", engine_kwargs=texts)
    return path


def write_parquet(path: Path, rows: Sequence[Row]) -> Path:
    pyarrow.parquet.write_table(arrow_table(rows), path)
    return path


def write_folder(path: Path, rows: Sequence[Row]) -> Path:
    datasets.Dataset(arrow_table(rows)).save_to_disk(str(path))
    return path


def arrow_table(rows: Sequence[Row]) -> pyarrow.Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pyarrow.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])


FILES: list[tuple[str, Callable[[Path, Sequence[Row]], Path]]] = [
    ("data.jsonl", write_jsonl),
    ("data.ndjson", write_jsonl),
    ("data.json", write_json),
    ("data.csv", write_csv),
    ("data.tsv", write_csv),
    ("data.xlsx", write_xlsx),
    ("pandas.xlsx", write_xlsx_with_pandas),
    ("data.parquet", write_parquet),
    ("folder", write_folder),
]
