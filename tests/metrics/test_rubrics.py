"""ragas' rubric scores with rubrics of the user, and with rubrics of a row."""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from ragas.metrics.collections.domain_specific_rubrics.util import RubricScoreInput, RubricScoreOutput
from ragas.metrics.collections.instance_specific_rubrics.util import InstanceRubricScoreInput, InstanceRubricScoreOutput
from test_ragas_equality import answer_at_random

from rag_evaluator import JudgementError, PromptError, RAGEvaluator, ScriptedJudge, compare, read_questions
from rag_evaluator.judge import PromptText, tighten
from rag_evaluator.statistics import Scale
from tests.loaded_prompts import shipped

ROOT = Path(__file__).parents[2]
NAMES = ("rubrics_score_without_reference", "rubrics_score_with_reference")
OWN = {"score0_description": "Falsch \\1 {x}.", "score2_description": "Halb richtig", "score7_description": "Richtig."}
KEYS = [f"score{number}_description" for number in (1, 2, 3, 4, 5)]
ROW = {"user_input": "q", "response": "r", "reference": "s"}
PACKS = [path for name in NAMES for path in shipped(f"{name}_scoring_prompt_*.json")]
PACKS += [ROOT / "orig_prompts" / f"{name}_scoring_prompt_english.json" for name in NAMES]


def evaluator(name: str, judge: ScriptedJudge | None = None, **config: Any) -> RAGEvaluator:
    options = {name: {"rubrics": OWN}}
    return RAGEvaluator({"metrics": [name], "metric_options": options, **config}, judge=judge or ScriptedJudge([]))


@pytest.mark.parametrize("path", PACKS, ids=lambda path: path.stem)
def test_the_rubrics_of_a_pack_are_replaced_and_nothing_else(path: Path) -> None:
    name = next(name for name in NAMES if path.name.startswith(name))
    instruction = json.loads(path.read_bytes())["instruction"]
    assert re.findall(r"^(\w+): \S", instruction, re.MULTILINE) == KEYS
    language = path.stem.rpartition("_")[2]
    plain = ScriptedJudge({"RubricScoreOutput": {"feedback": "f", "score": 2}})
    judge = ScriptedJudge({"RubricScoreOutput": {"feedback": "f", "score": 2}})
    RAGEvaluator({"metrics": [name], "language": language}, judge=plain).evaluate([ROW])
    evaluator(name, judge, language=language).evaluate([ROW])
    head, _, tail = instruction.partition("score1_description")
    rubrics = "\n".join(f"{key}: {text}" for key, text in OWN.items())
    changed = head + rubrics + "\n" * (len(tail) - len(tail.rstrip("\n")))
    assert judge.prompts == [plain.prompts[0].replace(instruction, changed)]
    assert judge.prompts != plain.prompts


@pytest.mark.parametrize("instruction", ["Give a score.", "score1_description: a\nOr:\nscore1_description: b"])
def test_a_pack_that_does_not_hold_rubrics_once_is_told(instruction: str, tmp_path: Path) -> None:
    name = NAMES[1]
    [path] = [path for path in PACKS if path.name.startswith(f"{name}_") and "spanish" in path.name]
    (tmp_path / path.name).write_text(json.dumps({**json.loads(path.read_bytes()), "instruction": instruction}))
    with pytest.raises(PromptError, match="the spanish pack of scoring_prompt must have its rubrics once"):
        evaluator(name, language="spanish", prompts_dir=str(tmp_path)).evaluate([ROW])


@pytest.mark.parametrize("name", NAMES)
def test_scores_lie_in_the_range_of_the_rubrics_of_the_user(name: str, rows: list[dict[str, Any]]) -> None:
    judge = ScriptedJudge([{"feedback": "f", "score": score} for score in (0, 7, 5)])
    results = evaluator(name, judge).evaluate(rows)
    assert [score.value for score in results.scores[name][:2]] == [0.0, 7.0]
    assert "score is 5: expected 0 or 2 or 7" in str(results.scores[name][2].reason)
    assert evaluator(name).metrics[name].scale == Scale(0.0, 7.0)
    assert results.manifest["metrics"][name]["range"] == [0.0, 7.0]
    [line] = compare(results, results).metrics
    assert (line.figures.scale[:2], line.figures.mean_a) == ((0.0, 7.0), 3.5)


@pytest.mark.parametrize("name", NAMES)
def test_rubrics_of_the_user_change_the_signature_and_their_order_does_not(name: str) -> None:
    other = {name: {"rubrics": dict(reversed(OWN.items()))}}
    plain = RAGEvaluator({"metrics": [name]}, judge=ScriptedJudge([])).signatures()
    lines = evaluator(name).signatures()
    assert lines == evaluator(name, metric_options=other).signatures() != plain
    assert "Halb richtig" in lines[name]


@pytest.mark.parametrize("name", NAMES)
def test_questions_with_rubrics_of_the_user_are_read_again(
    name: str, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    judge = ScriptedJudge(answer_at_random)
    folder = evaluator(name, judge).evaluate(rows).write(tmp_path)
    assert [question["text"] for question in read_questions(folder)] == [str(prompt) for prompt in judge.prompts]


def own(data: dict[str, str]) -> InstanceRubricScoreInput:
    return InstanceRubricScoreInput(user_input="q", response="r", rubrics=data)


SCALES: list[tuple[Any, Any, list[int]]] = [
    (RubricScoreOutput, None, [1, 2, 3, 4, 5]),
    (RubricScoreOutput, RubricScoreInput(user_input="q", response="r"), [1, 2, 3, 4, 5]),
    (RubricScoreOutput, own(OWN), [0, 2, 7]),
    (InstanceRubricScoreOutput, None, [1, 2, 3, 4, 5]),
    (InstanceRubricScoreOutput, own({"score3_description": "a", "score1_description": "b"}), [1, 3]),
    (InstanceRubricScoreOutput, own({"good": "a", "bad": "b"}), [1, 2, 3, 4, 5]),
]


def is_taken(model: Any, data: Any, score: int) -> bool:
    """Whether a judge may give a score: `ScriptedJudge` refuses what real judges cannot answer."""
    judge = ScriptedJudge([{"feedback": "f", "score": score}])
    with suppress(JudgementError):
        judge.generate(PromptText("Which?", data), model)
        return True
    return False


@pytest.mark.parametrize(("model", "data", "scale"), SCALES)
def test_the_judge_gives_scores_that_the_rubrics_describe(model: Any, data: Any, scale: list[int]) -> None:
    assert tighten(model, data)["properties"]["score"] == {"enum": scale}
    refused = [score for score in range(-1, 11) if not is_taken(model, data, score)]
    digits = range(10) if data is None else scale  # nothing says what the rubrics are
    assert refused == [score for score in range(-1, 11) if score not in digits]


REFUSED = [
    {"score1_description": "a"},
    {"score0_description": "a", "score2_description": "b"},
    {"score6_description": "a", "score1_description": "b"},
]


@pytest.mark.parametrize("rubrics", REFUSED, ids=json.dumps)
def test_rubrics_of_a_row_that_do_not_describe_one_to_five_are_no_score(rubrics: dict[str, str]) -> None:
    judge = ScriptedJudge([])
    config = {"metrics": ["instance_specific_rubrics"]}
    [score] = RAGEvaluator(config, judge).evaluate([{**ROW, "rubrics": rubrics}]).scores["instance_specific_rubrics"]
    assert score.missing
    assert "expected at least two of score1_description to score5_description" in str(score.reason)
    assert judge.asked == 0
