"""`rag-evaluator certify` and `certify sheet`: what they print, write and exit with."""

import json
from pathlib import Path

import pytest
from aliases import Capture
from folders import error_of, output_of, results_of, run_command, write_config
from labelled_runs import exact_rows, exact_run, graded_run

from rag_evaluator import certify


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = exact_rows()
    rows[0]["question"] = "[bold]Who?[/bold] \x1b[31m=1"
    return exact_run(tmp_path_factory.mktemp("run") / "exact", rows)


def test_the_table_and_the_sentences_have_the_figures(run: Path, capsys: Capture) -> None:
    shown = output_of(capsys, "certify", run, "--label", "exact_match=human", "--threshold", "exact_match=0.5")
    assert "0.93 [" in shown
    first, second, following, *_ = shown.splitlines()
    useful = "The scores are useful for exact_match, but not shown to beat counting words: they rank an accepted row "
    assert first.startswith(f"{useful}above a rejected one in ")
    assert second.startswith("For exact_match the score does not beat counting words. AUC 0.93 [")
    assert first.endswith("of pairs, by 40 labels.")
    assert "93 % [" in first
    assert following == f"Next: rag-evaluator compare BASELINE {run}"
    assert "threshold 0.5 (fixed before): both accept 18, only the score 2, only people 1, both reject 19" in shown
    assert "mean label of rows like these 0.47 [" in shown
    assert "row r0: label 0, score 1  [bold]Who?[/bold] [31m=1" in shown
    assert f"written to {run / 'certificate.json'}" in shown
    assert "\x1b" not in shown


def test_grades_of_two_annotators_are_compared_with_the_judge_and_each_other(tmp_path: Path, capsys: Capture) -> None:
    run = graded_run(tmp_path / "run")
    names = ("anna", "bob")
    lines = ["row,answer_rubric", *(f"{place},{row['human'] * 4 + 1}" for place, row in enumerate(exact_rows()))]
    for name in names:
        (tmp_path / f"{name}.csv").write_text("\n".join(lines), "utf-8")
    labels = [word for name in names for word in ("--labels", tmp_path / f"{name}.csv")]
    shown = output_of(capsys, "certify", run, *labels, "--scale", "answer_rubric=1..5")
    assert "answer_rubric: Krippendorff's alpha of the annotators 1.00 in 40 rows" in shown
    assert "    label 1. as expected\n" in shown, "the judge's reason"


def test_a_row_is_called_as_evaluate_calls_it(
    tmp_path: Path, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{name: value for name, value in row.items() if name != "id"} for row in exact_rows()]
    run = exact_run(tmp_path / "run", rows)
    shown = output_of(capsys, "certify", run, "--label", "exact_match=human")
    assert "exact_match differs in row 1: label 0, score 1" in shown
    assert "row 0" not in shown
    lines = ["row,exact_match", *(f"{place},{row['human']}" for place, row in enumerate(rows))]
    (tmp_path / "labels.csv").write_text("\n".join(lines), "utf-8")
    assert "exact_match differs in row 1: " in output_of(capsys, "certify", run, "--labels", tmp_path / "labels.csv")
    assert "labels.csv: 'row' counts from 0, as in details.jsonl: row 0 is the row that is called 1" in caplog.text


def test_json_is_all_that_standard_output_has(run: Path, tmp_path: Path, capsys: Capture) -> None:
    out = ["--json", "--out", str(tmp_path / "c.json")]
    found = json.loads(output_of(capsys, "certify", run, "--label", "exact_match=human", *out))
    assert found["metrics"]["exact_match"]["compared"] == 40
    assert [found["disagreements"][0][key] for key in ("row", "name")] == [0, "r0"]
    assert found["conclusion"]["sentences"][0].startswith("The scores are useful for exact_match")


BAD: list[tuple[list[str], str]] = [
    (["certify", "RUN"], "no labels: give a table (--labels FILE)"),
    (["certify", "RUN", "--label", "exact_match"], "--label: expected METRIC=COLUMN"),
    (["certify", "RUN", "--label", "exact_match=human", "--threshold", "exact_match=high"], "expected METRIC=NUMBER"),
    (["certify", "nowhere", "--label", "exact_match=human"], "nowhere: no such folder"),
    (["certify", "sheet", "RUN", "--out", "s.xlsx"], "no judge made its scores"),
]


@pytest.mark.parametrize(
    ("arguments", "said"), BAD, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_bad_input_exits_with_two_and_one_line(run: Path, capsys: Capture, arguments: list[str], said: str) -> None:
    error = error_of(capsys, *(run if word == "RUN" else word for word in arguments))
    assert error.startswith("error: ")
    assert said in error
    assert "Traceback" not in error


def test_a_certificate_refreshes_the_report_and_the_run_stays_finished(tmp_path: Path, capsys: Capture) -> None:
    config = write_config(tmp_path, exact_rows(), "metrics: [exact_match]")
    run_command(config)
    report = results_of(config) / "report.html"
    before = report.stat().st_mtime_ns
    certify(report.parent, label={"exact_match": "human"})
    assert report.stat().st_mtime_ns > before
    shown = output_of(capsys, config)
    assert shown.count("report.html") == shown.count("report: ") == 1, "the run says that its report was changed"
