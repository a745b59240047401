"""Samples are kept on disk: any of them can be read at any time, and memory does not grow with their number."""

import json
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from aliases import Json

from rag_evaluator.dataset import open_dataset

ROWS: list[Json] = [
    {"question": "one", "contexts": ["a", ""], "answer": "x\u2028y", "n": 1},
    {"user_input": "two", "retrieved_contexts": ["b"], "response": "é", "reference": "", "extra": {"k": [1.5, None]}},
    {"question": "three", "ground_truths": ["t"], "flag": True},
]


def write(path: Path, rows: list[Json]) -> Path:
    path.write_text("\ufeff" + "\n\n".join(map(json.dumps, rows)) + "\r\n", "utf-8")
    return path


@pytest.mark.parametrize("rows", [ROWS, ROWS * 2000], ids=["few", "many"])
def test_each_sample_can_be_read_again_in_any_order(rows: list[Json], tmp_path: Path) -> None:
    samples = open_dataset(write(tmp_path / "rows.jsonl", rows))
    assert [sample.row for sample in samples] == rows
    assert [sample.index for sample in samples] == list(range(len(rows)))
    assert [sample.row for sample in samples[::-1]] == rows[::-1]
    assert (samples[-1].row, samples[1].columns["response"], list(samples[5:2])) == (rows[-1], "é", [])
    assert list(samples.names) == list(dict.fromkeys(name for row in ROWS for name in row))
    assert samples.present == {"user_input", "retrieved_contexts", "response", "reference"}
    with pytest.raises(IndexError):
        samples[len(rows)]


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


def test_threads_that_read_the_same_samples_each_get_theirs(tmp_path: Path) -> None:
    samples = open_dataset(write(tmp_path / "rows.jsonl", [{"question": f"q{row}"} for row in range(200)]))
    expected = [sample.row for sample in samples]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            read = list(threads.map(lambda _: [sample.row for sample in samples], range(40)))
    finally:
        sys.setswitchinterval(before)
    assert read == [expected] * 40
