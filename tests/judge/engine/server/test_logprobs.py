"""Confidences and choices from a chat's log probabilities: what servers tell of their tokens, and how they differ."""

import asyncio
import json
import math
import re
from collections.abc import Callable
from typing import Any, Literal

import pytest
from aliases import Json
from fake_server import Fake, judge_of, serve, shortest, status
from pydantic import BaseModel

from rag_evaluator import Judge, JudgementError, RAGEvaluator, sort
from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import Opinion, Option

pytestmark = [pytest.mark.models, pytest.mark.allow_hosts(["127.0.0.1"])]
Tokens = list[Json]


class Verdict(BaseModel):
    reason: str
    verdict: Literal[0, 1]


class Item(BaseModel):
    statement: str
    verdict: Literal[0, 1]


class Items(BaseModel):
    items: list[Item]
    rating: Literal[1, 2, 3]


class Wide(BaseModel):
    label: Literal[1, 2, 10]


class Wider(BaseModel):
    label: Literal[0, 1, 22]


def token(text: str, *others: tuple[str, float], share: float = 0.9) -> Json:
    """A token as servers tell of it; its own share and those of others that could have been in its place."""
    tops = [{"token": text, "logprob": math.log(share), "bytes": list(text.encode())}]
    tops += [{"token": other, "logprob": math.log(p), "bytes": list(other.encode())} for other, p in others]
    return {**tops[0], "top_logprobs": tops}


def split(text: str, pattern: str = r"\d|[^\d]+") -> list[str]:
    return re.findall(pattern, text, re.DOTALL)


def digits(text: str, pattern: str = r"\d|[^\d]+", **swap: Any) -> Tokens:
    """Every token that holds a digit has .6 for itself, .2 for the other digit, and .1 for what is none of both."""
    tokens = []
    for part in split(text, pattern):
        if found := re.search(r"\d", part):
            other = part.replace(found[0], "1" if found[0] != "1" else "0")
            tokens.append(token(part, (other, 0.2), (part.replace(found[0], "7"), 0.1), ("x", 0.1), share=0.6))
        else:
            tokens.append(token(part, ("?", 0.1)))
    return tokens


def changed(change: Callable[[Json], Any], text: str) -> Tokens:
    """Each token and each of its alternatives, changed."""
    tokens = digits(text)
    for each in tokens:
        for entry in (each, *each["top_logprobs"]):
            change(entry)
    return tokens


MAPPED: dict[str, Callable[[str], Tokens]] = {
    "a digit is a token": digits,
    "a digit has the space before it": lambda text: digits(text, r" ?\d|[^\d ]+| "),
    "a digit has what follows it": lambda text: digits(text, r"\d[^\d]*|[^\d]+"),
    "a digit has both": lambda text: digits(text, r" ?\d[^\d ]*|[^\d ]+| "),
    "a thought is among the tokens, and the end of the turn": lambda text: [
        *digits('<think>Is {"verdict": 1} right?</think>'), *digits(text), token("<|im_end|>")
    ],
    "characters are split between tokens": lambda text: [
        part for character in text for part in (
            [token(character)] if character.isdigit() is False and len(character.encode()) == 1 else
            digits(character) if character.isdigit() else
            [
                {"token": "\ufffd", "logprob": 0.0, "bytes": [byte], "top_logprobs": []} for byte in character.encode()
            ]
        )
    ],
    "no bytes are told": lambda text: changed(lambda entry: entry.pop("bytes"), text),
    "bytes are null": lambda text: changed(lambda entry: entry.update(bytes=None), text),
}  # fmt: skip


def content(body: Json) -> str:
    text = shortest(body["response_format"]["json_schema"]["schema"])
    return text.replace('"a"', '"1921: größer"')


def ask(judge: Judge, model: type[BaseModel] = Verdict) -> Opinion:
    return asyncio.run(judge.inner.opinion("Good?", model))


@pytest.mark.parametrize("tokens", MAPPED.values(), ids=MAPPED)
def test_the_confidence_of_a_verdict_is_its_share_among_the_verdicts(tokens: Callable[[str], Tokens]) -> None:
    with serve(content=content, tokens=tokens) as fake:
        judge = judge_of(fake)
        opinion = ask(judge)
    assert opinion.answer == Verdict(reason="1921: größer", verdict=0)
    assert opinion.confidence == (0.75,)
    known = judge.inner.capabilities
    assert (known.probabilities, known.counts_tokens) == (True, False)
    assert judge.about["logprobs"] == "top 20"


def test_every_verdict_of_an_answer_has_its_confidence_in_order() -> None:
    said = '{"items": [{"statement": "1", "verdict": 0}, {"verdict": 1, "statement": "\\"verdict\\": 0"}], "rating": 3}'
    with serve(content=lambda body: said if "items" in json.dumps(body) else content(body), tokens=digits) as fake:
        opinion = ask(judge_of(fake), Items)
    assert opinion.confidence == (0.75, 0.75, 0.75)  # of 3 the other one is 1


def test_what_a_server_weighs_before_the_mask_is_shared_out_among_what_is_allowed() -> None:
    def tokens(text: str) -> Tokens:
        found = digits(text)
        likelier = token("Yes", ("1", 0.03), ('"', 0.1), share=0.8)["top_logprobs"]
        found[1] = {**token("0", share=0.02), "top_logprobs": likelier}
        return found

    with serve(tokens=tokens) as fake:
        fake.content = lambda body: '{"reason": "a", "verdict": 0}' if '"reason"' in json.dumps(body) else content(body)
        assert ask(judge_of(fake)).confidence == (0.4,)


def refusing(fake: Fake, answer: Any, most: int = 0) -> None:
    """Refuse questions for more log probabilities than a number."""
    given = fake.answer
    fake.answer = lambda path, body: (  # type: ignore[method-assign]
        answer if body.get("top_logprobs", 0) > most else given(path, body)
    )


def foreign(entry: Json) -> None:
    entry.update(token=entry["token"].replace(" ", "Ġ"), bytes=None)


UNUSABLE: dict[str, tuple[Callable[[str], Any] | None, str]] = {
    "none": (None, "tells no log probabilities"),
    "of the chosen token only": (
        lambda text: changed(lambda entry: entry.update(top_logprobs=[]), text),
        "alternatives",
    ),
    "of another text": (lambda text: digits("something else"), "tokens are not those of its answer"),
    "of tokens in another writing": (lambda text: changed(foreign, text), "tokens are not those of its answer"),
    "of another kind": (lambda text: [{"tok": 1}], "not like OpenAI's"),
}


@pytest.mark.parametrize(("tokens", "why"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_server_whose_log_probabilities_cannot_be_used_has_no_confidences_and_says_why(
    tokens: Callable[[str], Any] | None, why: str
) -> None:
    with serve(content=content, tokens=tokens) as fake:
        judge = judge_of(fake)
        opinion = ask(judge)
        assert "logprobs" not in fake.asked[-1][1]
    known = judge.inner.capabilities
    assert (known.probabilities, opinion.confidence) == (False, ())
    assert why in judge.about["logprobs"] and judge.about["logprobs"].startswith("none: ")
    with pytest.raises(NotImplementedError, match="probabilities"):
        judge.choose("Good?", ["a", "b"])


@pytest.mark.parametrize("code", [400, 500])
def test_a_server_that_refuses_log_probabilities_judges_without(code: int) -> None:
    with serve(tokens=digits) as fake:
        refusing(fake, status(code, "logprobs are not for you"))
        judge = judge_of(fake)
        assert ask(judge).answer == Verdict(reason="a", verdict=0)
    assert "not for you" in judge.about["logprobs"] and not judge.inner.capabilities.probabilities


def test_a_server_that_gives_a_few_log_probabilities_only_is_asked_for_these() -> None:
    with serve(tokens=digits) as fake:
        refusing(fake, status(400, "top_logprobs must be at most 5"), most=5)
        judge = judge_of(fake)
        assert ask(judge).confidence == (0.75,)
    assert judge.about["logprobs"] == "top 5"


def test_log_probabilities_are_asked_only_of_answers_with_a_verdict() -> None:
    class Words(BaseModel):
        words: list[str]

    with serve(tokens=digits) as fake:
        ask(judge_of(fake), Words)
        assert "logprobs" not in fake.asked[-1][1]


CHOICES: dict[str, tuple[list[str], list[float]]] = {
    "answers": ([Option(Verdict(reason="r", verdict=one)) for one in (0, 1)], [0.75, 0.25]),
    "answers that go on": ([Option(Items(items=[], rating=one), "rating") for one in (3, 1)], [0.75, 0.25]),
    "texts of answers": (['{"verdict": 0}', '{"verdict": 1}'], [0.75, 0.25]),
    "one is not among the likeliest": (['{"verdict": 0}', '{"verdict": 1}', '{"verdict": 5}'], [0.75, 0.25, 0.0]),
    "plain texts": (["0 is right", "1 is right"], [0.75, 0.25]),
    "only one": (['{"verdict": 0}'], [1.0]),
}


@pytest.mark.parametrize(("options", "shares"), CHOICES.values(), ids=CHOICES)
def test_the_probabilities_of_choices_are_shared_out_among_the_options(options: list[str], shares: list[float]) -> None:
    with serve(tokens=digits) as fake:
        found = judge_of(fake).choose("Which?", options)
    assert list(found) == options and list(found.values()) == pytest.approx(shares)


@pytest.mark.parametrize(("model", "labels", "is_known"), [(Wide, (1, 10), False), (Wider, (0, 22), True)])
def test_options_whose_first_token_may_be_the_same_are_not_weighed(
    model: type[BaseModel], labels: tuple[int, ...], is_known: bool
) -> None:
    with serve(tokens=digits) as fake:
        judge = judge_of(fake)
        assert (ask(judge, model).confidence != ()) == is_known
        options = [Option(model(label=label)) for label in labels]
        if is_known:
            assert judge.choose("Which?", options)[options[0]] == 1.0
        else:
            with pytest.raises(JudgementError, match="cannot be told apart"):
                judge.choose("Which?", options)


def test_confidences_and_thoughts_are_kept_in_the_details_and_sort_uses_probabilities(
    rows: list[Json], tmp_path: Any
) -> None:
    with serve(tokens=digits) as fake:
        judge = {"engine": "server", "url": fake.url}
        evaluator = RAGEvaluator({"metrics": ["context_relevance"], "judge": judge})
        results = evaluator.evaluate(rows[:1])
        assert "|logprobs:20" in evaluator.signatures()["context_relevance"]
        (score,) = results.scores["context_relevance"]
        assert [judgement["confidence"] for judgement in score.judgements] == [(0.75,)] * len(score.judgements)
        (ranking,) = sort(
            ["q"], [["a", "b", "c"]], judge=Judge.from_config(JudgeConfig(**judge)), output_dir=tmp_path, fast=False
        )
    assert ranking
