"""What every engine keeps to: a row of `ENGINES` is loaded with a tiny model and asked as the judge asks it.

An engine that takes more than `judge.model` has a place in `MAKERS`.
"""

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from aliases import ModelFolder, Patch
from pydantic import BaseModel
from transformers import AutoTokenizer

from rag_evaluator import Judge, ModelError
from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import JudgeProtocol, LazyJudge, Opinion, engine_of
from tests.judge.engine.server import fake_server as chats

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
MOST = 48
PROMPTS = ["Is Tesk a town?", "Is Om a river, and where?", "Who built the bridge of Harn, and when was that?"]


class Verdict(BaseModel):
    reason: str
    verdict: int


@contextmanager
def asked_server(folder: Path, place: Path, patch: Patch) -> Iterator[Mapping[str, Any]]:
    count = AutoTokenizer.from_pretrained(folder)
    with chats.serve(count=lambda text: len(count(text, add_special_tokens=False)["input_ids"])) as fake:
        yield {"url": fake.url}


@contextmanager
def on_the_cpu(folder: Path, place: Path, patch: Patch) -> Iterator[Mapping[str, Any]]:
    patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    yield {"dtype": "float32", "vllm": {"args": ["--enforce-eager"]}}


@contextmanager
def model_alone(folder: Path, place: Path, patch: Patch) -> Iterator[Mapping[str, Any]]:
    yield {"dtype": "float32"}


MAKERS = {"server": asked_server, "vllm": on_the_cpu}


HAS_VLLM = find_spec("vllm") is not None
PARAMS = [
    pytest.param(name, marks=[pytest.mark.vllm] if name == "vllm" else [])
    for name in ("transformers", "server", "vllm")
    if name != "vllm" or HAS_VLLM
]


@pytest.fixture(params=PARAMS)
def config(
    request: pytest.FixtureRequest,
    model_folder: ModelFolder,
    tmp_path: Path,
    monkeypatch: Patch,
) -> Iterator[JudgeConfig]:
    """The configuration of a judge that the engine can load."""
    folder = model_folder("llama-bytelevel")
    with MAKERS.get(request.param, model_alone)(folder, tmp_path, monkeypatch) as settings:
        yield JudgeConfig(engine=request.param, model=str(folder), max_new_tokens=MOST, **settings)


@pytest.fixture
def judge(config: JudgeConfig) -> Iterator[Judge]:
    judge = Judge.from_config(config)
    yield judge
    asyncio.run(judge.inner.aclose())
    asyncio.run(judge.inner.aclose())  # it may be closed twice


def opinions_of(judge: Judge, prompts: Sequence[str]) -> list[Opinion]:
    async def together() -> list[Opinion]:
        return list(await asyncio.gather(*(judge.inner.opinion(prompt, Verdict) for prompt in prompts)))

    return asyncio.run(together())


def test_an_engine_is_found_and_describes_itself_without_paths(config: JudgeConfig, tmp_path: Path) -> None:
    source = LazyJudge(None, config)
    source.check()
    assert config.model not in source.line
    with pytest.raises(ModelError):
        LazyJudge(None, config.model_copy(update={"model": str(tmp_path / "none")})).check()


def test_the_description_of_an_engine_before_loading_holds_for_the_loaded_engine(
    config: JudgeConfig, judge: Judge
) -> None:
    assert LazyJudge(None, config).greedy == judge.inner.capabilities.greedy
    assert isinstance(judge.inner, JudgeProtocol)
    known = judge.inner.capabilities
    assert known.in_flight > 0
    assert known.window or not known.counts_tokens
    assert all(isinstance(value, str) for value in judge.about.values())
    assert judge.about["path"]
    assert known.counts_tokens == (engine_of(judge.inner) is not None), "a server takes no token ids"


def test_text_is_what_it_was_after_encoding_and_decoding(judge: Judge) -> None:
    if not judge.inner.capabilities.counts_tokens:
        return
    encoder = judge.inner.engine.encoder
    answer = '{"reason": "café 他", "verdict": 1}'
    assert encoder.decode(encoder.continuation(answer)) == encoder.answer_prefix + answer
    assert encoder.decode(encoder.encode(PROMPTS[0])).endswith(PROMPTS[0])
    assert 0 < encoder.count("a") < encoder.count("a b c d e f g h")


def test_an_answer_obeys_its_grammar_and_its_budget(judge: Judge) -> None:
    for opinion in opinions_of(judge, PROMPTS):
        assert isinstance(opinion.answer, Verdict)
        assert not opinion.cut & {"list"}
        assert (opinion.generated_tokens > 0) == judge.inner.capabilities.counts_tokens
        assert opinion.generated_tokens <= MOST


def test_an_answer_is_the_same_alone_and_beside_others(judge: Judge) -> None:
    together = opinions_of(judge, PROMPTS)
    judge.inner._answers.clear()
    assert [opinions_of(judge, [prompt])[0] for prompt in PROMPTS] == together


def test_each_candidate_gets_its_own_log_probability(judge: Judge) -> None:
    if not judge.inner.capabilities.counts_tokens:
        return
    engine = judge.inner.engine
    logprobs = asyncio.run(engine.next_logprobs(engine.encoder.encode(PROMPTS[0]), [5, 9, 30]))
    assert len(logprobs) == 3
    assert all(value <= 0 for value in logprobs) and math.isfinite(sum(logprobs))
