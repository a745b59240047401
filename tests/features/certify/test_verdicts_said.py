"""What labels show of a judge is said in the same words by certify, certificate, report, evaluate and compare."""

import json
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture
from folders import output_of, run_command, write_lines
from labelled_runs import exact_rows, exact_run, graded_run

from rag_evaluator import ResultsError, certify, compare, gate, write_report
from rag_evaluator.features.certify.standing import CERTIFICATE, read_certificate, standing_lines, with_labels
from rag_evaluator.report import figures_html
from rag_evaluator.results import Run

PEOPLE = {  # exact_match is 1 for the first 20 rows
    "useful": [1] * 20 + [0] * 20,
    "worse than chance": [0] * 18 + [1] * 20 + [0, 0],
    "better than chance, quality not settled": [1] * 16 + [0] * 4 + [1] * 4 + [0] * 16,
    "not shown": [1, 0] * 20,
    "too few labels": [1] * 37 + [0] * 3,
}


def run_with(folder: Path, people: list[int], **config: Any) -> Path:
    rows = [{**row, "human": label} for row, label in zip(exact_rows(), people, strict=True)]
    return exact_run(folder, rows, **config)


@pytest.mark.parametrize(("word", "people"), PEOPLE.items(), ids=PEOPLE)
def test_the_same_word_is_used_everywhere(tmp_path: Path, capsys: Capture, word: str, people: list[int]) -> None:
    folder = run_with(tmp_path / "run", people)
    run_command("certify", folder, "--label", "exact_match=human")
    capsys.readouterr()
    found = read_certificate(folder / CERTIFICATE)["metrics"]["exact_match"]["verdict"]
    assert found["word"] == word
    reason = found["reason"]
    said = f"certified on these rows: useful, {reason}" if word == "useful" else f"{word} on these rows: {reason}"
    line = standing_lines(folder / CERTIFICATE, folder)[1]
    assert line.startswith(f"  exact_match: {said}")
    said = line.removeprefix("  exact_match: ")
    assert word != "useful" or said in figures_html(Run(folder))
    doubt = f"{folder}: Do not rely on exact_match: a certificate says {said}."
    assert (doubt in compare(folder, exact_run(tmp_path / "other")).caveats) == (word == "worse than chance")


def test_a_verdict_that_was_edited_is_not_used(tmp_path: Path) -> None:
    folder = run_with(tmp_path / "run", PEOPLE["not shown"])
    certify(folder, label={"exact_match": "human"})
    path = folder / CERTIFICATE
    assert "not shown on these rows" in standing_lines(path, folder)[1]
    certificate = json.loads(path.read_bytes())
    certificate["metrics"]["exact_match"]["verdict"]["word"] = "useful"
    path.write_text(json.dumps(certificate), "utf-8")
    assert "the certificate does not apply: its file was changed after certify wrote it" in figures_html(Run(folder))
    assert "labels" not in with_labels(Run(folder), certificate)["exact_match"]


@pytest.mark.parametrize("word", ["useful", "worse than chance"])
def test_evaluate_says_certified_of_a_useful_judge_only(tmp_path: Path, capsys: Capture, word: str) -> None:
    folder = run_with(tmp_path / "run", PEOPLE[word])
    certify(folder, label={"exact_match": "human"})
    rows = [{**row, "human": label} for row, label in zip(exact_rows(), PEOPLE[word], strict=True)]
    write_lines(tmp_path / "rows.jsonl", rows[:30])
    (tmp_path / "config.yaml").write_text(
        f"name: again\ndataset: rows.jsonl\nmetrics: [exact_match]\ncertificate: {folder / CERTIFICATE}\n", "utf-8"
    )
    shown = output_of(capsys, tmp_path / "config.yaml").replace(str(tmp_path), "")
    said = "certified on other data: useful, AUC 1.000" if word == "useful" else f"{word} on other data: AUC 0."
    assert f"exact_match: {said}" in shown
    assert ("certified" in shown) == (word == "useful")
    doubt = "Do not rely on exact_match: a certificate says worse than chance on "
    assert shown.startswith(f"{doubt}other data: AUC 0.") == (word != "useful")
    for of in (folder, tmp_path / "results" / "again"):
        passed, *others = output_of(capsys, "gate", of, "--min", "exact_match=0.2").splitlines()
        assert passed.startswith("Passed: exact_match: ")
        said = f"{doubt}{'these rows' if of == folder else 'other data'}"
        assert any(line.startswith(said) for line in others) == (word != "useful")


def test_a_gate_says_what_a_certificate_says_against_the_baseline(tmp_path: Path, capsys: Capture) -> None:
    base = run_with(tmp_path / "base", PEOPLE["worse than chance"])
    run = exact_run(tmp_path / "run")
    certify(base, label={"exact_match": "human"})
    shown = output_of(capsys, "gate", run, "--fail-if-worse", base)
    assert f"{base}: Do not rely on exact_match: a certificate says worse than chance" in shown


@pytest.mark.parametrize("language", ["english", "spanish"])
def test_a_certificate_applies_to_the_judge_in_its_language_only(tmp_path: Path, language: str) -> None:
    certify(graded_run(tmp_path / "run"), label={"answer_rubric": "human"})
    path = str(tmp_path / "run" / CERTIFICATE)
    other = graded_run(tmp_path / "other", exact_rows(60), language=language, certificate=path)
    [sentence] = gate(other, "answer_rubric >= 0.1").conclusion.sentences
    assert ("according to this judge" in sentence) == (language == "spanish")


def test_the_verdict_is_by_the_95_per_cent_interval_whatever_the_run_reports(tmp_path: Path) -> None:
    """At 50 % the low end would be above 0.70."""
    folder = run_with(tmp_path / "run", PEOPLE["better than chance, quality not settled"], ci_level=0.5)
    part = certify(folder, label={"exact_match": "human"}).certificate["metrics"]["exact_match"]
    assert part["binary"]["auc"]["ci_low"] > 0.7
    assert part["verdict"]["word"] == "better than chance, quality not settled"


def test_a_certificate_of_another_version_is_not_used(tmp_path: Path) -> None:
    folder = run_with(tmp_path / "run", PEOPLE["useful"])
    certify(folder, label={"exact_match": "human"})
    path = folder / CERTIFICATE
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "certificate": 1}), "utf-8")
    with pytest.raises(ResultsError, match=r"no certificate of this version\. .*certify .* writes one"):
        read_certificate(path)


@pytest.mark.charts
def test_the_report_says_that_a_certificate_cannot_be_read(tmp_path: Path) -> None:
    folder = exact_run(tmp_path / "run")
    (folder / CERTIFICATE).write_text("damaged")
    page = write_report(folder, force=True).read_text("utf-8")
    assert "<p>The certificate cannot be read. Run certify again.</p>" in page
    assert "Nobody has checked" not in page
    assert str(tmp_path) not in page
