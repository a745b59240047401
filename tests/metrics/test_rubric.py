"""answer_rubric: a reason, then a label; and options among which a judge chooses."""

import asyncio
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from aliases import Json, ModelFolder

from rag_evaluator import (
    Judge,
    JudgeLostError,
    PromptTooLongError,
    RAGEvaluator,
    ScriptedJudge,
)
from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import ANSWERS, AnswerRow, Option, as_judge
from rag_evaluator.metrics import Recorder
from rag_evaluator.prompts import RubricInput, RubricOutput
from tests.loaded_prompts import load_prompts

CHOOSING = {"metrics": ["groundedness"]}


@pytest.mark.parametrize(("label", "value"), [(5, 1.0), (4, 0.8), (3, 0.5), (2, 0.2), (1, 0.0)])
def test_each_label_is_worth_its_value(label: int, value: float, rows: list[Json]) -> None:
    judge = ScriptedJudge({"RubricOutput": {"reason": "r", "label": label}})
    results = RAGEvaluator({"metrics": ["answer_rubric"]}, judge=judge).evaluate(rows)
    assert [score.value for score in results.scores["answer_rubric"]] == [value] * 3
    assert [len(line["judgements"]) for line in results.details()] == [1] * 3


FAILURES: list[tuple[Exception, str, bool]] = [
    (RuntimeError("CUDA error"), "RuntimeError: CUDA error", False),
    (RuntimeError(), "RuntimeError", False),
    (PromptTooLongError("too long"), "too long", True),
]


@pytest.mark.parametrize(("error", "reason", "lasting"), FAILURES, ids=lambda value: str(value) or "empty")
def test_a_choice_that_fails_is_a_missing_score_with_its_reason(
    error: Exception, reason: str, lasting: bool, rows: list[Json]
) -> None:
    def choices(prompt: str, options: Sequence[str]) -> str:
        raise error

    (score,) = RAGEvaluator(CHOOSING, judge=ScriptedJudge(choices=choices)).evaluate(rows[:1]).scores["groundedness"]
    assert (score.missing, score.reason, score.lasting) == (True, reason, lasting)
    assert {judgement["error"] for judgement in score.judgements} == {reason}


def test_a_judge_that_is_lost_while_choosing_stops_the_run(rows: list[Json]) -> None:
    def choices(prompt: str, options: Sequence[str]) -> str:
        raise JudgeLostError("gone")

    with pytest.raises(JudgeLostError):
        RAGEvaluator(CHOOSING, judge=ScriptedJudge(choices=choices)).evaluate(rows)


def test_options_of_plain_text_are_recorded_by_their_text() -> None:
    recorder = Recorder(as_judge(ScriptedJudge(choices=lambda prompt, options: {"yes": 0.123456, "no": 0.876544})), {})
    assert asyncio.run(recorder.achoose("Is it so?", ["yes", "no"])) == {"yes": 0.1235, "no": 0.8765}
    assert recorder.judgements[0]["response"] == {"yes": 0.1235, "no": 0.8765}


REASONS = ['He said "no" \\ twice.', "¿Y tú? 😀 שלום", "首都是巴黎。", "a\tb\nc", "1", "ends in a space "]


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
@pytest.mark.parametrize("reason", REASONS)
def test_the_text_of_an_option_has_the_tokens_that_a_judge_writes_under_the_grammar(
    reason: str, kind: str, model_folder: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = {"reason": {"const": reason}}
    rule: Any = lambda schema, data: {**schema, "properties": {**schema["properties"], **written}}  # noqa: E731
    monkeypatch.setitem(ANSWERS, "RubricOutput", AnswerRow(rule=rule))
    model = Judge.from_config(JudgeConfig(model=str(model_folder(kind)), dtype="float32", max_new_tokens=64))
    prompt = load_prompts(["answer_rubric"], "english", Path())["answer_rubric", "prompt"]
    text = prompt.to_string(RubricInput(user_input="Where?", response="In Tesk.", reference="Tesk"))
    reply = asyncio.run(model.inner.engine.generate(model.inner.request(text, RubricOutput)))
    answer = RubricOutput.model_validate_json(reply.text)
    assert answer.reason == reason
    options = [Option(RubricOutput(reason=reason, label=label)) for label in (1, 2, 3, 4, 5)]
    written_ids = [list(reply.token_ids), *(model.inner.encoder.continuation(option) for option in options)]
    columns = takewhile(lambda column: len(set(column)) == 1, zip(*written_ids, strict=False))
    shared: Any = model.inner.encoder  # the real one has a tokenizer
    assert shared.tokenizer.decode([column[0] for column in columns]).endswith('"label":')
    assert sum(model.choose(text, options).values()) == pytest.approx(1.0)
