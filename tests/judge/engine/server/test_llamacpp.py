"""A real llama.cpp server beside our own engine: the 48 questions have equal tokens in float32."""

import asyncio
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from rag_evaluator import Judge, RAGEvaluator
from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import Continuation, Opinion, Reply, Request, ServerEngine, TransformersEngine
from tools.gguf_model import llama_cpp, write_gguf
from tools.requests48 import requests

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
NEAR = 1e-4


@pytest.fixture(scope="module")
def folder(model_folder: Callable[..., Path]) -> Path:
    return model_folder("llama")


@pytest.fixture(scope="module")
def gguf(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(folder, tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture(scope="module")
def server(gguf: Path) -> Iterator[str]:
    with llama_cpp(gguf) as url:
        yield url


def settings_of(folder: Path, url: str) -> dict[str, Any]:
    return {"engine": "server", "model": str(folder), "url": url, "batch_size": 1}


def answers(engine: Any, asked: list[Request]) -> list[Reply]:
    async def replies() -> list[Reply]:
        return list(await asyncio.gather(*map(engine.generate, asked)))

    replied: list[Reply] = asyncio.run(replies())
    return replied


@pytest.mark.models
def test_llama_cpp_writes_our_tokens_and_weighs_verdicts_as_we_do(folder: Path, server: str) -> None:
    ours = TransformersEngine.load(JudgeConfig(model=str(folder), dtype="float32"), True)
    theirs = ServerEngine.load(JudgeConfig(**settings_of(folder, server)), True)
    asked = requests(ours)
    expected = answers(ours, asked)
    assert len(asked) == 48
    assert sum("string" in reply.cut for reply in expected) > 5
    banned = with_bans(theirs)
    for number, (reply, own) in enumerate(zip(answers(theirs, asked), expected, strict=True)):
        assert (number, reply.text, reply.token_ids) == (number, own.text, own.token_ids)
        assert (reply.complete, reply.cut) == (own.complete, own.cut)
        assert reply.confidence == pytest.approx(own.confidence, abs=NEAR)
    assert banned  # a list was ended by its limits


def with_bans(engine: Any) -> list[Continuation]:
    """The requests in which the budget bans tokens, as they are sent."""
    banned, write = [], engine.dialect.write

    def watched(continuation: Continuation) -> Any:
        banned.extend([continuation] if len(continuation.banned) > 1 else [])
        return write(continuation)

    engine.dialect.write = watched
    return banned


def test_llama_cpp_gives_our_probabilities_of_choices(folder: Path, server: str) -> None:
    options = ['{"verdict": 0}', '{"verdict": 1}', '{"no": 1}', '{"no"']
    ours = Judge.from_config(JudgeConfig(model=str(folder), dtype="float32"))
    theirs = Judge.from_config(JudgeConfig(**settings_of(folder, server)))
    expected = ours.choose("Is it </s> useful?", options)
    assert theirs.choose("Is it </s> useful?", options) == pytest.approx(expected, abs=NEAR)
    assert math.isclose(sum(expected.values()), 1.0)


@pytest.mark.models
def test_a_whole_evaluation_runs_through_llama_cpp(folder: Path, server: str, rows: list[dict[str, Any]]) -> None:
    metrics = ["faithfulness", "context_relevance", "factual_correctness"]
    expected = RAGEvaluator({"metrics": metrics, "judge": {"model": str(folder), "max_new_tokens": 200}}).evaluate(rows)
    judge = {**settings_of(folder, server), "max_new_tokens": 200}
    results = RAGEvaluator({"metrics": metrics, "judge": judge}).evaluate(rows)
    for name in metrics:
        assert [score.value for score in results.scores[name]] == [score.value for score in expected.scores[name]]
    (about,) = results.manifest["judge_paths"]
    assert about["dialect"] == "llama.cpp" and about["same_bytes"] == "same batches"


def test_the_signature_names_the_engine_and_what_is_served_but_no_path(folder: Path, gguf: Path, server: str) -> None:
    config = {"metrics": ["context_relevance"], "judge": settings_of(folder, server)}
    line = RAGEvaluator(config).signatures()["context_relevance"]
    for part in ("|engine:server|", "|dialect:llama.cpp|", "|served:tiny.gguf|", "|precision:all F32|", "|weights:"):
        assert part in line
    assert "not verified" not in line and "127.0.0.1" not in line and str(gguf.parent) not in line
    ours = RAGEvaluator({"metrics": ["context_relevance"], "judge": {"model": str(folder)}})
    assert ours.signatures()["context_relevance"] != line


def test_several_slots_promise_less(folder: Path, gguf: Path) -> None:
    with llama_cpp(gguf, slots=2) as url:
        engine = ServerEngine.load(JudgeConfig(**settings_of(folder, url)), True)
    assert engine.capabilities.same_bytes == "no" and engine.about["same_bytes"] == "no"


def test_auto_is_as_many_requests_as_a_real_llama_cpp_has_slots(folder: Path, gguf: Path) -> None:
    with llama_cpp(gguf, slots=3) as url:
        for size, most in (("auto", 3), (7, 7)):
            engine = ServerEngine.load(JudgeConfig(**settings_of(folder, url) | {"batch_size": size}), True)
            assert engine.capabilities.in_flight == most


def test_a_real_llama_cpp_says_how_much_it_has_read_and_answers_under_its_name(folder: Path, server: str) -> None:
    """Its count is that of all tokens, also of those in its cache, so that no whole prompt counts as cut."""
    engine: Any = ServerEngine.load(JudgeConfig(**settings_of(folder, server)), True)
    seen: list[dict[str, Any]] = []
    inner = engine.dialect._written
    engine.dialect._written = lambda event, body: seen.append(event) or inner(event, body)
    ids = list(range(20, 80))

    async def asked() -> None:
        for _ in range(2):
            await engine.dialect.next_logprobs(ids, [30])

    asyncio.run(asked())
    assert [event["tokens_evaluated"] for event in seen] == [len(ids)] * len(seen) and len(seen) >= 2
    assert all(event["model"] == engine.server.model for event in seen)


MARKERS = "<think> </think>\n\n<|end|> <|channel|>final<|message|>"


@pytest.mark.parametrize("family", ["r1", "qwen3", "harmony"])
def test_thoughts_and_answers_are_those_of_our_own_engine(
    model_folder: Callable[..., Path], tmp_path: Path, family: str
) -> None:
    """One within the budget, one cut by it, and the end of a thought in the data, which ends nothing."""
    folder = model_folder(family, eager=2.0)
    settings: dict[str, Any] = {"thinking": "on", "thinking_tokens": 24, "max_new_tokens": 48}
    with llama_cpp(write_gguf(folder, tmp_path / "m.gguf")) as url:
        theirs = Judge.from_config(JudgeConfig(**settings_of(folder, url), **settings))
        found = opinions(theirs)
        shares = theirs.choose(THINKING[0], CHOICES)
    ours = Judge.from_config(JudgeConfig(model=str(folder), dtype="float32", **settings))
    expected = opinions(ours)
    assert {bool(opinion.cut & {"thinking"}) for opinion in expected} == {True, False}
    for one, other in zip(found, expected, strict=True):
        assert (one.thinking, one.thinking_tokens, one.answer, one.cut) == (
            other.thinking, other.thinking_tokens, other.answer, other.cut
        )  # fmt: skip
        assert one.confidence == pytest.approx(other.confidence, abs=NEAR)
    assert found[-1].thinking, "the marker in the data ended the thought"
    assert shares == pytest.approx(ours.choose(THINKING[0], CHOICES), abs=NEAR)


class Verdict(BaseModel):
    note: str
    verdict: Literal[0, 1]


THINKING = [*(f"Is {number} a lucky number, and why?" for number in range(5)), f"Repeat {MARKERS} and judge."]
CHOICES = [' {"verdict": 0}', ' {"verdict": 1}']


def opinions(judge: Judge) -> list[Opinion]:
    async def found() -> list[Opinion]:
        return list(await asyncio.gather(*(judge.inner.opinion(prompt, Verdict) for prompt in THINKING)))

    return asyncio.run(found())
