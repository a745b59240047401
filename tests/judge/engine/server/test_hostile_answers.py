"""Answers that no server should give: each is an error with its reason, none a traceback."""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import test_logprobs
from fake_server import judge_of, reading, serve, status
from test_logprobs import Verdict, digits

from rag_evaluator import Judge, JudgementError, RagEvaluatorError
from rag_evaluator.judge import Opinion

pytestmark = [pytest.mark.models, pytest.mark.allow_hosts(["127.0.0.1"])]
DEEP = "[" * 100_000 + "]" * 100_000


CONTENTS = {
    "nested deeply": DEEP,
    "nested deeply beside the answer": json.dumps({"reason": "a", "verdict": 0})[:-1] + f', "x": {DEEP}}}',
    "nested less deeply": json.dumps({"reason": "a", "verdict": 0})[:-1] + f', "x": {"[" * 400 + "]" * 400}}}',
    "a number of many digits": '{"reason": "a", "verdict": ' + "1" * 5000 + "}",
    "not a number": '{"reason": "a", "verdict": NaN}',
    "half of a character": '{"reason": "\\ud800", "verdict": 0}',
    "null": "null",
    "empty": "",
}


def ask(judge: Judge, prompt: str = "Good?") -> Any:
    """An opinion, or an error of ours."""
    try:
        return asyncio.run(judge.inner.opinion(prompt, Verdict))
    except RagEvaluatorError as error:
        return error


@pytest.mark.parametrize("tokens", [None, digits], ids=["plain", "with log probabilities"])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_odd_texts_of_answers_are_missing_scores_or_answers(content: str, tokens: Any) -> None:
    with serve(tokens=tokens) as fake:
        judge = judge_of(fake)
        fake.content = lambda body: content
        assert isinstance(ask(judge), Opinion | JudgementError)


ENVELOPES = {
    "nested deeply": DEEP,
    "a choice that is nested deeply": '{"choices": [{"message": {"content": "a"}, "x": ' + DEEP + "}]}",
    "a list": "[1]",
    "null": "null",
    "a number of many digits": "1" * 5000,
    "choices that are none": '{"choices": {}}',
    "a message that is a text": '{"choices": [{"message": "a"}]}',
    "a choice that is a text": '{"choices": ["a"]}',
    "a thought that is a list": '{"choices": [{"message": {"content": "{}", "reasoning": [1]}}]}',
    "a text that is a list": '{"choices": [{"message": {"content": [1]}}]}',
    "usage that is a text": '{"choices": [{"message": {"content": "{}"}}], "usage": "much"}',
    "a name that is a list": '{"choices": [{"message": {"content": "{}"}}], "model": [1]}',
}


@pytest.mark.parametrize("text", ENVELOPES.values(), ids=ENVELOPES)
def test_odd_answers_of_chats_are_errors_with_a_reason(text: str) -> None:
    with serve() as fake:
        judge = judge_of(fake)
        fake.always = status(200, text)
        assert isinstance(ask(judge), RagEvaluatorError)


NO_ANSWERS: dict[str, tuple[dict[str, Any], str]] = {
    "empty": ({"content": lambda body: ""}, "the text is empty"),
    "filtered": ({"finish": "content_filter"}, "filter has withheld"),
    "failed": ({"finish": "error"}, "it failed"),
    "refused": ({"message": {"content": None, "refusal": "I will not."}}, "refuses: I will not"),
    "a thought alone": (
        {"message": {"content": "", "reasoning_content": "Hm."}},
        r"reasoning_content.*judge\.thinking",
    ),
    "a thought that was cut": (
        {"message": {"content": None, "reasoning": "Hm."}, "finish": "length"},
        r"judge\.thinking: on",
    ),
    "an error": ({"always": status(200, '{"error": {"message": "out of quota", "code": 402}}')}, "402: .*out of quota"),
    "an error that is a text": ({"always": status(200, '{"error": "overloaded"}')}, "overloaded"),
}


@pytest.mark.parametrize("counts", [None, len], ids=["words are asked for", "tokens are counted"])
@pytest.mark.parametrize(("settings", "told"), NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_an_answer_that_is_none_has_its_own_reason(settings: dict[str, Any], told: str, counts: Any) -> None:
    with serve(content=reading, count=counts) as fake:
        judge = judge_of(fake)
        for name, value in settings.items():
            setattr(fake, name, value)
        error = ask(judge)
    assert re.search(told, str(error)) and "cuts long prompts" not in str(error)


def test_an_error_in_the_answer_to_one_question_is_a_missing_score() -> None:
    with serve() as fake:
        judge = judge_of(fake)
        assert isinstance(ask(judge), Opinion)
        fake.faults = [status(200, '{"error": {"message": "no such token"}}')]
        error = ask(judge, "Bad?")
    assert type(error) is JudgementError and "no such token" in str(error)


def changed(key: str, value: Any) -> Callable[[str], Any]:
    """Tokens of which each, and each of its alternatives, has another value."""
    return lambda text: test_logprobs.changed(lambda entry: entry.update({key: value}), text)


TOLD: dict[str, Callable[[str], Any]] = {
    **{f"logprob {value!r}": changed("logprob", value) for value in (1e9, 10**400, float("nan"), float("inf"), "-0.1")},
    **{f"logprob {value!r}": changed("logprob", value) for value in ("much", None, [1], True, 0.5)},
    **{f"bytes {value!r}": changed("bytes", value) for value in (10**12, [300], [-1], "abc", {}, True)},
    "alternatives that are a text": changed("top_logprobs", "abc"),
    "alternatives that are numbers": changed("top_logprobs", [1, 2]),
    "tokens that are a text": lambda text: "abc",
    "tokens that are a number": lambda text: 7,
    "tokens that are an object": lambda text: {},
    "tokens that are texts": lambda text: ["abc"],
}


@pytest.mark.parametrize("tokens", TOLD.values(), ids=TOLD)
def test_log_probabilities_that_are_none_are_not_used(tokens: Any) -> None:
    with serve() as fake:
        before = judge_of(fake)
        fake.tokens = tokens
        judge = judge_of(fake)
        assert judge.about["logprobs"].startswith("none: ")
        fake.tokens = digits
        usual = judge_of(fake)
        fake.tokens = tokens
        assert ask(usual).confidence == ()
        assert ask(before).answer == Verdict(reason="a", verdict=0)
