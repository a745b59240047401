"""Answers that no server should give: each is an error with its reason, none a traceback, and none fills the memory."""

import asyncio
import gzip
import json
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_server import Fake, obedient, serve, status
from pydantic import BaseModel
from test_logprobs import Verdict, digits
from transformers import AutoTokenizer

from rag_evaluator import Judge, JudgeLostError, JudgementError, ModelError, RagEvaluatorError
from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import Address, Choice, Continuation, LlamaCpp, Server, Text, Transport, Vllm
from rag_evaluator.judge.engines.server import http

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
DEEP = "[" * 100_000 + "]" * 100_000
LIMIT = 10_000


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PAUSE", 0.01)
    monkeypatch.setattr(http, "TRIES", 2)


def judge_of(fake: Fake, **settings: Any) -> Judge:
    return Judge.from_config(JudgeConfig(engine="server", url=fake.url, **settings))


def ask(judge: Judge, model: type[BaseModel] = Verdict) -> Any:
    (answer,) = asyncio.run(gathered(judge, model))
    return answer


async def gathered(judge: Judge, model: type[BaseModel]) -> list[Any]:
    return list(await asyncio.gather(judge.inner.opinion("Good?", model), return_exceptions=True))


def bomb() -> bytes:
    """A million bytes in a thousand, packed."""
    return gzip.compress(b'{"choices": [' + b" " * 10**6 + b"]}")


LARGE = {
    "packed": (status(200, Content_Encoding="gzip")[:2], bomb()),
    "plain": (status(200)[:2], b'{"choices": [' + b" " * (2 * LIMIT) + b"]}"),
    "refused": (status(400)[:2], b"no " * LIMIT),
}


@pytest.mark.parametrize(("head", "content"), LARGE.values(), ids=LARGE)
def test_an_answer_that_is_too_large_is_not_read(head: Any, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MOST_BYTES", LIMIT)
    with serve() as fake:
        judge = judge_of(fake)
        fake.always = (*head, content)
        error = ask(judge)
    assert isinstance(error, JudgementError | JudgeLostError)
    assert any(words in str(error) for words in (f"{LIMIT} bytes", "Content-Encoding", "status 400: no no"))
    assert len(str(error)) < 600


def test_a_bomb_takes_no_memory() -> None:
    """200 MB in 200 kB; the limits of a running program are not changed for it."""
    packed = gzip.compress(b" " * 200_000_000)
    with serve() as fake:
        judge = judge_of(fake)
        fake.always = (200, {"Content-Encoding": "gzip"}, packed)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert isinstance(ask(judge), JudgementError | JudgeLostError)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB


def test_the_server_is_asked_for_plain_answers() -> None:
    with serve() as fake:
        ask(judge_of(fake))
        assert {headers.get("Accept-Encoding") for _, _, headers in fake.asked} == {"identity"}


def test_lines_without_an_end_are_not_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MOST_BYTES", LIMIT)
    with (
        serve(always=status(200, "data: " + "x" * 5 * LIMIT)) as fake,
        pytest.raises(JudgementError, match=f"{LIMIT} bytes"),
    ):
        asyncio.run(written(LlamaCpp, fake))


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


@pytest.mark.parametrize("tokens", [None, digits], ids=["plain", "with log probabilities"])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_odd_texts_of_answers_are_missing_scores_or_answers(content: str, tokens: Any) -> None:
    with serve(tokens=tokens) as fake:
        judge = judge_of(fake)
        fake.content = lambda body: content
        assert not isinstance(ask(judge), Exception) or isinstance(ask(judge), JudgementError)


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


def changed(key: str, value: Any) -> Callable[[str], list[dict[str, Any]]]:
    """Tokens of which each, and each of its alternatives, has another value."""

    def tokens(text: str) -> list[dict[str, Any]]:
        found = digits(text)
        for token in found:
            for entry in (token, *token["top_logprobs"]):
                entry[key] = value
        return found

    return tokens


TOLD: dict[str, Callable[[str], Any]] = {
    **{f"logprob {value!r}": changed("logprob", value) for value in (1e9, 10**400, float("nan"), float("inf"), "-0.1")},
    **{f"logprob {value!r}": changed("logprob", value) for value in ("much", None, [1], True, 0.5)},
    **{f"bytes {value!r}": changed("bytes", value) for value in (10**12, [300], [-1], "abc", {}, True)},
    "alternatives that are a text": changed("top_logprobs", "abc"),
    "alternatives that are numbers": changed("top_logprobs", [1, 2]),
    "tokens that are a text": lambda text: "abc",
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


@pytest.mark.parametrize("logprobs", ["abc", [1], 7, {"content": 7}, {"content": {}}])
def test_log_probabilities_of_another_form_are_not_used(logprobs: Any) -> None:
    with serve(tokens=digits) as fake:
        judge, answer = judge_of(fake), fake.answer

        def odd(path: str, body: dict[str, Any]) -> Any:
            code, headers, content = answer(path, body)
            told = json.loads(content)
            told["choices"][0]["logprobs"] = logprobs
            return code, headers, json.dumps(told).encode()

        fake.answer = odd  # type: ignore[method-assign]
        assert ask(judge).confidence == ()


async def written(dialect: Any, fake: Fake) -> list[int]:
    transport = Transport(Address(fake.url), offline=True)
    continuation = Continuation([7], Choice((Text("0"), Text("1"))), 0, 8)
    try:
        return [token.token async for token in dialect(transport, Server("d", "9", "tiny")).write(continuation)]
    finally:
        await transport.aclose()


TOKENS: list[Any] = ["5", 5.0, True, -1, None, [5], 10**30]
LOGPROBS: list[Any] = ["much", "-0.1", 1e9, float("nan"), None, [1], True, 10**400]


def of_vllm(token: Any, name: Any, logprob: Any) -> str:
    tops = [{name: logprob}]
    return json.dumps({"choices": [{"token_ids": [token], "logprobs": {"top_logprobs": tops}}]})


def of_llama(token: Any, name: Any, logprob: Any) -> str:
    entry = {"id": name, "logprob": logprob}
    told = [{**entry, "top_logprobs": [entry]}]
    return f"data: {json.dumps({'tokens': [token], 'tokens_predicted': 1, 'completion_probabilities': told})}\n\n"


ODD = {
    "vllm": [
        *(of_vllm(token, "token_id:5", -0.1) for token in TOKENS),
        *(of_vllm(5, "token_id:5", logprob) for logprob in LOGPROBS),
        *(of_vllm(5, name, -0.1) for name in ("five", "token_id:", "token_id:-5")),
        *('{"choices": 5}', '{"choices": [5]}', "[]", "null", DEEP, '{"choices": [{"logprobs": [], "token_ids": 5}]}'),
        '{"choices": [{"token_ids": [5], "logprobs": {"top_logprobs": ["abc"]}}]}',
    ],
    "llama.cpp": [
        *(of_llama(token, token, -0.1) for token in TOKENS),
        *(of_llama(5, 5, logprob) for logprob in LOGPROBS),
        *(f"data: {text}\n\n" for text in ("5", "[]", "null", DEEP, '{"tokens_predicted": 1, "tokens": 5}')),
        'data: {"tokens_predicted": 1, "tokens": [5], "completion_probabilities": 5}\n\n',
        'data: {"tokens_predicted": 1, "tokens": [5], "completion_probabilities": [5]}\n\n',
        'data: {"tokens_predicted": 1, "tokens": [5], "tokens_evaluated": "many", "completion_probabilities": 7}\n\n',
    ],
}


@pytest.mark.parametrize(
    ("dialect", "text"),
    [(dialect, text) for dialect, texts in ODD.items() for text in texts],
    ids=[f"{dialect} {text[:150]}" for dialect, texts in ODD.items() for text in texts],
)
def test_odd_tokens_of_servers_that_take_ids_are_errors_with_a_reason(dialect: str, text: str) -> None:
    kind: Any = Vllm if dialect == "vllm" else LlamaCpp
    with serve(always=status(200, text)) as fake, pytest.raises(RagEvaluatorError):
        asyncio.run(written(kind, fake))


MODELS = [DEEP, "5", "null", '"a"', "{}", '{"data": 5}', '{"data": [5]}', '{"data": [{"id": 5}]}']


@pytest.mark.parametrize("owner", ["vllm", "llamacpp", "somebody"])
@pytest.mark.parametrize("text", MODELS, ids=[text[:20] for text in MODELS])
def test_odd_lists_of_models_are_errors_with_a_reason(owner: str, text: str) -> None:
    with serve(owner=owner) as fake:
        answer = fake.answer
        fake.answer = lambda path, body: (  # type: ignore[method-assign]
            status(200, text) if path != "/v1/models" or owner == "somebody" else answer(path, body)
        )
        with pytest.raises(ModelError, match=r"judge\."):
            judge_of(fake)


@pytest.mark.parametrize("token", [535, 536, 10**6])
def test_a_token_that_comes_again_although_no_grammar_allows_it_is_an_error(
    token: int, model_folder: Callable[..., Path]
) -> None:
    folder = model_folder("llama-bytelevel")
    write = obedient(AutoTokenizer.from_pretrained(folder), 600, 1)
    with serve(owner="vllm", write=write) as fake:
        judge = judge_of(fake, model=str(folder))
        tops = {"top_logprobs": [{f"token_id:{token}": -0.1}]}
        fake.write = lambda body: {"choices": [{"token_ids": [token], "logprobs": tops}]}
        assert isinstance(ask(judge), JudgementError | JudgeLostError)
