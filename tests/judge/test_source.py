"""A judge before it is loaded: what names it, and whose settings count."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aliases import ModelFolder
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel
from langchain_huggingface import HuggingFacePipeline
from opinion_judge import OpinionJudge
from transformers import pipeline

from rag_evaluator import Judge, RAGEvaluator, ScriptedJudge
from rag_evaluator.config import JudgeConfig, make_config
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.judge import LazyJudge, Opinion, as_judge
from rag_evaluator.results import judge_of, judge_words, judged_config
from rag_evaluator.tasks import TaskJudge


class Protocol(OpinionJudge):
    """A judge of a user, who knows what its answers depend on."""

    capabilities = replace(as_judge(ScriptedJudge()).capabilities, in_flight=1, probabilities=False)

    def __init__(self, signature: str | None) -> None:
        self.signature = signature

    async def opinion(self, prompt: str, response_model: type[Any], draw: tuple[int, int] = (0, 0)) -> Opinion:
        return Opinion(response_model(rating=2))


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


def test_the_manifest_of_a_task_names_the_judge_that_was_given(model_folder: ModelFolder) -> None:
    folder = str(model_folder("llama-bytelevel"))
    about = TaskJudge("sort", make_config({"metrics": ["bleu"]}), folder).about("sort", 1)
    assert about["config"]["judge"]["model"] == folder


class Chat(FakeListChatModel):
    """A chat model of LangChain with the name of a model."""

    model_name: str = "my-chat"


GIVEN: dict[str, tuple[Callable[[Path], Any], str]] = {
    "transformers pipeline": (lambda folder: pipeline("text-generation", model=str(folder)), "{folder}"),
    "HuggingFacePipeline": (
        lambda folder: HuggingFacePipeline.from_model_id(str(folder), task="text-generation"),
        "{folder}",
    ),
    "Judge of a pipeline": (lambda folder: Judge(pipeline("text-generation", model=str(folder))), "{folder}"),
    "Judge of a configuration": (lambda folder: Judge.from_config(JudgeConfig(model=str(folder))), "{folder}"),
    "chat model": (lambda folder: Chat(responses=[]), "my-chat"),
    "chat model without a name": (lambda folder: FakeListChatModel(responses=[]), "FakeListChatModel"),
    "named script": (lambda folder: ScriptedJudge(model_id="one"), "one"),
    "script": (lambda folder: ScriptedJudge(), "ScriptedJudge"),
    "protocol": (lambda folder: Protocol("mine|1"), "Protocol"),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_a_judge_given_as_an_object_has_its_own_name(kind: str, model_folder: ModelFolder) -> None:
    folder = model_folder("llama-bytelevel")
    make, name = GIVEN[kind]
    evaluator = RAGEvaluator({"metrics": ["context_relevance"]}, judge=make(folder))
    name = name.format(folder=folder)
    assert evaluator.config.judge.model == name
    manifest = evaluator.stage([{"user_input": "Who?", "retrieved_contexts": ["She."]}]).about
    judge = judge_of(manifest)
    assert (judge if isinstance(judge, str) else judge and judge["model"]) == name
    assert judge_words(judged_config(manifest)) == ", according to this judge"


def test_the_demo_judge_given_as_an_object_is_the_toy() -> None:
    loaded = HuggingFacePipeline.from_model_id(str(DEMO_JUDGE), task="text-generation")
    assert LazyJudge(loaded, JudgeConfig()).config.model == "demo"


def test_embeddings_given_as_an_object_have_their_own_name() -> None:
    evaluator = RAGEvaluator({"metrics": ["semantic_similarity"]}, embeddings=DeterministicFakeEmbedding(size=4))
    assert evaluator.config.embeddings.model == "DeterministicFakeEmbedding"
