"""`testset check`: a judge that knows finds what was planted in a set of people's rows, and accuses no other."""

from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import CheckedTestset, check_testset
from tests.features.testset.testset_world import LANGUAGES, TOWNS, Knowing, Letters, length_of, text_of


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


def check(folder: Path, rows: Any, language: str) -> CheckedTestset:
    return check_testset(
        rows,
        judge=Knowing(language).judge(),
        embeddings=Letters(),
        language=language,
        config={"metrics": ["faithfulness"]},
        output_dir=folder / "out",
    )


def flags(checked: CheckedTestset) -> dict[str, list[str]]:
    return {finding["id"]: sorted(finding["flags"]) for finding in checked.findings if finding["flags"]}


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_planted_fault_is_found_and_nothing_else(tmp_path: Path, language: str) -> None:
    rows, words = rows_of(language), LANGUAGES[language]
    clean = check(tmp_path / "clean", rows, language)
    assert (clean.summary["checked"], clean.summary["flagged"], flags(clean)) == (len(rows), 0, {})
    by_id = {row["id"]: row for row in rows}
    by_id["Arlen"]["reference"], by_id["Tesk"]["reference"] = by_id["Tesk"]["reference"], by_id["Arlen"]["reference"]
    by_id["Corvania"]["user_input"] = words.width.format(town="Corvania")
    by_id["Melund"]["user_input"] = words.vague
    rows.append({**by_id["Quiral"], "id": "again"})
    rows.append({**by_id["Sonna"], "id": "known", "user_input": words.question.format(town="Pardo")})
    rows[-1]["reference"] = words.answer.format(length=length_of("Pardo"))
    rows[-1]["reference_contexts"] = [text_of("Pardo", language)]
    assert flags(check(tmp_path, rows, language)) == {
        "Arlen": ["wrong_reference"],
        "Tesk": ["wrong_reference"],
        "Corvania": ["not_answerable"],
        "Melund": ["ambiguous"],
        "again": ["duplicate"],
        "known": ["too_easy"],
    }


def test_a_row_that_cannot_be_checked_has_its_reason(tmp_path: Path) -> None:
    row = rows_of("english")[0]
    rows = [row, {**row, "reference": ""}, {**row, "reference_contexts": []}, {**row, "user_input": " "}]
    checked = check(tmp_path, rows, "english")
    reasons = [finding["reason"] for finding in checked.findings]
    assert reasons == [None, "no reference in this row", "no context in this row", "no question in this row"]
    assert checked.summary["checked"] == 1


def test_an_unanswerable_row_is_right_unless_a_context_answers_it(tmp_path: Path) -> None:
    row = rows_of("english")[0]
    asked = LANGUAGES["english"].width.format(town="Arlen")
    silent = LANGUAGES["english"].silent.format(town="Arlen")
    fine = {**row, "id": "fine", "user_input": asked, "reference": silent, "answerable": False}
    rows = [{**row, "answerable": False}, fine]
    assert flags(check(tmp_path, rows, "english")) == {"Arlen": ["wrong_reference"]}
