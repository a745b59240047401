"""`testset check`: a judge that knows finds what was planted in a set of people's rows, and accuses no other."""

import json
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, Patch
from folders import lines_of

from rag_evaluator import JudgementError, ScriptedJudge
from rag_evaluator.cli.main import main
from rag_evaluator.judge import source_of
from tests.features.testset.testset_world import LANGUAGES, TOWNS, Knowing, rows_of, write_rows

GOOD = [town for town in TOWNS if town not in ("Velt", "Pardo")]  # no planted fault is about them


def check(folder: Path, monkeypatch: Patch, rows: Any, language: str, judge: ScriptedJudge | None = None) -> int:
    """The exit code of the command, in a folder of its own, with a judge that knows everything."""
    knowing = judge or Knowing(language).judge()
    monkeypatch.setattr("rag_evaluator.tasks.question.source_of", lambda given, *about: source_of(knowing, *about))
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    write_rows(Path("rows.jsonl"), rows)
    Path("config.yaml").write_text(f"metrics: [faithfulness]\nname: out\nlanguage: {language}\n")
    return main(["testset", "check", "rows.jsonl", "--config", "config.yaml", "--fresh"])


def findings() -> list[dict[str, Any]]:
    return lines_of(Path("results/out/testset_check.jsonl"))


def flags() -> dict[str, list[str]]:
    return {finding["id"]: sorted(finding["flags"]) for finding in findings() if finding["flags"]}


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_planted_fault_is_found_and_nothing_else(
    tmp_path: Path, monkeypatch: Patch, capsys: Capture, language: str
) -> None:
    rows = rows_of(language, GOOD)
    words = LANGUAGES[language]
    assert check(tmp_path / "clean", monkeypatch, rows, language) == 0
    assert (f"0 of {len(rows)} rows are flagged" in capsys.readouterr().out, flags()) == (True, {})
    by_id = {row["id"]: row for row in rows}
    by_id["Arlen"]["reference"], by_id["Tesk"]["reference"] = by_id["Tesk"]["reference"], by_id["Arlen"]["reference"]
    by_id["Corvania"]["user_input"] = words.width.format(town="Corvania")
    by_id["Melund"]["reference"] = by_id["Melund"]["user_input"].upper()
    rows.append({**by_id["Quiral"], "id": "again"})
    rows += rows_of(language, ["Pardo"], id="known")
    assert check(tmp_path / "faulty", monkeypatch, rows, language) == 1
    assert flags() == {
        "Arlen": ["wrong_reference"],
        "Tesk": ["wrong_reference"],
        "Corvania": ["not_answerable"],
        "Melund": ["copied", "wrong_reference"],
        "again": ["duplicate"],
        "known": ["too_easy"],
    }
    again = "testset check rows.jsonl --config config.yaml --set limit=3 --update --json"
    capsys.readouterr()
    assert main(again.split()) == 1
    checked = json.loads(capsys.readouterr().out)
    assert (checked["rows"], checked["flags"]) == (3, {"wrong_reference": 2, "not_answerable": 1})


def test_a_row_that_cannot_be_checked_has_its_reason_and_no_flag(tmp_path: Path, monkeypatch: Patch) -> None:
    def failing(prompt: str, response_model: type) -> dict[str, Any]:
        raise JudgementError("the judge is silent")

    [row] = rows_of("english", ["Arlen"])
    rows = [row, {**row, "reference": ""}, {**row, "reference_contexts": []}, {**row, "user_input": " "}]
    assert check(tmp_path, monkeypatch, rows, "english") == 0
    lacking = ["no reference in this row", "no context in this row", "no question in this row"]
    assert [finding["reason"] for finding in findings()] == [None, *lacking]
    check(tmp_path, monkeypatch, rows, "english", ScriptedJudge(failing))
    assert [finding["reason"] for finding in findings()] == ["the judge is silent", *lacking]
    assert flags() == {}


def test_an_unanswerable_row_is_right_unless_a_context_answers_it(tmp_path: Path, monkeypatch: Patch) -> None:
    [row] = rows_of("english", ["Arlen"])
    asked = LANGUAGES["english"].width.format(town="Arlen")
    silent = LANGUAGES["english"].silent.format(town="Arlen")
    fine = {**row, "id": "fine", "user_input": asked, "reference": silent, "answerable": False}
    assert check(tmp_path, monkeypatch, [{**row, "answerable": False}, fine], "english") == 1
    assert flags() == {"Arlen": ["wrong_reference"]}
