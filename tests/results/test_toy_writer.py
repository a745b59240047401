"""A result file is a row of `WRITERS`: nothing else knows its name."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rag_evaluator import Results, load_dataset
from rag_evaluator.cli.main import main
from rag_evaluator.results import WRITERS, Add, Heading, Row, Score

NAME = "best.txt"


@contextmanager
def best_row(path: Path, heading: Heading) -> Iterator[Add]:
    """Toy writer: columns, number of rows, and where the last metric is highest."""
    best, count = (-1.0, -1), 0

    def add(scored: Row) -> None:
        nonlocal best, count
        best, count = max(best, (scored.scores[heading.metrics[-1]].value, scored.sample.index)), count + 1

    yield add
    path.write_text(f"{','.join(heading.columns)} {count} {best[1]} {heading.manifest['name']}", encoding="utf-8")


def two_rows() -> Results:
    samples = load_dataset([{"user_input": "a"}, {"user_input": "b"}])
    return Results(samples, {"m": [Score(0.25), Score(0.75)]}, {}, {"name": "run"})


@pytest.fixture
def config(tmp_path: Path) -> Path:
    rows = [{"response": f"Born on day {day}.", "reference": "Born on day 3."} for day in range(6)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "config.yaml").write_text(
        "name: run\ndataset: rows.jsonl\nmetrics: [exact_match]\nchunk_size: 2\n", encoding="utf-8"
    )
    return tmp_path / "config.yaml"


def test_a_new_row_of_the_table_is_all_that_a_new_result_file_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(WRITERS, NAME, best_row)
    folder = two_rows().write(tmp_path)
    assert {path.name for path in folder.iterdir()} == set(WRITERS)
    assert (folder / NAME).read_text(encoding="utf-8") == "user_input,m 2 1 run"


def test_a_new_file_of_a_finished_run_is_there_once_its_results_are_written_again(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = config.parent / "results" / "run"
    assert main([str(config)]) == 0
    before = {name: (folder / name).read_bytes() for name in WRITERS}
    parts = [(path, path.stat().st_mtime_ns) for path in sorted(folder.rglob("parts/*"))]
    monkeypatch.setitem(WRITERS, NAME, best_row)
    assert main(["merge", str(folder)]) == 0
    assert (folder / NAME).read_text(encoding="utf-8") == "response,reference,exact_match 6 3 run"
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert [(path, path.stat().st_mtime_ns) for path in sorted(folder.rglob("parts/*"))] == parts  # nothing was scored
    (folder / NAME).unlink()  # from now on it belongs to the run
    capsys.readouterr()
    assert main([str(config)]) == 0
    assert "was complete already" not in "".join(capsys.readouterr())
    assert (folder / NAME).is_file()
