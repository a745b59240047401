"""Rows that look as if somebody meant them otherwise: marks that no cell has, lines of a log that count as rows."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from aliases import Rows
from folders import write_lines

from rag_evaluator import RAGEvaluator, check
from rag_evaluator.dataset import doubts_of, open_dataset

QUESTION = "Where was Nolu Brak born?"
MARKED: Rows = [{"question": QUESTION, "found": "In Tesk.\nHe likes tea."}, {"question": "Who?", "found": "Nolu Brak."}]
LINES: Rows = [
    {"question": QUESTION, "chunk": "He likes tea.", "points": 0.4, "reference": "Tesk"},
    {"question": QUESTION, "chunk": "He was born in Tesk.", "points": 0.8, "reference": "Tesk"},
]
JOINED: Rows = [{"question": f"Where is {town}?", "contexts": f"{town}.|By the river."} for town in ("Tesk", "Harn")]
PARTED: Rows = [{**row, "contexts": str(row["contexts"]).replace("|", "\n\n")} for row in JOINED]
LOG = {"chunk": "retrieved_contexts", "points": "document_score"}


def written(rows: Rows, folder: Path) -> Path:
    """As CSV, where a cell may hold a list or a text."""
    path = folder / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        cells = (
            {name: json.dumps(cell) if isinstance(cell, list) else cell for name, cell in row.items()} for row in rows
        )
        writer.writerows(cells)
    return path


@pytest.mark.parametrize(
    ("rows", "columns", "words"),
    [
        (MARKED, {"found": "retrieved_contexts[||]"}, "no cell of 'found' has the mark '||'"),
        (MARKED, {"found": "retrieved_contexts[\n]"}, None),
        (MARKED, {"found": "retrieved_contexts"}, None),
        (JOINED, {}, "'contexts' hold '|' (2 of 2)"),
        (JOINED, {"contexts": "reference_contexts"}, 'columns: {"contexts": "reference_contexts[|]"}'),
        (JOINED, {"contexts": "retrieved_contexts[|]"}, None),
        (PARTED, {}, 'a blank line separates contexts, write columns: {"contexts": "retrieved_contexts[\\n\\n]"}'),
        (PARTED, {"contexts": "retrieved_contexts[\n\n]"}, None),
        ([*MARKED, {"question": "Where?", "found": "A|B"}], {"found": "retrieved_contexts"}, None),
        ([{**row, "contexts": [row["contexts"]]} for row in JOINED], {}, None),
        (LINES, LOG, "rename 'chunk' to reference"),
        (LINES, {"chunk": "retrieved_contexts"}, "rename 'chunk' to reference"),
        (LINES[:1], LOG, None),
        ([{**row, "answer": f"In Tesk, {place}."} for place, row in enumerate(LINES)], {"chunk": LOG["chunk"]}, None),
        ([{**row, "chunk": [row["chunk"], "Tesk."]} for row in LINES], {"chunk": LOG["chunk"]}, None),
    ],
)
def test_what_rows_look_like(rows: Rows, columns: dict[str, str], words: str | None, tmp_path: Path) -> None:
    found = list(doubts_of(open_dataset(written(rows, tmp_path), columns), columns))
    assert len(found) == (words is not None)
    assert words is None or words in found[0]


@pytest.mark.parametrize("suffix", ["list", ".jsonl", ".csv"])
def test_a_null_among_contexts_and_half_a_surrogate_pair_stop_no_row_and_are_reported(
    suffix: str, tmp_path: Path
) -> None:
    rows: Rows = [
        {"question": "a \ud83d\ude00", "contexts": ["c", None, "", "d"]},
        {"question": "b \ud83d", "contexts": ["\udc00 c"]},
        {"question": "c", "contexts": [None]},
        {"question": "d", "contexts": []},
    ]
    source: Any = rows if suffix == "list" else tmp_path / f"rows{suffix}"
    if suffix == ".jsonl":
        write_lines(source, rows)
    if suffix == ".csv":
        rows[1]["question"] = "b \ufffd"
        source = written([{**row, "question": row["question"].replace("\ud83d\ude00", "😀")} for row in rows], tmp_path)
    samples = open_dataset(source)
    samples.check_readable(["user_input", "retrieved_contexts"])
    assert [sample.columns["user_input"] for sample in samples] == ["a 😀", "b \ufffd", "c", "d"]
    assert [sample.columns.get("retrieved_contexts") for sample in samples] == [["c", "", "d"], ["\ufffd c"], None, []]
    null, damaged = doubts_of(samples, {})
    assert null.startswith("2 of the first 4 rows have a null among their contexts, which is left out: ")
    assert null.endswith(f"{samples[0].where}, {samples[2].where}")
    assert damaged.startswith("1 of the first 4 rows hold U+FFFD")
    assert damaged.endswith(f": {samples[1].where}")


def test_check_and_run_say_it(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    config = {"columns": LOG, "metrics": ["exact_match"], "name": "lines"}
    rows = written([{**row, "response": "Tesk"} for row in LINES], tmp_path)
    found = {entry.name: entry for entry in check(config, data=rows).checks}
    assert found["columns"].state == "warning"
    assert "each line counts as a row" in found["columns"].text
    caplog.clear()
    RAGEvaluator(config).evaluate(rows)
    assert any("each line counts as a row" in record.message for record in caplog.records)
