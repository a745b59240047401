"""Scores in a results folder that are not as they were written: whoever reads them refuses."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from aliases import Capture
from folders import error_of, is_there, run_command, write_lines
from labelled_runs import exact_rows, exact_run

from rag_evaluator import RAGEvaluator, ResultsError
from rag_evaluator.cli.main import main
from rag_evaluator.results import Run

Change = Callable[[Path], None]


def halved(folder: Path) -> None:
    lines = (folder / "scores.jsonl").read_text().splitlines(keepends=True)
    (folder / "scores.jsonl").write_text("".join(lines[: len(lines) // 2]))


def edited(folder: Path) -> None:
    path = folder / "scores.jsonl"
    path.write_text(path.read_text().replace('"exact_match": 0.0', '"exact_match": 1.0'))


def without_a_metric(folder: Path) -> None:
    summary = json.loads((folder / "summary.json").read_bytes())
    del summary["exact_match"]
    (folder / "summary.json").write_text(json.dumps(summary))


CHANGES: dict[str, Change] = {"half of the rows": halved, "a score": edited}
COMMANDS: dict[str, list[str]] = {
    "gate": ["gate", "RUN", "--min", "mean:exact_match=0"],
    "gate, baseline": ["gate", "OTHER", "--not-worse-than", "RUN", "--margin", "1"],
    "compare": ["compare", "OTHER", "RUN"],
    "certify": ["certify", "RUN", "--label", "exact_match=human"],
    "report": ["report", "RUN", "--out", "OUT"],
}
COMMANDS = {name: words for name, words in COMMANDS.items() if is_there(words)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("runs")
    exact_run(base / "run", metrics=["exact_match", "chrf_score"])
    return base


@pytest.fixture
def runs(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "runs")
    shutil.copytree(whole / "run", tmp_path / "runs" / "other")
    return tmp_path / "runs"


def call(runs: Path, words: list[str]) -> int:
    places = {"RUN": runs / "run", "OTHER": runs / "other", "OUT": runs / "out.html"}
    return main([str(places.get(word, word)) for word in words])


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
@pytest.mark.parametrize("words", COMMANDS.values(), ids=list(COMMANDS))
def test_scores_that_are_not_as_written_are_refused_with_the_file_and_the_command(
    words: list[str], change: Change, runs: Path, capsys: Capture
) -> None:
    change(runs / "run")
    assert call(runs, words) == 2
    said = capsys.readouterr().err
    assert f"{runs / 'run' / 'scores.jsonl'}: not as it was written: " in said
    assert f"'rag-evaluator merge {runs / 'run'}' writes it again" in said
    assert not (runs / "out.html").exists()


def test_pages_that_read_rows_refuse_them_too(runs: Path) -> None:
    edited(runs / "run")
    with pytest.raises(ResultsError, match=r"scores\.jsonl: not as it was written: it has been changed since"):
        list(Run(runs / "run").rows())


def test_a_metric_that_was_taken_out_of_the_summary_is_missed(runs: Path, capsys: Capture) -> None:
    without_a_metric(runs / "run")
    assert call(runs, ["gate", "RUN", "--not-worse-than", "OTHER", "--margin", "1"]) == 2
    assert "summary.json: not as it was written" in capsys.readouterr().err
    shutil.rmtree(runs / "run" / "journal")
    assert call(runs, ["gate", "RUN", "--not-worse-than", "OTHER", "--margin", "1"]) == 2
    assert "summary.json: not as it was written: it has the metrics" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl"])
def test_a_table_of_the_run_s_own_is_checked_against_the_manifest_beside_it(
    name: str, runs: Path, capsys: Capture
) -> None:
    path = runs / "run" / name
    run_command("gate", path, "--min", "mean:exact_match=0.5")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:21]))
    assert f"{path}: not as it was written" in error_of(capsys, "gate", path, "--min", "mean:exact_match=0.5")


def test_merge_writes_it_again(tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    write_lines(data, exact_rows())
    config = {"metrics": ["exact_match"], "dataset": str(data), "output_dir": str(tmp_path), "name": "run"}
    RAGEvaluator(config).run(tmp_path / "run")
    before = (tmp_path / "run" / "scores.jsonl").read_bytes()
    edited(tmp_path / "run")
    assert main(["gate", str(tmp_path / "run"), "--min", "mean:exact_match=0.9"]) == 2
    run_command("merge", tmp_path / "run")
    assert (tmp_path / "run" / "scores.jsonl").read_bytes() == before
    assert main(["gate", str(tmp_path / "run"), "--min", "mean:exact_match=0.9"]) == 1
