"""The report that each evaluation writes beside its scores."""

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, Patch
from folders import error_of, results_of, run_command, write_config

from rag_evaluator import ResultsError
from rag_evaluator.cli.main import main
from rag_evaluator.scorer import Scorer

ROWS = [{"user_input": f"q{n}", "response": "Tesk", "reference": "Tesk" if n else "Harn"} for n in range(20)]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path, ROWS, "metrics: [exact_match]")


@pytest.fixture
def scored(monkeypatch: Patch) -> list[str]:
    """The metrics of the scores that are made, one after the other."""
    made: list[str] = []
    score = Scorer.score

    async def noted(self: Scorer, sample: Any, metric: str, repeat: int = 0) -> Any:
        made.append(metric)
        return await score(self, sample, metric, repeat)

    monkeypatch.setattr("rag_evaluator.scorer.Scorer.score", noted)
    return made


def report_of(config: Path) -> Path:
    return results_of(config) / "report.html"


def fails(error: Exception) -> Callable[..., None]:
    def write(folders: Sequence[Path], out: Path, comparison: Any = None) -> None:
        raise error

    return write


def test_a_report_is_written_with_the_scores(config: Path) -> None:
    run_command(config)
    assert "<!doctype html>" in report_of(config).read_text("utf-8")
    [note] = report_of(config).parent.glob("journal/g*/merged.json")
    assert "report.html" in json.loads(note.read_bytes())["files"]


def test_no_report_is_written_where_none_is_wanted_and_one_that_is_there_stays(config: Path) -> None:
    run_command(config, "--set", "report=false")
    assert not report_of(config).exists()
    report_of(config).write_text("somebody's", "utf-8")
    run_command(config, "--set", "report=false", "--set", "ci_level=0.9")
    assert report_of(config).read_text("utf-8") == "somebody's"


def test_a_report_is_added_to_a_finished_run_without_judging(config: Path, scored: list[str]) -> None:
    run_command(config, "--set", "report=false")
    run_command(config)
    assert report_of(config).is_file()
    assert len(scored) == len(ROWS)


def test_a_report_that_was_deleted_is_written_again_without_judging(config: Path, scored: list[str]) -> None:
    run_command(config)
    before = report_of(config).read_bytes()
    for command in (["merge", str(report_of(config).parent)], [str(config)]):
        report_of(config).unlink()
        assert main(command) == 0
        assert report_of(config).read_bytes() == before
    assert len(scored) == len(ROWS)
    written = report_of(config).stat().st_mtime_ns
    run_command(config)
    assert report_of(config).stat().st_mtime_ns == written, "a run that has its report was written again"


@pytest.mark.parametrize("error", [ResultsError("disk: cannot be written"), ValueError("a chart was no chart")])
def test_a_report_that_cannot_be_written_loses_no_score_and_says_why(
    config: Path, monkeypatch: Patch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    with monkeypatch.context() as broken, caplog.at_level(logging.WARNING):
        broken.setattr("rag_evaluator.report.write_document", fails(error))
        run_command(config)
    assert str(error) in caplog.text
    assert f"To try again: rag-evaluator report {report_of(config).parent}" in caplog.text
    assert (report_of(config).parent / "scores.jsonl").is_file()
    assert not report_of(config).exists()
    run_command(config)
    assert report_of(config).is_file(), "the next start did not try again"


def test_a_report_of_somebody_else_is_not_replaced(config: Path, capsys: Capture) -> None:
    report_of(config).parent.mkdir(parents=True)
    report_of(config).write_text("mine", "utf-8")
    assert "holds report.html, which this program did not write" in error_of(capsys, config)
    assert report_of(config).read_text("utf-8") == "mine"
