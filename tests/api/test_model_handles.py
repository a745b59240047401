"""`RAGEvaluator.llm` and `RAGEvaluator.embeddings`: the models, for ragas' own metrics and for LangChain."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from aliases import ModelFolder
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListLLM
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import PromptTemplate
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_huggingface import ChatHuggingFace, HuggingFacePipeline
from ragas.embeddings.base import BaseRagasEmbedding
from ragas.llms.base import InstructorBaseRagasLLM
from ragas.metrics.collections import ContextRelevance
from ragas.metrics.collections.context_relevance.util import ContextRelevanceOutput

from rag_evaluator import Judge, ModelError, RAGEvaluator
from rag_evaluator.config import JudgeConfig
from rag_evaluator.embeddings import LocalEmbeddings

ROOT = Path(__file__).parents[2]
QUESTION = "Where was Nolu Brak born?"
TEXTS = ["Nolu Brak was born in Tesk.", "The Harn bridge has three arches."]
ROW = {"user_input": QUESTION, "retrieved_contexts": TEXTS, "response": "In Tesk."}
SMALL = {"max_new_tokens": 96, "dtype": "float32"}


@pytest.fixture
def evaluator(model_folder: ModelFolder) -> RAGEvaluator:
    judge = {"model": str(model_folder("llama-bytelevel")), **SMALL}
    return RAGEvaluator({"metrics": ["faithfulness", "answer_relevancy"], "judge": judge})


def test_both_models_are_loaded_when_they_are_first_asked_for_and_once(
    evaluator: RAGEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    load_judge = Judge.from_config
    load_vectors = LocalEmbeddings.from_config
    monkeypatch.setattr(Judge, "from_config", lambda *about: loaded.append("judge") or load_judge(*about))
    monkeypatch.setattr(LocalEmbeddings, "from_config", lambda *about: loaded.append("vectors") or load_vectors(*about))
    evaluator.check([ROW])
    assert loaded == []
    assert isinstance(evaluator.llm, Judge)
    assert loaded == ["judge"]
    assert evaluator.llm is evaluator.llm
    assert evaluator.embeddings is evaluator.embeddings
    assert loaded == ["judge", "vectors"]
    evaluator.evaluate([ROW])
    assert loaded == ["judge", "vectors"]


def test_asking_for_the_models_changes_no_signature(evaluator: RAGEvaluator) -> None:
    before = RAGEvaluator(evaluator.config).signatures()
    assert evaluator.llm
    assert evaluator.embeddings
    assert evaluator.signatures() == before


def test_the_pipeline_of_the_judge_is_part_of_a_chain_between_judgements(evaluator: RAGEvaluator) -> None:
    llm: Any = evaluator.llm
    question = "Rate it."
    before = llm.generate(question, ContextRelevanceOutput)
    pipeline = llm.pipeline
    assert isinstance(pipeline, HuggingFacePipeline)
    chain = PromptTemplate.from_template("Q: {question} A:") | pipeline.bind(
        pipeline_kwargs={"max_new_tokens": 8, "do_sample": False}
    )
    answer = (chain | StrOutputParser()).invoke({"question": QUESTION})
    inner = pipeline.pipeline
    expected = inner(f"Q: {QUESTION} A:", max_new_tokens=8, do_sample=False, return_full_text=False)
    assert answer == expected[0]["generated_text"]
    assert Judge(pipeline, llm.config).generate(question, ContextRelevanceOutput) == before


def test_a_chat_model_that_holds_a_pipeline_judges_under_the_grammar(model_folder: ModelFolder) -> None:
    pipeline = Judge.from_config(JudgeConfig(model=str(model_folder("llama-bytelevel")), **SMALL)).pipeline
    judge = ChatHuggingFace(llm=pipeline)
    evaluator: Any = RAGEvaluator({"metrics": ["context_relevance"], "judge": SMALL}, judge=judge)
    [score] = evaluator.evaluate([ROW]).scores["context_relevance"]
    assert score.judgements and not score.missing
    assert evaluator.llm.pipeline is pipeline


def test_embeddings_are_those_of_ragas_and_of_langchain(evaluator: RAGEvaluator) -> None:
    embeddings = evaluator.embeddings
    assert isinstance(embeddings, BaseRagasEmbedding)
    assert isinstance(embeddings, Embeddings)
    assert embeddings.embed_documents(TEXTS) == embeddings.embed_texts(TEXTS)
    assert asyncio.run(embeddings.aembed_documents(TEXTS)) == embeddings.embed_texts(TEXTS)
    assert embeddings.embed_query(QUESTION) == pytest.approx(embeddings.embed_text(QUESTION), abs=1e-6)
    store = InMemoryVectorStore.from_texts(TEXTS, embeddings)
    assert store.similarity_search("Who was born in Tesk?", k=1)[0].page_content == TEXTS[0]


def test_a_query_is_embedded_as_the_model_of_langchain_embeds_queries() -> None:
    class Asymmetric(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, 0.0] for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            return [0.0, 1.0]

    embeddings: Any = RAGEvaluator({"metrics": ["semantic_similarity"]}, embeddings=Asymmetric()).embeddings
    assert embeddings.embed_query("a") == asyncio.run(embeddings.aembed_query("a")) == [0.0, 1.0]
    assert embeddings.embed_documents(["a"]) == [[1.0, 0.0]]


def test_a_langchain_model_that_was_given_scores_metrics_of_ragas() -> None:
    model = FakeListLLM(responses=['{"rating": 2}'])
    llm: Any = RAGEvaluator({"metrics": ["context_relevance"]}, judge=model).llm
    assert isinstance(llm, InstructorBaseRagasLLM)
    score = asyncio.run(ContextRelevance(llm=llm).ascore(user_input=QUESTION, retrieved_contexts=TEXTS))
    assert score.value == 1.0
    assert llm.generate("Rate it.", ContextRelevanceOutput).rating == 2
    with pytest.raises(ModelError, match=r"judge\.engine: transformers"):
        assert llm.pipeline
    again = RAGEvaluator({"metrics": ["context_relevance"]}, judge=llm)
    assert again.evaluate([ROW]).scores["context_relevance"][0].value == 1.0


def test_the_examples_of_the_docs_work() -> None:
    evaluator = RAGEvaluator({"metrics": ["faithfulness", "answer_relevancy"]})
    text = (ROOT / "docs" / "python.md").read_text("utf-8")
    blocks = re.findall(
        r"```python\n(.*?)```", text.partition("## The models by themselves")[2].partition("\n## ")[0], flags=re.DOTALL
    )
    assert len(blocks) == 2
    names: dict[str, Any] = {"evaluator": evaluator}
    for block in blocks:
        exec(compile(block, "python.md", "exec"), names)
    assert 0 <= names["score"].value <= 1
    assert isinstance(names["answer"], str)
    assert names["vector"] == evaluator.embeddings.embed_query(QUESTION)
