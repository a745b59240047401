"""Rows, labels and tiny models that the golden steps read; the same files for both trees."""

import csv
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow
import pyarrow.parquet
from transformers.utils import logging

from tools.architectures import OTHER_ATTENTION
from tools.random_models import Architecture, save_model
from tools.trees import ROOT

SPANISH = ROOT / "tools" / "golden_spanish.jsonl"
ROWS = 5  # that are sorted and answered, each with the contexts of NEIGHBOURS rows
NEIGHBOURS = 3
NLI = {"id2label": {0: "contradiction", 1: "entailment", 2: "neutral"}}
MODELS = {
    "plain": OTHER_ATTENTION["phimoe-window"],  # cannot be packed: it is decoded on the plain path
    "thinker": Architecture("Qwen3"),
    "verifier": Architecture("Roberta", head="ForSequenceClassification", settings=NLI),
}

Rows = list[dict[str, Any]]


def write_inputs(folder: Path) -> None:
    """Write all of them into a new folder."""
    sample = (ROOT / "examples" / "dataset.jsonl").read_text(encoding="utf-8").splitlines()
    rows: Rows = [json.loads(line) for line in sample]
    others = _other_answers(rows)
    twice = [{**row, "id": str(place), "weight": 1 + place % 3} for place, row in enumerate((*rows, *others))]
    labels = [{"id": row["id"], "context_recall": int(place % 3 != 0)} for place, row in enumerate(twice)]
    logging.disable_progress_bar()
    for name, architecture in MODELS.items():
        save_model(architecture, folder / name)
    (folder / "chat.jinja").write_text("{{ messages[0].content }}\nAssistant: ", encoding="utf-8")
    shutil.copy(SPANISH, folder / "spanish.jsonl")
    _write_lines(folder / "many_contexts.jsonl", _many_contexts(rows))
    _write_lines(folder / "other_answers.jsonl", others)
    _write_lines(folder / "twice.jsonl", twice)
    _write_table(folder / "labels.csv", labels, ",")
    _write_formats(folder, rows)


def fill_sheet(sheet: Path) -> None:
    """Label the rows of a sheet as a person does, some as not decided."""
    book = openpyxl.load_workbook(sheet)
    for cells in book.worksheets[0].iter_rows(min_row=2):
        row = cells[0].value
        cells[-1].value = None if row == 12 else ("yes", "no", "yes")[row % 3]
    book.save(sheet)


def _other_answers(rows: Rows) -> Rows:
    """The rows with every third answer exchanged, and a topic."""
    answers = [row["response"] for row in rows[1:] + rows[:1]]
    return [
        {**row, "response": answer if place % 3 == 0 else row["response"], "topic": "ab"[place % 2]}
        for place, (row, answer) in enumerate(zip(rows, answers, strict=True))
    ]


def _many_contexts(rows: Rows) -> Rows:
    """Questions without a reference; the contexts of their neighbours are added to their own."""
    return [
        {
            "user_input": rows[place]["user_input"],
            "retrieved_contexts": [
                text for row in rows[place : place + NEIGHBOURS] for text in row["retrieved_contexts"]
            ],
        }
        for place in range(ROWS)
    ]


def _write_formats(folder: Path, rows: Rows) -> None:
    """The same rows as users' files: other names of columns, text that needs care, columns of several types."""
    texts = [
        {
            "id": f"{place:03}",
            "question": f'"{row["user_input"]}"\nÄ; ü,\tß',
            "contexts": json.dumps(row["retrieved_contexts"]),
            "answer": ["", "007", "1.50", row["response"], row["reference"]][place % 5],
            "ground_truth": ["no", "007", "1.5", row["reference"], row["reference"]][place % 5],
        }
        for place, row in enumerate(rows)
    ]
    _write_table(folder / "rows.csv", texts, ";")
    book = openpyxl.Workbook()
    for cells in (texts[0].keys(), *(row.values() for row in texts)):
        book.active.append([int(cell) if cell == "007" else cell for cell in cells])
    book.save(folder / "rows.xlsx")
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pylist([{**row, "number": place / 3} for place, row in enumerate(rows)]),
        folder / "rows.parquet",
    )
    documents = [
        [{"page_content": text, "metadata": {"source": place}} for text in row["retrieved_contexts"]]
        for place, row in enumerate(rows)
    ]
    _write_lines(
        folder / "chain_log.jsonl",
        [
            {
                "query": row["user_input"],
                "result": row["response"],
                "source_documents": found,
                "reference": row["reference"],
            }
            for row, found in zip(rows, documents, strict=True)
        ],
    )
    mixed = [
        {
            **row,
            "response": [12, None, row["response"]][place % 3],
            "reference": [["12"], 0.5, row["reference"]][place % 3],
            "retrieved_contexts": [row["retrieved_contexts"], None, [], documents[place]][place % 4],
            "note": [["a", "b"], "a", {"a": None}, 1.5, None][place % 5],
        }
        for place, row in enumerate(rows)
    ]
    _write_lines(folder / "mixed.jsonl", mixed)


def _write_lines(path: Path, rows: Iterable[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _write_table(path: Path, rows: Rows, delimiter: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
