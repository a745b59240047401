"""`rag-evaluator report`: where the file goes, and what is refused before it is written."""

from pathlib import Path

import pytest
from aliases import Capture
from folders import error_of

from rag_evaluator import RAGEvaluator, write_report
from rag_evaluator.cli.main import main

ROWS = [{"user_input": f"q{n}", "response": "Tesk", "reference": "Tesk"} for n in range(2)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with finished runs in `a` and `b`, and one in `other` over other questions."""
    for name, rows in (("a", ROWS), ("b", ROWS[::-1]), ("other", [{**ROWS[0], "user_input": "else"}])):
        settings = {"metrics": ["exact_match"], "name": name, "report": False}
        RAGEvaluator(settings).evaluate(rows, folder=tmp_path / name)
    (tmp_path / "scores.csv").write_text("a\n1\n", "utf-8")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (["a"], "a/report.html"),
        (["a", "b"], "report.html"),
        (["a", "--out", "new/x.html"], "new/x.html"),
        (["b", "a", "--on", "question", "--out", "x.html"], "x.html"),
    ],
)
def test_the_report_goes_where_it_belongs(folder: Path, arguments: list[str], path: str, capsys: Capture) -> None:
    assert main(["report", *arguments]) == 0
    assert f"written: {path} (" in capsys.readouterr().out
    assert "<!doctype html>" in (folder / path).read_text("utf-8")
    assert write_report(*arguments[:1], out="again.html") == Path("again.html")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["a", "nowhere"], "nowhere: no such folder."),
        (["empty"], "empty: no scores here (scores.jsonl is missing)."),
        (["scores.csv"], "scores.csv: no such folder. Give the results folder of a run"),
        (["a", "--out", "empty"], "empty: cannot be written: "),
        (["a", "other"], "a and other have no row in common"),
        (["a", "b", "--on", "topic"], "no row has something in 'topic'"),
    ],
)
def test_what_cannot_be_reported_is_refused_and_nothing_is_written(
    folder: Path, arguments: list[str], expected: str, capsys: Capture
) -> None:
    assert expected in error_of(capsys, "report", *arguments)
    assert list(folder.rglob("*.html")) == []


def test_a_run_that_is_not_finished_has_no_report_yet(folder: Path, capsys: Capture) -> None:
    [note] = (folder / "a").glob("journal/g*/merged.json")
    note.unlink()
    assert "a: this run is not finished: its result files have not been written." in error_of(capsys, "report", "a")
