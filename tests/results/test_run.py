import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from folders import write_lines

from rag_evaluator import RAGEvaluator, ResultsError, load_dataset
from rag_evaluator.results import Run
from tests.dataset.data_files import FILES, TRICKY


@pytest.mark.parametrize("sizes", [[1], [2, 0, 3], [1] * 50, [0, 0, 7, 1, 0], [1, 300, 2]])
def test_the_details_of_every_row_are_found_whatever_their_sizes(tmp_path, sizes):
    path = tmp_path / "details.jsonl"
    expected = {}
    with path.open("w") as file:
        for row, count in enumerate(sizes):
            expected[row] = [{"row": row, "text": "x" * (37 * (row + part) % 211)} for part in range(count)]
            file.writelines(json.dumps(line) + "\n" for line in expected[row])

    found = {row: Run(tmp_path).details(row) for row in range(len(sizes) + 1)}

    assert found == {**expected, len(sizes): []}


def test_a_row_is_read_without_those_before_it(tmp_path):
    rows = [{"user_input": f"question {number}" * number} for number in range(9)]
    write_lines(tmp_path / "scores.jsonl", rows)
    (tmp_path / "manifest.json").write_text('{"program": ""}')
    run = Run(tmp_path)

    assert [run.row(number) for number in (8, 0, 4)] == [rows[8], rows[0], rows[4]]
    assert list(run.rows()) == rows
    with pytest.raises(IndexError):
        run.row(9)


def test_rows_of_a_run_are_kept_on_disk(tmp_path):
    rows = [{"user_input": f"question {number}" * 40, "m": 1.0} for number in range(5_000)]
    write_lines(tmp_path / "scores.jsonl", rows)
    (tmp_path / "manifest.json").write_text('{"program": "", "metrics": ["m"]}')
    (tmp_path / "summary.json").write_text('{"m": {"count": 5000}}')
    run = Run(tmp_path)
    run.manifest, run.summary  # noqa: B018  # read, as they are small

    tracemalloc.start()
    assert sum(run.scores["m"]) == len(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 600_000  # the rows are 3 MB


def test_a_damaged_file_is_named_with_the_remedy(tmp_path):
    (tmp_path / "scores.jsonl").write_text("{")
    (tmp_path / "manifest.json").write_text('{"program": ""}')
    with pytest.raises(ResultsError, match=r"scores\.jsonl: cannot be read.*merge"):
        Run(tmp_path).row(0)


@pytest.mark.parametrize("is_configured", [True, False])
@pytest.mark.parametrize(("name", "write"), FILES, ids=[name for name, _ in FILES])
def test_a_finished_run_has_the_columns_of_its_dataset(name, write: Any, is_configured, tmp_path: Path):
    path = write(tmp_path / name, TRICKY)
    config = {"metrics": ["exact_match"], **({"dataset": str(path)} if is_configured else {})}
    RAGEvaluator(config).evaluate(*([] if is_configured else [path])).write(tmp_path / "run")
    run = Run(tmp_path / "run")
    assert [sample.columns for sample in run.samples] == [sample.columns for sample in load_dataset(path)]
    assert [sample.digest for sample in run.samples] == run.digests
    assert run.config["dataset"] == str(path)
