import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import DatasetError, load_dataset
from rag_evaluator.dataset import ALIASES, Samples, check_columns, check_readable, open_dataset, row_names

ROOT = Path(__file__).parents[2]
LOG = [{"question": "q", "document_score": [0.1, 0.9], "reference": ["a", "b"]}, {"question": "r", "reference": ["c"]}]
ROWS: list[dict[str, Any]] = [
    {"question": "one", "contexts": ["a", ""], "answer": "x\u2028y", "n": 1},
    {"user_input": "two", "retrieved_contexts": ["b"], "response": "é", "reference": "", "extra": {"k": [1.5, None]}},
    {"question": "three", "ground_truths": ["t"], "flag": True},
]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\ufeff" + "\n\n".join(map(json.dumps, rows)) + "\r\n", encoding="utf-8")
    return path


def same(path: Path, columns: dict[str, str] | None = None) -> None:
    on_disk, loaded = open_dataset(path, columns), load_dataset(path, columns)
    assert isinstance(on_disk, Samples)
    assert list(on_disk) == loaded
    assert len(on_disk) == len(loaded)
    assert [sample.digest for sample in on_disk] == [sample.digest for sample in loaded]
    assert [on_disk[place] for place in range(-len(loaded), len(loaded))] == loaded + loaded
    assert list(on_disk[1:]) == loaded[1:]
    assert list(on_disk[::-1]) == loaded[::-1]
    assert list(on_disk[5:2]) == []
    assert row_names(on_disk) == row_names(loaded)
    with pytest.raises(IndexError):
        on_disk[len(loaded)]


@pytest.mark.parametrize("rows", [ROWS, LOG, ROWS * 200])
def test_samples_kept_on_disk_are_those_of_the_file(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    same(write(tmp_path / "rows.jsonl", rows))
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    same(tmp_path / "rows.json")


def test_samples_of_the_example_are_those_of_the_file() -> None:
    same(ROOT / "examples" / "dataset.jsonl")


def test_the_user_s_names_of_columns_count(tmp_path: Path) -> None:
    same(write(tmp_path / "rows.jsonl", [{"frage": "q", "reference": ["a"]}] * 3), {"frage": "user_input"})
    same(write(tmp_path / "rows.jsonl", LOG), {"reference": "retrieved_contexts"})


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('{"question": "a"}\n{"question": [5]}\n', {}),
        ('{"question": "a"}\n{"question": \n', {}),
        ('{"question": "a"}\n\xff\n', {}),
        ('{"question": "a", "reference": ["a", "b"]}\n{"question": "b", "reference": "c"}\n', {}),
        ('{"question": "a"}\n', {"none": "response"}),
        ('{"question": "a"}\n', {"question": "respons"}),
        ("\n\n", {}),
        ("", {}),
    ],
)
def test_bad_rows_are_told_in_the_same_words(text: str, columns: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(DatasetError) as expected:
        load_dataset(path, columns)
    with pytest.raises(DatasetError) as caught:
        check_readable(open_dataset(path, columns), ALIASES)
    assert str(caught.value) == str(expected.value)


def test_a_column_that_no_row_has_is_told_in_the_same_words(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", ROWS)
    messages = []
    for samples in (load_dataset(path), open_dataset(path)):
        with pytest.raises(DatasetError) as caught:
            check_columns(samples, {"m": ["reference_contexts"]}, "rows.jsonl")
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    peaks = []
    for count in (500, 5_000):
        path = write(
            tmp_path / f"{count}.jsonl", [{"response": f"text {n} " * 20, "reference": "r"} for n in range(count)]
        )
        tracemalloc.start()
        for sample in open_dataset(path):
            assert sample.columns["reference"] == "r"
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 400_000  # places of eight bytes, and what is read ahead; the rows are 1 MB
