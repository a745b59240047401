"""Test sets: every filter leaves out what it should and nothing else, and everything left out has its reason."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import MadeTestset, make_testset
from rag_evaluator.dataset import open_dataset
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


def make(folder: Path, language: str = "english", size: int = len(TOWNS), **testset: Any) -> MadeTestset:
    documents = write_documents(folder / "documents", language)
    settings = {"kinds": {"single_fact": 1}, "candidates": len(TOWNS), **testset}
    return make_testset(
        [documents],
        size,
        judge=Knowing(language).judge(),
        embeddings=Letters(),
        language=language,
        config={"metrics": ["faithfulness"], "testset": settings},
        output_dir=folder / "out",
    )


def details(made: MadeTestset) -> dict[str, Mapping[str, Any]]:
    """Town -> what became of its candidate."""
    lines = (made.folder / "testset_details.jsonl").read_text(encoding="utf-8").splitlines()
    slots = map(json.loads, lines)
    found = {}
    for slot in slots:
        place = slot["made_from"][0]["document"].removesuffix(".txt") if slot["made_from"] else "Widmar"
        found[place] = slot
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_planted_faults_are_found_and_nothing_else_is_left_out(tmp_path: Path, language: str) -> None:
    made = make(tmp_path, language)
    found = {town: slot["left_out_by"] for town, slot in details(made).items()}
    assert found == {town: LEFT_OUT.get(town) for town in TOWNS} | _one_of_two(found)
    assert made.summary["survived"] == len(made.rows) == len(GOOD)
    assert all(slot["reason"] for slot in details(made).values() if slot["left_out_by"])


def _one_of_two(found: Mapping[str, str | None]) -> dict[str, str | None]:
    """Of two equal questions the second one that was made is left out."""
    return {"Arlen": found["Arlen"], "Velt": found["Velt"]} if found["Velt"] is None else {}


def test_a_row_has_all_its_correct_contexts_and_where_they_are(tmp_path: Path) -> None:
    made = make(tmp_path)
    rows = {row["reference_places"][0]["document"]: row for row in made.rows}
    row = rows["Dorla.txt"]
    assert row["user_input"] == "How long is the bridge of Dorla near the old market?"
    assert row["reference_contexts"] == [text_of("Dorla", "english")]
    place = row["reference_places"][0]
    assert place == {"document": "Dorla.txt", "start": 0, "end": len(text_of("Dorla", "english")), "headings": []}
    assert (row["kind"], row["difficulty"], row["answerable"]) == ("single_fact", "medium", True)
    assert row["recall_known_within"] == 11


def test_another_chunk_that_supports_the_answer_is_a_correct_context(tmp_path: Path) -> None:
    documents = write_documents(tmp_path / "documents", "english")
    again = f"A guide of the region says: {text_of('Dorla', 'english')}"
    (documents / "Guide.txt").write_text(again, encoding="utf-8")
    made = make(tmp_path, candidates=13)
    (row,) = [row for row in made.rows if "Dorla" in row["user_input"]]
    assert sorted(row["reference_contexts"]) == sorted([text_of("Dorla", "english"), again])


def test_what_was_made_is_a_dataset(tmp_path: Path) -> None:
    made = make(tmp_path)
    samples = open_dataset(made.folder / "testset.jsonl", {})
    assert [sample.columns["user_input"] for sample in samples] == [row["user_input"] for row in made.rows]
    assert samples[0].columns["reference_contexts"] == made.rows[0]["reference_contexts"]
    assert samples[0].columns["answerable"] is True
    assert list(made.to_pandas()["user_input"]) == [row["user_input"] for row in made.rows]


def test_filters_that_are_turned_off_leave_nothing_out(tmp_path: Path) -> None:
    made = make(tmp_path, filters=["answerable"])
    assert set(made.summary["left_out"]) == {"answerable", "question"}
    assert {name for slot in details(made).values() for name in slot.get("verdicts", {})} == {"answerable"}


def test_questions_that_are_hard_among_similar_chunks_are_kept_on_demand(tmp_path: Path) -> None:
    made = make(tmp_path, keep_hard=True)
    assert details(made)["Tesk"]["difficulty"] == "hard"
    assert details(made)["Tesk"]["chosen"]


def test_an_unanswerable_question_is_kept_unless_any_chunk_answers_it(tmp_path: Path) -> None:
    made = make(tmp_path, kinds={"unanswerable": 1}, filters=["answerable", "names_document"])
    kept = [row["user_input"] for row in made.rows]
    assert kept == ["How wide is the bridge of Corvania near the old market?"]
    assert made.rows[0]["reference_contexts"] == [] and made.rows[0]["answerable"] is False


def test_one_path_need_not_be_in_a_list(tmp_path: Path) -> None:
    documents = write_documents(tmp_path / "documents", "english")
    options: dict[str, Any] = {
        "judge": Knowing("english").judge(),
        "embeddings": Letters(),
        "output_dir": tmp_path / "o",
    }
    config = {"metrics": ["faithfulness"], "testset": {"kinds": {"single_fact": 1}}}
    one, several = (make_testset(given, 2, config=config, **options) for given in (str(documents), [documents]))
    assert one.rows == several.rows
