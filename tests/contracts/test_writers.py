"""What every writer of a result file keeps to: whole, readable, the same bytes each time, all files or none."""

import csv
import io
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import openpyxl
import pytest

from rag_evaluator import Results, ResultsError, load_dataset
from rag_evaluator.results import FILES, Score

TEXTS = [
    "say \"yes\", 'no'; {a}\\n",
    "one\ntwo\r\nthree\rfour",
    "=1+1",
    "😀 שלום 你好\u2028",
    "",
    "\x07 bell",
    "x" * 40_000,
]
each_file = pytest.mark.parametrize("name", FILES)


def results_of(texts: list[str]) -> Results:
    """Rows with these texts; every other one has no score of the first metric."""
    samples = load_dataset([{"user_input": text, "note": text, "response": f"row {n}"} for n, text in enumerate(texts)])
    first = [Score(math.nan, f"no: {text}") if n % 2 else Score(0.5, None, (0,)) for n, text in enumerate(texts)]
    columns = {"m": first, "n": [Score(n / len(texts)) for n in range(len(texts))]}
    return Results(samples, columns, {"m": "metric:m"}, {"name": "run"})


def no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def read_json(content: bytes) -> Any:
    return json.loads(content, parse_constant=no_number)


def read_lines(content: bytes) -> list[Any]:
    *lines, end = content.decode().split("\n")
    assert end == "", "the last line has its end"
    return [json.loads(line, parse_constant=no_number) for line in lines]


def read_csv(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline=""), strict=True))


READ: Mapping[str, Callable[[bytes], Any]] = {
    ".json": read_json,
    ".jsonl": read_lines,
    ".csv": read_csv,
    ".xlsx": lambda content: openpyxl.load_workbook(io.BytesIO(content)).sheetnames,
}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@each_file
def test_a_file_with_awkward_text_and_missing_scores_can_be_read_and_is_the_same_each_time(
    name: str, tmp_path: Path
) -> None:
    first, second = (results_of(TEXTS).write(tmp_path / folder) for folder in "ab")
    assert READ[Path(name).suffix]((first / name).read_bytes()) is not None
    assert (first / name).read_bytes() == (second / name).read_bytes()


@each_file
def test_a_file_that_cannot_be_written_leaves_all_files_as_they_were(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results_of(TEXTS).write(tmp_path)
    before = contents(tmp_path)

    def no_space(path: Path) -> None:
        if path.name == name:
            raise OSError("No space left on device")

    monkeypatch.setattr("rag_evaluator.results.writers.sync", no_space)
    with pytest.raises(ResultsError, match="No space left on device"):
        results_of(["other"]).write(tmp_path)
    assert contents(tmp_path) == before


@each_file
def test_a_file_of_somebody_else_is_not_replaced(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine", "utf-8")
    with pytest.raises(ResultsError, match=name):
        results_of(TEXTS).write(tmp_path)
    assert contents(tmp_path) == {name: b"mine"}
