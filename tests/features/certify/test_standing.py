"""A certificate is named where it holds: the same judge, prompts and language; other data are said."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aliases import Capture
from folders import error_of, output_of, run_command, write_lines

from rag_evaluator.features.certify.standing import FORMAT, sealed, standing, with_labels

LINE = "metric:faithfulness|rag-evaluator:0.1.0|ragas:0.4.3|language:english|prompts:p1|judge:j1|dtype:auto"
VERDICT = {"word": "useful", "reason": "AUC 0.9"}
FIGURES = {"label_mean": 0.5, "ci_low": 0.4, "ci_high": 0.6}


def certificate(**changes: Any) -> dict[str, Any]:
    metrics = {"faithfulness": {"signature": LINE, "label_mean": FIGURES, "verdict": VERDICT}}
    return sealed({"certificate": FORMAT, "data": "d1", "metrics": metrics, **changes})


CASES = {
    "the same": (LINE, "d1", "certified on these rows"),
    "other data": (LINE, "d2", "certified on other data"),
    "another language": (
        LINE.replace("english", "german").replace("p1", "p2"),
        "d2",
        "does not apply: it is of language english instead of german",
    ),
    "another judge": (LINE.replace("j1", "j2"), "d1", "does not apply: it is of judge j1 instead of j2"),
    "another dtype": (
        LINE.replace("auto", "bfloat16"),
        "d1",
        "does not apply: it is of dtype auto instead of bfloat16",
    ),
    "no reasons": (LINE + "|reasons:none", "d1", "does not apply: it is of reasons full instead of none"),
    "an older run": (LINE + "|checks:none", "d1", "does not apply: it is of checks absent instead of none"),
    "other prompts": (LINE.replace("p1", "p2"), "d1", "does not apply: it is of other prompts"),
    "another ragas": (LINE.replace("0.4.3", "0.4.4"), "d1", "certified with ragas 0.4.3 instead of 0.4.4"),
    "more repeats": (LINE + "|repeats:5", "d1", "certified on these rows"),
    "no name": (LINE.replace("j1", "(unnamed)"), "d1", "does not apply: a judge without a name"),
}


@pytest.mark.parametrize(("line", "data", "said"), CASES.values(), ids=CASES)
def test_a_certificate_says_for_what_it_holds(line: str, data: str, said: str) -> None:
    assert said in standing(certificate(), "faithfulness", line, data)


def test_a_metric_that_nobody_labelled_is_not_certified() -> None:
    assert standing(certificate(), "context_recall", LINE, "d1") == "no labels"


@pytest.mark.parametrize(
    ("line", "data", "holds"), [(LINE, "d1", True), (LINE, "d2", False), (LINE + "x", "d1", False)]
)
def test_mean_labels_stay_with_the_scores_that_were_certified(line: str, data: str, holds: bool) -> None:
    old = {"faithfulness": {"mean": 0.5, "labels": {"label_mean": 0.1}}}
    run: Any = SimpleNamespace(data=data, manifest={"signatures": {"faithfulness": line}}, summary=old)
    expected = {"mean": 0.5, "labels": FIGURES} if holds else {"mean": 0.5}
    assert with_labels(run, certificate()) == {"faithfulness": expected}


def test_a_run_names_its_certificate_or_stops_before_judging(tmp_path: Path, capsys: Capture) -> None:
    answers = ["yes"] * 20 + ["no"] * 20
    rows = [{"response": answer, "reference": "yes", "human": int(answer == "yes")} for answer in answers]
    write_lines(tmp_path / "rows.jsonl", rows)
    config = tmp_path / "config.yaml"
    config.write_text("name: run\ndataset: rows.jsonl\nmetrics: [exact_match]\n", "utf-8")
    run_command(config)
    run_command("certify", tmp_path / "results" / "run", "--label", "exact_match=human")
    named = ["--set", "certificate=results/run/certificate.json"]
    shown = output_of(capsys, config, *named)
    assert "exact_match: certified on these rows: useful" in shown
    assert "exact_match: mean label 0.50 [" in shown
    assert "was complete already" in shown
    write_lines(tmp_path / "rows.jsonl", rows[1:])
    assert "exact_match: certified on other data" in output_of(capsys, config, *named, "--update")
    assert "'certificate'" in error_of(capsys, config, "--set", "certificate=nowhere.json")


def test_a_certificate_does_not_apply_where_the_judges_work_is_flagged_much_more_often() -> None:
    line = certificate()["metrics"]["faithfulness"]["signature"]
    for flagged, applies in ((0.05, True), (0.5, False)):
        words = standing(certificate(), "faithfulness", line, "d1", flagged)
        assert ("does not apply: the judge's work is doubtful in 50% of the rows here" not in words) == applies
