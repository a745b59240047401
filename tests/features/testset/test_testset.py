"""Test sets: every filter leaves out what it should and nothing else, and everything left out has its reason."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from folders import lines_of

from rag_evaluator.cli.main import main
from rag_evaluator.dataset import open_dataset
from rag_evaluator.judge import source_of
from tests.features.testset.testset_world import (
    LANGUAGES,
    LEFT_OUT,
    TOWNS,
    Knowing,
    Letters,
    text_of,
    write_documents,
)

GOOD = [town for town in TOWNS if town not in LEFT_OUT]


@dataclass(frozen=True)
class Made:
    """What the command has written; `details` has what became of the candidate of each town."""

    folder: Path
    rows: list[dict[str, Any]]
    summary: Mapping[str, Any]
    details: Mapping[str, Mapping[str, Any]]


Make = Callable[..., Made]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes a test set of the towns by the command, with a judge that knows everything."""

    def lines(path: Path) -> list[dict[str, Any]]:
        return lines_of(path)

    def make(language: str = "english", **testset: Any) -> Made:
        judge = Knowing(language).judge()
        folder = tmp_path / "results" / "run"
        monkeypatch.setattr("rag_evaluator.tasks.question.source_of", lambda given, *about: source_of(judge, *about))
        monkeypatch.setattr("rag_evaluator.embeddings.load_embeddings", lambda *about: Letters())
        documents = str(write_documents(tmp_path / "documents", language))
        section = {"kinds": {"single_fact": 1}, "candidates": len(TOWNS), "size": len(TOWNS), **testset}
        config = {"metrics": ["faithfulness"], "language": language, "testset": {"documents": [documents], **section}}
        (tmp_path / "config.yaml").write_text(json.dumps(config), "utf-8")
        assert main(["testset", "make", str(tmp_path / "config.yaml")]) in (0, 1)
        slots = lines(folder / "testset_details.jsonl")
        details = {
            slot["made_from"][0]["document"].removesuffix(".txt") if slot["made_from"] else "Widmar": slot
            for slot in slots
        }
        summary = json.loads((folder / "testset_summary.json").read_bytes())
        return Made(folder, lines(folder / "testset.jsonl"), summary, details)

    return make


@pytest.mark.parametrize("language", LANGUAGES)
def test_planted_faults_are_found_and_nothing_else_is_left_out(make: Make, language: str) -> None:
    made = make(language)
    found = {town: slot["left_out_by"] for town, slot in made.details.items()}
    assert found == {town: LEFT_OUT.get(town) for town in TOWNS} | _one_of_two(found)
    assert made.summary["survived"] == len(made.rows) == len(GOOD)
    assert all(slot["reason"] for slot in made.details.values() if slot["left_out_by"])


def _one_of_two(found: Mapping[str, str | None]) -> dict[str, str | None]:
    """Of two equal questions the second one that was made is left out."""
    return {"Arlen": found["Arlen"], "Velt": found["Velt"]} if found["Velt"] is None else {}


def test_a_row_has_all_its_correct_contexts_and_where_they_are(make: Make) -> None:
    made = make()
    rows = {row["reference_places"][0]["document"]: row for row in made.rows}
    row = rows["Dorla.txt"]
    assert row["user_input"] == "How long is the bridge of Dorla near the old market?"
    assert row["reference_contexts"] == [text_of("Dorla", "english")]
    place = row["reference_places"][0]
    assert place == {"document": "Dorla.txt", "start": 0, "end": len(text_of("Dorla", "english")), "headings": []}
    assert (row["kind"], row["difficulty"], row["answerable"]) == ("single_fact", "medium", True)
    assert row["recall_known_within"] == 11


def test_another_chunk_that_supports_the_answer_is_a_correct_context(tmp_path: Path, make: Make) -> None:
    documents = write_documents(tmp_path / "documents", "english")
    again = f"A guide of the region says: {text_of('Dorla', 'english')}"
    (documents / "Guide.txt").write_text(again, "utf-8")
    made = make(candidates=13)
    (row,) = [row for row in made.rows if "Dorla" in row["user_input"]]
    assert sorted(row["reference_contexts"]) == sorted([text_of("Dorla", "english"), again])


def test_what_was_made_is_a_dataset(make: Make) -> None:
    made = make()
    samples = open_dataset(made.folder / "testset.jsonl", {})
    assert [sample.columns["user_input"] for sample in samples] == [row["user_input"] for row in made.rows]
    assert samples[0].columns["reference_contexts"] == made.rows[0]["reference_contexts"]
    assert samples[0].columns["answerable"] is True


def test_filters_that_are_turned_off_leave_nothing_out(make: Make) -> None:
    made = make(filters=["answerable"])
    assert set(made.summary["left_out"]) == {"answerable", "question"}
    assert {name for slot in made.details.values() for name in slot.get("verdicts", {})} == {"answerable"}


def test_questions_that_are_hard_among_similar_chunks_are_kept_on_demand(make: Make) -> None:
    made = make(keep_hard=True)
    assert made.details["Tesk"]["difficulty"] == "hard"
    assert made.details["Tesk"]["chosen"]


def test_an_unanswerable_question_is_kept_unless_any_chunk_answers_it(make: Make) -> None:
    made = make(kinds={"unanswerable": 1}, filters=["answerable", "names_document"])
    kept = [row["user_input"] for row in made.rows]
    assert kept == ["How wide is the bridge of Corvania near the old market?"]
    assert made.rows[0]["reference_contexts"] == [] and made.rows[0]["answerable"] is False
