"""What every engine keeps to: a row of `ENGINES` is loaded with a tiny model and asked as the judge asks it.

An engine that takes more than `judge.model` has a place in `MAKERS`.
"""

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from transformers import AutoTokenizer

from rag_evaluator import Judge, ModelError
from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import ENGINES, Capabilities, Engine, LazyJudge, Reply, find_engine
from tests.judge.engine.server import fake_server as chats

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
PROMPTS = ["Is Tesk a town?", "Is Om a river, and where?", "Who built the bridge of Harn, and when was that?"]


class Verdict(BaseModel):
    reason: str
    verdict: int


@contextmanager
def asked_server(folder: Path, place: Path, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    count = AutoTokenizer.from_pretrained(folder)
    with chats.serve(count=lambda text: len(count(text, add_special_tokens=False)["input_ids"])) as fake:
        yield {"url": fake.url}


@contextmanager
def on_the_cpu(folder: Path, place: Path, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    yield {"dtype": "float32", "vllm": {"args": ["--enforce-eager"]}}


@contextmanager
def model_alone(folder: Path, place: Path, patch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    yield {"dtype": "float32"}


MAKERS = {"server": asked_server, "vllm": on_the_cpu}


HAS_VLLM = find_spec("vllm") is not None
PARAMS = [
    pytest.param(name, marks=[pytest.mark.vllm] if name == "vllm" else [])
    for name in ENGINES
    if name != "vllm" or HAS_VLLM
]


@pytest.fixture(params=PARAMS)
def config(
    request: pytest.FixtureRequest,
    model_folder: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[JudgeConfig]:
    """The configuration of a judge that the engine can load."""
    folder = model_folder("llama-bytelevel")
    with MAKERS.get(request.param, model_alone)(folder, tmp_path, monkeypatch) as settings:
        yield JudgeConfig(engine=request.param, model=str(folder), max_new_tokens=48, **settings)


@pytest.fixture
def judge(config: JudgeConfig) -> Iterator[Judge]:
    judge = Judge.from_config(config)
    yield judge
    asyncio.run(judge.inner.engine.aclose())
    asyncio.run(judge.inner.engine.aclose())  # it may be closed twice


def replies_of(judge: Judge, prompts: Sequence[str]) -> list[Reply]:
    async def together() -> list[Reply]:
        requests = [judge.inner.request(prompt, Verdict) for prompt in prompts]
        return list(await asyncio.gather(*(judge.inner.engine.generate(request) for request in requests)))

    return asyncio.run(together())


def logprobs_of(judge: Judge, prompt: str, candidates: Sequence[int]) -> list[float]:
    engine = judge.inner.engine
    return list(asyncio.run(engine.next_logprobs(engine.encoder.encode(prompt), candidates)))


def test_an_engine_is_found_and_describes_itself_without_paths(config: JudgeConfig, tmp_path: Path) -> None:
    row = find_engine(config.engine)
    assert row.find(config, offline=True)
    parts = row.signature_parts(config, offline=True)
    assert all(isinstance(value, str) for value in parts.values())
    assert config.model not in str(parts)
    with pytest.raises(ModelError):
        row.find(config.model_copy(update={"model": str(tmp_path / "none")}), offline=True)


def test_what_is_said_of_an_engine_before_loading_holds_for_the_loaded_one(config: JudgeConfig, judge: Judge) -> None:
    assert LazyJudge(None, config).greedy == judge.inner.capabilities.greedy
    engine = judge.inner.engine
    assert isinstance(engine, Engine)
    assert isinstance(engine.capabilities, Capabilities)
    assert engine.capabilities.in_flight > 0
    assert engine.capabilities.window or not engine.capabilities.counts_tokens
    assert all(isinstance(value, str) for value in engine.about.values())
    assert engine.about["path"]


def test_text_is_what_it_was_after_encoding_and_decoding(judge: Judge) -> None:
    encoder = judge.inner.engine.encoder
    answer = '{"reason": "café 他", "verdict": 1}'
    assert encoder.decode(encoder.continuation(answer)) == encoder.answer_prefix + answer
    assert encoder.decode(encoder.encode(PROMPTS[0])).endswith(PROMPTS[0])
    assert 0 < encoder.count("a") < encoder.count("a b c d e f g h")


def tokens(judge: Judge, reply: Reply) -> list[int]:
    """Return the tokens of a reply, of which an engine has none that takes no token ids."""
    assert (len(reply.token_ids) > 0) == judge.inner.capabilities.counts_tokens
    return list(reply.token_ids)


def test_an_answer_obeys_its_grammar_and_its_budget(judge: Judge) -> None:
    for prompt, reply in zip(PROMPTS, replies_of(judge, PROMPTS), strict=True):
        assert reply.complete
        assert Verdict.model_validate_json(reply.text)
        assert len(tokens(judge, reply)) <= judge.inner.request(prompt, Verdict).max_new_tokens


def test_an_answer_is_the_same_alone_and_beside_others(judge: Judge) -> None:
    together = replies_of(judge, PROMPTS)
    assert [replies_of(judge, [prompt])[0] for prompt in PROMPTS] == together


def test_each_candidate_gets_its_own_log_probability(judge: Judge) -> None:
    if not judge.inner.capabilities.counts_tokens:
        return
    logprobs = logprobs_of(judge, PROMPTS[0], [5, 9, 30])
    assert len(logprobs) == 3
    assert all(value <= 0 for value in logprobs) and math.isfinite(sum(logprobs))
