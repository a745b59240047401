"""A second model: how hard the questions of a test set are for it is measured, and leaves none out."""

import json
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import ConfigError, JudgementError, MadeTestset, ScriptedJudge, load_config, make_testset
from tests.tasks.testset_world import TOWNS, Knowing, length_of, write_documents

SETTINGS = {"kinds": {"single_fact": 1}, "candidates": len(TOWNS)}


class Second(Knowing):
    """Knows the bridge of Dorla by heart, says nonsense of that of Brisk, and fails at that of Zarent."""

    def judge(self) -> ScriptedJudge:
        return ScriptedJudge(self.said, None, model_id="second")

    def said(self, prompt: str, response_model: type) -> dict[str, Any]:
        town = self._town(prompt.data.user_input)  # type: ignore[attr-defined]
        if town == "Zarent":
            raise JudgementError("no answer")
        if response_model.__name__ == "KnownOutput" and town == "Dorla":
            return {"known": 1, "answer": self.words.answer.format(length=length_of(town))}
        if response_model.__name__ == "ReferenceOutput" and town == "Brisk":
            return {"answerable": 1, "answer": self.words.answer.format(length=1)}
        return super().said(prompt, response_model)


def make(folder: Path, judge: ScriptedJudge, second: ScriptedJudge | None, **testset: Any) -> MadeTestset:
    documents = write_documents(folder / "documents", "english")
    return make_testset(
        [documents],
        4,
        judge=judge,
        second_judge=second,
        config={"metrics": ["faithfulness"], "testset": {**SETTINGS, **testset}},
        output_dir=folder / "out",
    )


def test_how_hard_questions_are_for_a_second_model_is_told_and_leaves_none_out(tmp_path: Path) -> None:
    alone = make(tmp_path / "alone", Knowing("english").judge(), None)
    made = make(tmp_path / "both", Knowing("english").judge(), Second("english").judge())
    assert [row["id"] for row in made.rows] == [row["id"] for row in alone.rows]
    of_town = {row["reference_places"][0]["document"]: row for row in made.rows}
    assert {name: row["second_difficulty"] for name, row in of_town.items() if "Arlen" not in name} == {
        "Brisk.txt": "hard",
        "Dorla.txt": "easy",
        "Zarent.txt": None,
    }
    assert {row["difficulty"] for row in made.rows} == {"medium"}, "of the judge"
    assert made.summary["second_difficulty"] == {"medium": 1, "hard": 1, "easy": 1, "None": 1}
    assert "second_difficulty" not in alone.rows[0] and "second_difficulty" not in alone.summary
    details = map(json.loads, (made.folder / "testset_details.jsonl").read_text(encoding="utf-8").splitlines())
    (zarent,) = [slot for slot in details if "Zarent" in slot.get("question", "")]
    assert zarent["second"]["verdicts"]["not_known"]["reason"] == "could not be checked: no answer"


def test_answers_of_both_models_are_kept_and_still_hold_without_the_second_one(tmp_path: Path) -> None:
    judge, second = Knowing("english").judge(), Second("english").judge()
    made = make(tmp_path, judge, second)
    asked = judge.asked, second.asked
    assert second.asked > 0
    (made.folder / "testset.jsonl").unlink()
    assert make(tmp_path, judge, second).rows == made.rows
    assert (judge.asked, second.asked) == asked
    alone = make(tmp_path, judge, None)
    assert "second_difficulty" not in alone.rows[0]
    assert judge.asked == asked[0], "the answers of the judge still hold"


def test_the_second_judge_of_a_configuration_is_read_as_the_judge_is(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    path = tmp_path / "config.yaml"
    path.write_text("metrics: [faithfulness]\ntestset:\n  second_judge: {model: model}\n")
    second = load_config(path).testset.second_judge
    assert second is not None and second.model == str(tmp_path / "model")
    path.write_text("metrics: [faithfulness]\ntestset:\n  second_judge:\n    modle: demo\n")
    with pytest.raises(ConfigError, match=r"config.yaml, line 4: .*modle.*model"):
        load_config(path)
    path.write_text("metrics: [faithfulness]\ntestset:\n  second_judge: {engine: server}\n")
    with pytest.raises(ConfigError, match=r"'testset.second_judge.url' is missing"):
        load_config(path)
