"""answer_rubric: reason, then a label; or the expectation over the labels' probabilities after the same reason."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel

from rag_evaluator import (
    ConfigError,
    Judge,
    JudgeLostError,
    PromptTooLongError,
    RAGEvaluator,
    ScriptedJudge,
    read_questions,
)
from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import RULES, Option, as_judge, common_beginning
from rag_evaluator.metrics import VALUES, Recorder, load_prompts
from rag_evaluator.prompts import RubricInput, RubricOutput

EXPECTED = {"metrics": ["answer_rubric"], "metric_options": {"answer_rubric": {"expected": True}}}
SHARES = {"1": 0.0, "2": 0.01, "3": 0.04, "4": 0.25, "5": 0.7}


def judge(label: int = 4, choices: Any = None) -> ScriptedJudge:
    return ScriptedJudge({"RubricOutput": {"reason": 'It "nearly" agrees.', "label": label}}, choices)


def shares(prompt: str, options: Sequence[str]) -> Mapping[str, float]:
    return dict(zip(options, SHARES.values(), strict=True))


@pytest.mark.parametrize(("label", "value"), [(5, 1.0), (4, 0.8), (3, 0.5), (2, 0.2), (1, 0.0)])
def test_each_label_is_worth_its_value(label: int, value: float, rows: list[dict[str, Any]]) -> None:
    results = RAGEvaluator({"metrics": ["answer_rubric"]}, judge=judge(label)).evaluate(rows)
    assert [score.value for score in results.scores["answer_rubric"]] == [value] * 3
    assert [len(line["judgements"]) for line in results.details()] == [1] * 3


def test_the_expected_score_is_the_mean_of_the_values_weighted_by_probability(rows: list[dict[str, Any]]) -> None:
    results = RAGEvaluator(EXPECTED, judge=judge(choices=shares)).evaluate(rows[:1])
    assert results.scores["answer_rubric"][0].value == round(0.7 + 0.25 * 0.8 + 0.04 * 0.5 + 0.01 * 0.2, 6)
    (line,) = results.details()
    opinion, choice = line["judgements"]
    assert opinion["response"] == {"reason": 'It "nearly" agrees.', "label": 4}
    assert choice["response"] == SHARES
    assert {key: choice[key] for key in ("prompt", "prompt_digest", "source_digest", "input")} == {
        key: opinion[key] for key in ("prompt", "prompt_digest", "source_digest", "input")
    }


def test_the_labels_are_chosen_after_the_reason_that_the_judge_wrote(rows: list[dict[str, Any]]) -> None:
    seen: list[str] = []

    def choices(prompt: str, options: Sequence[str]) -> str:
        seen.extend(options)
        return options[2]

    results = RAGEvaluator(EXPECTED, judge=judge(choices=choices)).evaluate(rows[:1])
    assert results.scores["answer_rubric"][0].value == 0.5
    assert [json.loads(text) for text in seen] == [
        {"reason": 'It "nearly" agrees.', "label": label} for label in (1, 2, 3, 4, 5)
    ]


def test_both_questions_of_an_expected_score_are_read_again(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    asked = judge(choices=shares)
    folder = RAGEvaluator(EXPECTED, judge=asked).evaluate(rows[:1]).write(tmp_path)
    assert [question["text"] for question in read_questions(folder)] == [str(prompt) for prompt in asked.prompts]


def test_the_expected_score_has_a_signature_of_its_own() -> None:
    plain, expected = ({"metrics": ["answer_rubric"]}, EXPECTED)
    lines = [RAGEvaluator(config, judge=judge()).signatures()["answer_rubric"] for config in (plain, expected)]
    assert lines[1].replace('options:{"expected": true}|', "") == lines[0] != lines[1]


class NoChoices(ScriptedJudge):
    achoose = property()  # type: ignore[assignment]


@pytest.mark.parametrize("model", [NoChoices([]), FakeListChatModel(responses=["x"])], ids=["ragas", "langchain"])
def test_a_judge_without_probabilities_is_refused_before_it_is_asked(model: Any, rows: list[dict[str, Any]]) -> None:
    evaluator = RAGEvaluator(EXPECTED, judge=model)
    with pytest.raises(ConfigError, match=r"config: answer_rubric with expected: true needs the probabilities"):
        evaluator.evaluate(rows)
    RAGEvaluator({"metrics": ["answer_rubric"]}, judge=model).check(rows)


FAILURES: list[tuple[Exception, str, bool]] = [
    (RuntimeError("CUDA error"), "RuntimeError: CUDA error", False),
    (RuntimeError(), "RuntimeError", False),
    (PromptTooLongError("too long"), "too long", True),
]


@pytest.mark.parametrize(("error", "reason", "lasting"), FAILURES, ids=lambda value: str(value) or "empty")
def test_a_choice_that_fails_is_a_missing_score_with_its_reason(
    error: Exception, reason: str, lasting: bool, rows: list[dict[str, Any]]
) -> None:
    def choices(prompt: str, options: Sequence[str]) -> str:
        raise error

    (score,) = RAGEvaluator(EXPECTED, judge=judge(choices=choices)).evaluate(rows[:1]).scores["answer_rubric"]
    assert (score.missing, score.reason, score.lasting) == (True, reason, lasting)
    assert [judgement["error"] for judgement in score.judgements] == [None, reason]


def test_a_judge_that_is_lost_while_choosing_stops_the_run(rows: list[dict[str, Any]]) -> None:
    def choices(prompt: str, options: Sequence[str]) -> str:
        raise JudgeLostError("gone")

    with pytest.raises(JudgeLostError):
        RAGEvaluator(EXPECTED, judge=judge(choices=choices)).evaluate(rows)


def test_options_of_plain_text_are_recorded_by_their_text() -> None:
    recorder = Recorder(as_judge(ScriptedJudge(choices=lambda prompt, options: {"yes": 0.123456, "no": 0.876544})), {})
    assert asyncio.run(recorder.achoose("Is it so?", ["yes", "no"])) == {"yes": 0.1235, "no": 0.8765}
    assert recorder.judgements[0]["response"] == {"yes": 0.1235, "no": 0.8765}


REASONS = ['He said "no" \\ twice.', "¿Y tú? 😀 שלום", "首都是巴黎。", "a\tb\nc", "1", "ends in a space "]


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
@pytest.mark.parametrize("reason", REASONS)
def test_the_text_of_an_option_has_the_tokens_that_a_judge_writes_under_the_grammar(
    reason: str, kind: str, model_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = {"reason": {"const": reason}}
    rule: Any = lambda schema, data: {**schema, "properties": {**schema["properties"], **written}}  # noqa: E731
    monkeypatch.setitem(RULES, "RubricOutput", rule)
    model = Judge.from_config(JudgeConfig(model=str(model_folder(kind)), dtype="float32", max_new_tokens=64))
    prompt = load_prompts(["answer_rubric"], "english", Path())["answer_rubric", "prompt"]
    text = prompt.to_string(RubricInput(user_input="Where?", response="In Tesk.", reference="Tesk"))
    reply = asyncio.run(model.inner.engine.generate(model.inner.request(text, RubricOutput)))
    answer = RubricOutput.model_validate_json(reply.text)
    assert answer.reason == reason
    options = [Option(RubricOutput(reason=reason, label=label)) for label in VALUES]
    written_ids = [tuple(reply.token_ids), *(tuple(model.encoder.continuation(option)) for option in options)]
    shared: Any = model.encoder  # the real one has a tokenizer
    assert shared.tokenizer.decode(common_beginning(written_ids)).endswith('"label":')
    assert sum(model.choose(text, options).values()) == pytest.approx(1.0)
