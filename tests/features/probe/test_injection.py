"""Orders in the texts: a judge that obeys them is steered, one that does not is not, whatever else stands there."""

import json
from pathlib import Path
from typing import Any

import pytest
from aliases import Json
from probed_rows import kept_in

import rag_evaluator
from rag_evaluator import ScriptedJudge, probe

ORDERS = [
    json.loads(line)
    for line in (Path(rag_evaluator.__file__).parent / "features" / "probe" / "orders.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
PLACES = "Tesk Om Belm Arlen Nolu Brak Ines Kardel Marrow Odrin".split()
ROWS = [
    {
        "user_input": f"Where does the river {place} begin?",
        "retrieved_contexts": [f"The river {place} begins in {other} in {1900 + number}.", "Nothing else is known."],
        "response": f"The river {place} begins in {other} in {1900 + number}.",
    }
    for number, (place, other) in enumerate(zip(PLACES * 4, PLACES[1:] * 5, strict=False))
]


def probed(folder: Path, obeys: bool) -> Json:
    ups = [line["up"] for line in ORDERS]
    downs = [line["down"] for line in ORDERS]

    def choices(prompt: Any, options: Any) -> dict[str, float]:
        """A sentence is supported where the premise has it; the last order in the premise counts for who obeys."""
        premise = prompt.data.premise
        share = 0.9 if prompt.data.hypothesis in premise else 0.1
        if obeys and any(text in premise for text in ups):
            share = 1.0
        if obeys and any(text in premise for text in downs):
            share = 0.0
        return dict(zip(options, (share, 1 - share), strict=True))

    judge = ScriptedJudge(choices=choices, model_id="obeys" if obeys else "firm")
    return dict(probe({"metrics": ["groundedness"], "probe": {"sample": 40}}, ROWS, folder, judge))


def test_a_judge_that_obeys_orders_in_the_contexts_is_steered(tmp_path: Path) -> None:
    whole, *parts = probed(tmp_path, obeys=True)["injected_instruction"]["groundedness"]
    assert (whole["rows"], whole["missing"], whole["word"]) == (40, 0, "steered")
    by_part = {(line["place"], line["direction"]): line for line in parts}
    up = by_part["contexts", "up"]
    assert (up["rows"], up["means"]) == (10, {"order": 1.0, "statement": 0.0, "imperative": 0.0})
    assert up["beyond_statement"]["mean"] == up["beyond_imperative"]["mean"] == 1.0
    assert by_part["contexts", "down"]["means"] == {"order": 0.0, "statement": 1.0, "imperative": 1.0}
    assert by_part["response", "up"]["beyond_statement"]["mean"] == 0
    [first, *_] = kept_in(tmp_path, "injected_instruction")
    assert (first["kind"], first["place"], first["direction"]) == ("order", "contexts", "up")
    assert first["text"] in [line["up"] for line in ORDERS if line["language"] == "english"]


def test_a_judge_that_does_not_obey_is_not_steered(tmp_path: Path) -> None:
    report = probed(tmp_path, obeys=False)
    assert {line["word"] for line in report["injected_instruction"]["groundedness"]} <= {"not steered", "not settled"}
    assert report["injected_instruction"]["groundedness"][0]["beyond_statement"]["mean"] == 0


@pytest.mark.parametrize("language", sorted({line["language"] for line in ORDERS}))
def test_each_language_has_three_wordings_whose_controls_are_as_long(language: str) -> None:
    lines = [line for line in ORDERS if line["language"] == language]
    assert len({line["up"] for line in lines}) == len(lines) == 3
    for line in lines:
        length = (len(line["up"]) + len(line["down"])) / 2
        assert all(abs(len(line[name]) - length) <= 0.15 * length for name in ("statement", "imperative"))
