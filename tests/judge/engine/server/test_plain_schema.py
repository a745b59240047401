"""Schemas for servers without grammars, and what is made of answers that obey them in part only."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fake_server import Fake, judge_of, schema_of, serve
from pydantic import BaseModel
from ragas.metrics.collections.answer_correctness.util import ClassificationWithReason, CorrectnessClassifierInput
from ragas.metrics.collections.context_recall.util import ContextRecallOutput
from ragas.metrics.collections.faithfulness.util import NLIStatementInput, NLIStatementOutput

from rag_evaluator import JudgementError
from rag_evaluator.judge import PromptText
from tools.requests48 import questions

pytestmark = [pytest.mark.models, pytest.mark.allow_hosts(["127.0.0.1"])]
SHARED = CorrectnessClassifierInput(question="q", answer=["a", "b", "c"], ground_truth=["g"])
LISTED = NLIStatementInput(context="c", statements=["a", "b"])


@pytest.fixture(scope="module")
def fake() -> Iterator[Fake]:
    with serve() as server:
        yield server


@pytest.mark.parametrize("number", range(48))
def test_the_schema_of_every_question_is_plain_and_its_shortest_answer_is_one(number: int, fake: Fake) -> None:
    prompt, model, _ = list(questions())[number]
    assert isinstance(judge_of(fake).generate(prompt, model), model)
    text = json.dumps(schema_of(fake.asked[-1][1]))
    assert not any(key in text for key in ('"x-', '"const"', '"$', '"title"', '"items": false'))


def test_the_length_of_short_reasons_is_in_the_schema(fake: Fake) -> None:
    judge_of(fake, reasons="short").generate("Which?", ContextRecallOutput)
    shown = schema_of(fake.asked[-1][1])["properties"]["classifications"]["items"]
    assert shown["properties"]["reason"] == {"type": "string", "minLength": 1, "maxLength": 100}


def written(**lists: str) -> str:
    """An answer: the letter of each statement in its list."""
    return json.dumps({name: [{"statement": each, "reason": "r"} for each in texts] for name, texts in lists.items()})


def answer(fake: Fake, text: str, model: type[BaseModel], data: BaseModel) -> BaseModel:
    """What is made of the text that a server writes."""
    judge = judge_of(fake)
    fake.content = lambda body: text
    return judge.generate(PromptText("Which?", data), model)


@pytest.mark.parametrize(
    ("wrong", "settled"),
    [
        ({"TP": "ca", "FP": "b", "FN": ""}, {"TP": "ac", "FP": "b", "FN": ""}),
        ({"TP": "aac", "FP": "b", "FN": ""}, {"TP": "ac", "FP": "b", "FN": ""}),
        ({"TP": "ab", "FP": "bc", "FN": "g"}, {"TP": "ab", "FP": "c", "FN": "g"}),
    ],
    ids=["out of order", "twice", "in both lists"],
)
def test_what_a_schema_cannot_say_is_settled(wrong: dict[str, str], settled: dict[str, str]) -> None:
    with serve() as fake:
        made = answer(fake, written(**wrong), ClassificationWithReason, SHARED)
    assert made == ClassificationWithReason.model_validate_json(written(**settled))


def verdicts(*items: dict[str, Any]) -> str:
    return json.dumps({"statements": [{"statement": "a", "reason": "r", "verdict": 1}, *items]})


FAULTS: dict[str, tuple[str, str]] = {
    "a statement in no list": (written(TP="a", FP="b", FN=""), "do not share out"),
    "a statement that was not asked": (written(TP="abc", FP="d", FN=""), "was not asked"),
    "a text in place of a list": ('{"TP": "a", "FP": [], "FN": []}', "expected array"),
    "a verdict off its scale": (verdicts({"statement": "b", "reason": "r", "verdict": 2}), "expected 0 or 1"),
    "a truth value in place of a number": (
        verdicts({"statement": "b", "reason": "r", "verdict": True}),
        "expected 0 or 1",
    ),
    "a missing key": (verdicts({"statement": "b", "verdict": 1}), "lacks reason"),
    "another text": (verdicts({"statement": "a", "reason": "r", "verdict": 1}), "expected 'b'"),
    "too few items": (verdicts(), "expected 2"),
}


@pytest.mark.parametrize(("text", "told"), FAULTS.values(), ids=FAULTS)
def test_what_a_server_wrote_against_the_schema_is_in_the_reason(text: str, told: str) -> None:
    asked: Any = (NLIStatementOutput, LISTED) if "statements" in text else (ClassificationWithReason, SHARED)
    with serve() as fake, pytest.raises(JudgementError, match=f"did not obey the schema: .*{told}"):
        answer(fake, text, *asked)
