"""`testset check`: a judge that knows finds what was planted in a set of people's rows, and accuses no other."""

import json
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import JudgementError, ScriptedJudge
from rag_evaluator.cli.main import main
from rag_evaluator.judge import source_of
from tests.features.testset.testset_world import LANGUAGES, TOWNS, Knowing, length_of, text_of

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def rows_of(language: str) -> list[dict[str, Any]]:
    """A good row for each town that no planted fault is about."""
    words = LANGUAGES[language]
    return [
        {
            "id": town,
            "user_input": words.question.format(town=town),
            "reference": words.answer.format(length=length_of(town)),
            "reference_contexts": [text_of(town, language)],
        }
        for town in TOWNS
        if town not in ("Velt", "Pardo")
    ]


def check(folder: Path, monkeypatch: Patch, rows: Any, language: str, judge: ScriptedJudge | None = None) -> int:
    """The exit code of the command, in a folder of its own, with a judge that knows everything."""
    knowing = judge or Knowing(language).judge()
    monkeypatch.setattr("rag_evaluator.tasks.question.source_of", lambda given, *about: source_of(knowing, *about))
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    Path("config.yaml").write_text(f"metrics: [faithfulness]\nname: out\nlanguage: {language}\n")
    return main(["testset", "check", "rows.jsonl", "--config", "config.yaml", "--fresh"])


def findings() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("results/out/testset_check.jsonl").read_text("utf-8").splitlines()]


def flags() -> dict[str, list[str]]:
    return {finding["id"]: sorted(finding["flags"]) for finding in findings() if finding["flags"]}


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_planted_fault_is_found_and_nothing_else(
    tmp_path: Path, monkeypatch: Patch, capsys: Capture, language: str
) -> None:
    rows, words = rows_of(language), LANGUAGES[language]
    assert check(tmp_path / "clean", monkeypatch, rows, language) == 0
    assert (f"0 of {len(rows)} rows are flagged" in capsys.readouterr().out, flags()) == (True, {})
    by_id = {row["id"]: row for row in rows}
    by_id["Arlen"]["reference"], by_id["Tesk"]["reference"] = by_id["Tesk"]["reference"], by_id["Arlen"]["reference"]
    by_id["Corvania"]["user_input"] = words.width.format(town="Corvania")
    by_id["Melund"]["reference"] = by_id["Melund"]["user_input"].upper()
    rows.append({**by_id["Quiral"], "id": "again"})
    rows.append({**by_id["Sonna"], "id": "known", "user_input": words.question.format(town="Pardo")})
    rows[-1]["reference"] = words.answer.format(length=length_of("Pardo"))
    rows[-1]["reference_contexts"] = [text_of("Pardo", language)]
    assert check(tmp_path / "faulty", monkeypatch, rows, language) == 1
    assert flags() == {
        "Arlen": ["wrong_reference"],
        "Tesk": ["wrong_reference"],
        "Corvania": ["not_answerable"],
        "Melund": ["copied", "wrong_reference"],
        "again": ["duplicate"],
        "known": ["too_easy"],
    }


def test_a_row_that_cannot_be_checked_has_its_reason_and_no_flag(tmp_path: Path, monkeypatch: Patch) -> None:
    def failing(prompt: str, response_model: type) -> dict[str, Any]:
        raise JudgementError("the judge is silent")

    row = rows_of("english")[0]
    rows = [row, {**row, "reference": ""}, {**row, "reference_contexts": []}, {**row, "user_input": " "}]
    assert check(tmp_path, monkeypatch, rows, "english") == 0
    lacking = ["no reference in this row", "no context in this row", "no question in this row"]
    assert [finding["reason"] for finding in findings()] == [None, *lacking]
    check(tmp_path, monkeypatch, rows, "english", ScriptedJudge(failing))
    assert [finding["reason"] for finding in findings()] == ["the judge is silent", *lacking]
    assert flags() == {}


def test_an_unanswerable_row_is_right_unless_a_context_answers_it(tmp_path: Path, monkeypatch: Patch) -> None:
    row = rows_of("english")[0]
    asked = LANGUAGES["english"].width.format(town="Arlen")
    silent = LANGUAGES["english"].silent.format(town="Arlen")
    fine = {**row, "id": "fine", "user_input": asked, "reference": silent, "answerable": False}
    assert check(tmp_path, monkeypatch, [{**row, "answerable": False}, fine], "english") == 1
    assert flags() == {"Arlen": ["wrong_reference"]}
