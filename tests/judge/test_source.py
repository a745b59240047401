"""A judge before it is loaded: what names it, and whose settings count."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import Judge, RAGEvaluator, ScriptedJudge
from rag_evaluator.config.schema import make_config
from rag_evaluator.config.sections import JudgeConfig
from rag_evaluator.judge.judge import LazyJudge
from rag_evaluator.judge.protocol import Capabilities, Opinion
from rag_evaluator.tasks.question import TaskJudge

ModelFolder = Callable[..., Path]


class Protocol:
    """A judge of a user, who knows what its answers depend on."""

    capabilities = Capabilities(1, True, False, False, False, "always")
    about: Mapping[str, str] = {}

    def __init__(self, signature: str | None) -> None:
        self.signature = signature

    async def opinion(self, prompt: str, response_model: type[Any], draw: tuple[int, int] = (0, 0)) -> Opinion:
        return Opinion(response_model(rating=2))

    async def choose(self, prompt: str, options: Sequence[str], draw: tuple[int, int] = (0, 0)) -> Mapping[str, float]:
        raise NotImplementedError

    def count(self, text: str) -> int:
        raise NotImplementedError

    def room(self, prompt: str) -> int:
        raise NotImplementedError

    async def aclose(self) -> None:
        """Nothing is open."""


def test_a_judge_given_as_an_object_is_named_by_its_own_settings(model_folder: ModelFolder) -> None:
    settings = JudgeConfig(model=str(model_folder("llama-bytelevel")), temperature=0.7, seed=3, max_new_tokens=32)
    evaluator = RAGEvaluator({"metrics": ["context_relevance"]}, judge=Judge.from_config(settings))
    line = evaluator.signatures()["context_relevance"]
    assert "decode:temperature=0.7,seed=3" in line and "max_new_tokens:32" in line


@pytest.mark.parametrize(("signature", "is_named"), [("mine|1", True), (None, False)])
def test_a_judge_that_says_what_its_answers_depend_on_has_a_name(signature: str | None, is_named: bool) -> None:
    source = LazyJudge(Protocol(signature), JudgeConfig())
    other = LazyJudge(Protocol("mine|2"), JudgeConfig())
    assert (source.signature is not None) == is_named
    assert source.line != other.line
    row = {"user_input": "Who?", "retrieved_contexts": ["She."]}
    evaluator = RAGEvaluator({"metrics": ["context_relevance"]}, judge=Protocol(signature))
    assert (None not in evaluator.stage([row]).plan.columns.values()) == is_named
    assert evaluator.evaluate([row]).scores["context_relevance"][0].value == 1.0


def test_a_loaded_judge_has_the_signature_of_its_source(model_folder: ModelFolder) -> None:
    source = LazyJudge(None, JudgeConfig(model=str(model_folder("llama-bytelevel")), max_new_tokens=32))
    assert asyncio.run(source.load()).signature == source.signature is not None
    assert asyncio.run(LazyJudge(ScriptedJudge(), JudgeConfig()).load()).signature is None


def test_the_manifest_of_a_task_names_the_judge_that_was_given(model_folder: ModelFolder) -> None:
    folder = str(model_folder("llama-bytelevel"))
    about = TaskJudge("sort", make_config({"metrics": ["bleu"]}), folder).about("sort", 1)
    assert about["config"]["judge"]["model"] == folder
