"""Models that nothing tells from others of their kind: what they said is never taken for another's answer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aliases import ModelFolder
from langchain_core.embeddings import Embeddings
from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline

from rag_evaluator import RAGEvaluator, ScriptedJudge
from rag_evaluator.config import JudgeConfig
from rag_evaluator.embeddings import LocalEmbeddings
from rag_evaluator.hub import is_unnamed
from rag_evaluator.judge import LazyJudge

ROWS = [{"user_input": "Where?", "retrieved_contexts": ["In Tesk."], "response": "Tesk.", "reference": "In Tesk."}]
BOTH = {"metrics": ["context_relevance", "exact_match"]}


def judge_of(rating: int, **arguments: Any) -> ScriptedJudge:
    return ScriptedJudge({"ContextRelevanceOutput": {"rating": rating}}, **arguments)


class Fixed(Embeddings):
    """Every text is the same vector, or each text is orthogonal to the one before."""

    def __init__(self, alike: bool) -> None:
        self.alike = alike
        self.asked = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked += len(texts)
        return [[1.0, 0.0] if self.alike or len(text) % 2 else [0.0, 1.0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


MODELS: list[tuple[str, Callable[[int], dict[str, Any]]]] = [  # metric -> the model that gives a score, without a name
    ("context_relevance", lambda score: {"judge": judge_of(2 * score)}),
    ("semantic_similarity", lambda score: {"embeddings": Fixed(bool(score))}),
    ("semantic_similarity", lambda score: {"embeddings": LocalEmbeddings(Fixed(bool(score)))}),
]


@pytest.mark.parametrize("values", [(1, 0), (0, 1), (1, 0, 1)])
@pytest.mark.parametrize(("metric", "models"), MODELS, ids=["judge", "embeddings", "embeddings of ragas"])
def test_a_model_without_a_name_does_not_inherit_the_scores_of_another(
    metric: str, models: Callable[[int], dict[str, Any]], values: tuple[int, ...], tmp_path: Path
) -> None:
    rows = [{**ROWS[0], "reference": "At Tesk."}]  # an odd and an even number of letters
    for value in values:
        results = RAGEvaluator({"metrics": [metric]}, **models(value)).evaluate(rows, folder=tmp_path / "out")
        assert [score.value for score in results.scores[metric]] == [pytest.approx(value)]


def test_the_signature_of_a_model_without_a_name_says_so_and_is_no_key() -> None:
    evaluator = RAGEvaluator(BOTH, judge=judge_of(1))
    lines = evaluator.signatures()
    assert "|judge:(unnamed)|" in lines["context_relevance"]
    assert [is_unnamed(line) for line in lines.values()] == [True, False]
    assert list(evaluator.stage(ROWS).plan.columns.values()) == [None, lines["exact_match"]]


def test_a_pipeline_made_in_memory_has_no_name(model_folder: ModelFolder) -> None:
    folder = model_folder("llama-bytelevel")
    loaded = AutoModelForCausalLM.from_pretrained(folder)
    model = type(loaded)(loaded.config)
    model.config._name_or_path = model.name_or_path = ""
    made = pipeline("text-generation", model=model, tokenizer=AutoTokenizer.from_pretrained(folder))
    assert LazyJudge(made, JudgeConfig()).identity is None


def test_a_pipeline_with_an_adapter_does_not_pass_for_its_base_model(model_folder: ModelFolder) -> None:
    folder = model_folder("llama-bytelevel")
    made = pipeline("text-generation", model=str(folder))
    assert LazyJudge(made, JudgeConfig()).identity is not None
    made.model.peft_config = {"default": object()}  # as peft leaves it
    assert LazyJudge(made, JudgeConfig()).identity is None
