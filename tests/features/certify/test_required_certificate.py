"""A gate that requires a certificate: what passes, what fails, and what is missing."""

from pathlib import Path
from xml.etree import ElementTree

from aliases import Capture
from labelled_runs import exact_rows, graded_run

from rag_evaluator import certify, gate
from rag_evaluator.cli.main import main

METRIC = "answer_rubric"
RULE = "--min", f"{METRIC}=0.2"
REQUIRED = "--require-certificate"


def said(capsys: Capture, code: int, *words: object) -> str:
    assert main(["gate", *map(str, words)]) == code
    return capsys.readouterr().out


def test_a_run_fails_until_its_own_certificate_says_useful(tmp_path: Path, capsys: Capture) -> None:
    run = graded_run(tmp_path / "run")
    junit = tmp_path / "gate.xml"
    shown = said(capsys, 1, run, *RULE, REQUIRED, "--junit", junit)
    assert shown.startswith("Failed: 1 of 2 rules")
    assert f"there is no certificate; label rows, 'rag-evaluator certify sheet {run} --out to_label.xlsx'" in shown
    assert f"then 'rag-evaluator certify {run} --labels to_label.xlsx'" in shown
    [_, case] = ElementTree.parse(junit).iter("testcase")
    assert case.get("name") == f"{METRIC} needs a certificate"
    assert case.find("failure") is not None
    certify(run, label={METRIC: "human"})
    assert said(capsys, 0, run, *RULE, REQUIRED).startswith(f"Passed: all 2 rules; the closest is {METRIC}: 0.5")
    alone = said(capsys, 0, run, REQUIRED)
    assert alone.startswith(f"Passed: {METRIC}: certified on these rows: useful, AUC 0.9")
    assert "there is no certificate" in said(capsys, 1, run / "scores.csv", *RULE, REQUIRED)


def test_a_weaker_verdict_and_a_certificate_that_was_edited_or_is_of_another_judge_do_not_count(
    tmp_path: Path, capsys: Capture
) -> None:
    rows = [{**row, "any": place % 2} for place, row in enumerate(exact_rows())]
    run = graded_run(tmp_path / "run", rows)
    path = run / "certificate.json"
    certify(run, label={METRIC: "any"})
    assert f"{METRIC}: not certified: not shown on these rows: AUC 0.500" in said(capsys, 1, run, REQUIRED)
    certify(run, label={METRIC: "human"})
    path.write_text(path.read_text("utf-8").replace("useful", "Useful", 1), "utf-8")
    assert "its file was changed" in said(capsys, 1, run, REQUIRED)
    certify(run, label={METRIC: "human"})
    other = graded_run(tmp_path / "other", rows[1:], certificate=str(path))
    assert "certified on other data: useful" in said(capsys, 0, other, REQUIRED)
    asked_otherwise = graded_run(tmp_path / "more", rows, certificate=str(path), judge={"reasons": "none"})
    assert "not certified: the certificate does not apply: it is of" in said(capsys, 1, asked_otherwise, REQUIRED)


def test_the_rules_of_a_configuration_may_have_the_word(tmp_path: Path) -> None:
    verdicts = gate(graded_run(tmp_path / "run", require=[f"{METRIC} >= 0.2", "certificate"]))
    assert [(str(verdict.rule), verdict.passed) for verdict in verdicts] == [
        (f"{METRIC} >= 0.2", True),
        (f"{METRIC} needs a certificate", False),
    ]
    assert verdicts[1].to_json()["state"] == "failed"
