"""A second engine is a module and a row: this one writes the shortest answer that the grammar allows, byte by byte."""

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import llguidance
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

from rag_evaluator import METRICS, ConfigError, Judge, ModelError, RAGEvaluator
from rag_evaluator.config import JudgeConfig
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.judge import ENGINES, Capabilities, Reply, Request

BYTES = llguidance.LLTokenizer("byte")
ENDINGS = b'"]}0'  # what ends a string, a list, an object or a number; else the lowest byte


class Bytes:
    """Each byte is a token."""

    answer_prefix = ""

    def encode(self, prompt: str) -> list[int]:
        return list(prompt.encode())

    def continuation(self, answer: str) -> list[int]:
        return list(answer.encode())

    def count(self, text: str) -> int:
        return len(text.encode())


def shortest(grammar: str | None) -> "array[int]":
    """The bytes of the shortest answer."""
    matcher, tokens = llguidance.LLMatcher(BYTES, grammar), array("I")
    while not matcher.is_stopped():
        bits = int.from_bytes(matcher.compute_bitmask(), "little")
        allowed = [byte for byte in (*ENDINGS, *range(256)) if bits >> byte & 1]
        matcher.consume_token(allowed[0])
        tokens.append(allowed[0])
    return tokens


def text_of(tokens: "array[int]") -> str:
    return bytes(tokens.tolist()).decode()


class Toy:
    accepts = frozenset({"ids", "lark"})
    capabilities = Capabilities(1, True, True, False, True, "always", window=10**6)
    about: Mapping[str, str] = {"path": "toy"}
    model_id = "toy"
    encoder = Bytes()

    @staticmethod
    def find(config: JudgeConfig, offline: bool) -> str:
        return str(DEMO_JUDGE)

    @staticmethod
    def signature_parts(config: JudgeConfig, offline: bool) -> Mapping[str, str]:
        return {}

    @staticmethod
    def capabilities_of(config: JudgeConfig) -> Capabilities | None:
        return None

    @classmethod
    def load(cls, config: JudgeConfig, offline: bool) -> "Toy":
        return cls()

    async def generate(self, request: Request) -> Reply:
        first = shortest(request.grammar)
        tokens = first if request.rest is None else first + shortest(request.rest(text_of(first)))
        return Reply(text_of(tokens), tokens, complete=True)

    async def next_logprobs(
        self, input_ids: Sequence[int], candidates: Sequence[int], group: str = ""
    ) -> Sequence[float]:
        return [math.log(0.1 * (place + 1)) for place in range(len(candidates))]

    async def aclose(self) -> None: ...


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The configuration of a judge that the toy runs."""
    monkeypatch.setitem(ENGINES, "toy", f"{__name__}:Toy")
    return {"engine": "toy", "max_new_tokens": 100_000}


def test_an_unknown_engine_is_refused_before_anything_is_loaded() -> None:
    with pytest.raises(ConfigError, match=r"judge\.engine is 'transformer', .* Did you mean 'transformers'\?"):
        Judge.from_config(JudgeConfig(engine="transformer"))
    with pytest.raises(ConfigError, match=r"judge\.engine is 'tgi', which is not an engine"):
        RAGEvaluator({"metrics": ["context_relevance"], "judge": {"engine": "tgi"}}).signatures()


def test_a_toy_engine_answers_a_whole_evaluation(toy: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    names = [name for name, metric in METRICS.items() if metric.judge]
    embeddings = DeterministicFakeEmbedding(size=8)
    rubrics = {f"score{number}_description": f"level {number}" for number in (1, 2, 3)}
    others = {"reference_contexts": ["Nolu Brak was born in Tesk."], "rubrics": rubrics}
    whole = [{**row, **others} for row in rows]
    results = RAGEvaluator({"metrics": names, "judge": toy}, embeddings=embeddings).evaluate(whole)
    reasons = {name: {score.reason for score in scores} for name, scores in results.scores.items()}
    judged = [score for scores in results.scores.values() for score in scores if score.judgements]
    assert judged and not [score for score in judged if any(one["error"] for one in score.judgements)], reasons
    assert results.scores["context_relevance"][0].value == 0.0
    assert results.manifest["judge_paths"] == [{"path": "toy"}]
    assert all("|engine:toy|" in line for line in results.signatures.values())


def test_repeats_are_refused_when_the_engine_tells_only_after_loading_that_it_is_reproducible(
    toy: dict[str, Any], rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Request] = []
    monkeypatch.setattr(Toy, "generate", lambda self, request: asked.append(request))
    judge = {**toy, "temperature": 0.7}  # what the toy makes nothing of
    evaluator = RAGEvaluator({"metrics": ["context_relevance"], "judge": judge, "repeats": 5})
    evaluator.check(rows)
    with pytest.raises(ConfigError, match="config: repeats is 5, but this judge is reproducible"):
        evaluator.evaluate(rows)
    assert asked == []


def test_an_engine_without_a_pipeline_of_langchain_says_which_has_one(toy: dict[str, Any]) -> None:
    llm = RAGEvaluator({"metrics": ["context_relevance"], "judge": toy}).llm
    with pytest.raises(
        ModelError, match=r"only a model that judge\.engine: transformers runs has a HuggingFacePipeline"
    ):
        assert llm.pipeline
