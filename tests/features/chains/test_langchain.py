"""`EvaluatorChain`: scores the results of LangChain's chains, as one of them."""

import re
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aliases import Json, Patch
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import BaseModel

from rag_evaluator import (
    ConfigError,
    DatasetError,
    EvaluatorChain,
    ModelError,
    RAGEvaluator,
    RagEvaluatorError,
    ScriptedJudge,
    load_dataset,
)
from rag_evaluator.config import EmbeddingsConfig, make_config
from rag_evaluator.embeddings import load_embeddings
from rag_evaluator.results import Run, worst_rows
from rag_evaluator.tasks import warned_once

ROOT = Path(__file__).parents[3]
PARAGRAPHS = [
    "Nolu Brak was a painter. He was born in Tesk in 1871 and moved to Corvania as a child.",
    "The Harn bridge crosses the river Om. Lira Vosk built it in 1921.",
    "Mount Selo is 812 metres high. It is the highest mountain of Corvania.",
    "The port of Tesk exports salt and timber.",
]
QUESTIONS = ["Where was the painter Nolu Brak born?", "Who built the Harn bridge?", "How high is Mount Selo?"]
ANSWERS = ["He was born in Tesk. He was a king.", "Lira Vosk built it.", "It is 900 metres high. It is in Tesk."]
TRUTHS = ["He was born in Tesk.", "Lira Vosk built the Harn bridge.", "Mount Selo is 812 metres high."]
SUPPORTED = ("born in Tesk", "Lira Vosk")  # parts of true statements
FAITHFULNESS = [0.5, 1.0, 0.0]  # of ANSWERS, by hand


def judge(**arguments: Any) -> ScriptedJudge:
    """Each sentence of an answer is a statement; it is supported if it has a true part."""

    def script(prompt: Any, response_model: type[BaseModel]) -> Json:
        shown = prompt.data
        if response_model.__name__ == "StatementGeneratorOutput":
            return {"statements": [sentence.strip(".") for sentence in shown.answer.split(". ")]}
        if response_model.__name__ == "NLIStatementOutput":
            verdicts = [int(any(part in statement for part in SUPPORTED)) for statement in shown.statements]
            rows = zip(shown.statements, verdicts, strict=True)
            return {"statements": [{"statement": s, "reason": "r", "verdict": v} for s, v in rows]}
        if response_model.__name__ == "ContextRelevanceOutput":
            return {"rating": 2}
        return {"classifications": [{"statement": "s", "reason": "r", "attributed": 1}]}

    return ScriptedJudge(script, **arguments)


@pytest.fixture(scope="module")
def retriever() -> Any:
    """The nearest paragraph by the bundled embeddings."""
    store = InMemoryVectorStore(load_embeddings(EmbeddingsConfig()))
    store.add_documents([Document(text) for text in PARAGRAPHS])
    return store.as_retriever(search_kwargs={"k": 1})


def model() -> FakeListChatModel:
    return FakeListChatModel(responses=ANSWERS)


def lcel(retriever: Any) -> Runnable[Any, Any]:
    prompt = ChatPromptTemplate.from_template("{context} {question}")
    parts = {"context": retriever, "question": RunnablePassthrough()}
    return RunnableParallel(parts).assign(answer=prompt | model() | StrOutputParser())


def retrieval_qa(retriever: Any) -> Any:
    from langchain_classic.chains import RetrievalQA

    return RetrievalQA.from_chain_type(model(), retriever=retriever, return_source_documents=True)


def passes_of(monkeypatch: Patch) -> list[int]:
    """Rows of each call of an evaluator."""
    passes: list[int] = []
    evaluate = RAGEvaluator.evaluate

    def counted(self: RAGEvaluator, data: Any = None, **arguments: Any) -> Any:
        passes.append(len(data))
        return evaluate(self, data, **arguments)

    monkeypatch.setattr(RAGEvaluator, "evaluate", counted)
    return passes


def test_the_result_of_retrieval_qa_comes_back_with_its_score(retriever: Any) -> None:
    result = retrieval_qa(retriever).invoke({"query": QUESTIONS[0]})
    assert [document.page_content for document in result["source_documents"]] == PARAGRAPHS[:1]
    scored = EvaluatorChain(metric="faithfulness", judge=judge()).invoke(result)
    assert scored == {**result, "faithfulness_score": 0.5}
    truth = {**scored, "ground_truths": TRUTHS[0]}
    again = EvaluatorChain(metric="context_recall", judge=judge()).invoke(truth)
    assert again == {**truth, "context_recall_score": 1.0}


def test_the_flow_of_a_batch_of_examples_makes_one_pass(retriever: Any, monkeypatch: Patch) -> None:
    passes = passes_of(monkeypatch)
    examples = [
        {"query": question, "ground_truths": [truth]} for question, truth in zip(QUESTIONS, TRUTHS, strict=True)
    ]
    predictions = [retrieval_qa(retriever).invoke({"query": QUESTIONS[0]})]
    predictions += lcel(retriever).batch(QUESTIONS[1:], {"max_concurrency": 1})  # a list is answered in its order
    predictions[1]["answer"], predictions[2]["answer"] = ANSWERS[1:]
    scores = EvaluatorChain(metric="faithfulness", judge=judge()).evaluate(examples, predictions)
    assert scores == [{"faithfulness_score": score} for score in FAITHFULNESS]
    assert passes == [3]
    both = EvaluatorChain(metric=["faithfulness", "context_recall"], judge=judge()).evaluate(examples, predictions)
    assert both == [{"faithfulness_score": score, "context_recall_score": 1.0} for score in FAITHFULNESS]
    assert passes == [3, 3]


def results(count: int = 3) -> list[Json]:
    """What LCEL chains give back."""
    rows = zip(QUESTIONS, PARAGRAPHS, ANSWERS, strict=False)
    return [{"question": q, "context": [Document(p)], "answer": a} for q, p, a in rows][:count]


def test_a_batch_in_a_sequence_makes_one_pass(monkeypatch: Patch) -> None:
    passes = passes_of(monkeypatch)
    chain = RunnableLambda(lambda result: result) | EvaluatorChain(judge=judge())
    assert chain.batch(results()) == [
        {**result, "faithfulness_score": score} for result, score in zip(results(), FAITHFULNESS, strict=True)
    ]
    assert passes == [3]


def test_callers_in_threads_load_one_judge(monkeypatch: Patch) -> None:
    from rag_evaluator import Judge

    loaded: list[int] = []

    def load(config: Any, offline: bool) -> ScriptedJudge:
        loaded.append(threading.get_ident())
        threading.Event().wait(0.05)
        return judge()

    monkeypatch.setattr(Judge, "from_config", load)
    chain = EvaluatorChain()
    parallel = RunnableParallel({"one": chain, "two": chain})
    scored = parallel.invoke(results(1)[0])
    assert [row["faithfulness_score"] for row in scored.values()] == [0.5, 0.5]
    assert len(loaded) == 1


EMPTY: dict[str, tuple[Json, str]] = {
    "a blank answer": ({"answer": " "}, "response is blank in this row"),
    "no answer": ({"answer": None}, "no response in this row"),
    "no document found": ({"context": []}, "no retrieved_contexts in this row"),
    "neither": ({"answer": "", "context": []}, "no retrieved_contexts and no response in this row"),
}


@pytest.mark.parametrize(("change", "reason"), EMPTY.values(), ids=EMPTY)
def test_a_result_that_is_empty_has_no_score_and_says_why(change: Json, reason: str) -> None:
    """A retriever may find nothing: that is no error of the caller, alone or in a batch."""
    chain = EvaluatorChain(judge=judge())
    result = {**results(1)[0], **change}
    expected = {**result, "faithfulness_score": None, "faithfulness_reason": reason}
    assert chain.invoke(result) == expected
    assert chain.batch([*results(1), result]) == [{**results(1)[0], "faithfulness_score": 0.5}, expected]


def test_a_score_has_the_name_that_was_asked_for() -> None:
    chain = EvaluatorChain(["Faithfulness", "exact-match"], judge=judge())
    (score,) = chain.evaluate([{"question": QUESTIONS[0], "ground_truth": ANSWERS[0]}], results(1))
    assert score == {"Faithfulness_score": 0.5, "exact-match_score": 1.0}


def test_settings_of_a_configuration_count_but_for_what_concerns_a_whole_dataset(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "metrics: [bleu, rouge]\nthresholds: {bleu: 0.5}\nrequire: ['mean bleu >= 0.1']\ngroup_by: [topic]\n"
        "dataset: rows.jsonl\ncolumns: {reply: response}\n",
        "utf-8",
    )
    result = {**results(1)[0], "reply": ANSWERS[1]}
    assert EvaluatorChain("faithfulness", judge=judge(), config=path).invoke(result)["faithfulness_score"] == 1.0


@pytest.mark.parametrize("form", [dict, make_config], ids=["mapping", "Config"])
def test_options_and_definitions_of_other_metrics_in_the_configuration_do_not_count(
    form: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """One configuration serves several chains of one metric each."""
    config = form(
        {
            "metrics": ["quoted_spans_alignment", "rouge", "tone"],
            "metric_options": {"QuotedSpansAlignment": {"casefold": False}, "rouge": {"mode": "recall"}},
            "custom_metrics": {"tone": {"question": "Is it kind?", "columns": ["response"], "scale": ["no", "yes"]}},
            "thresholds": {"tone": 1},
        }
    )
    result = {**results(1)[0], "ground_truth": f"{ANSWERS[0]} {TRUTHS[1]}"}
    assert EvaluatorChain("faithfulness", judge=judge(), config=config).invoke(result)["faithfulness_score"] == 0.5
    scored = EvaluatorChain("rouge", config=config).invoke(result)
    assert scored["rouge_score"] < EvaluatorChain("rouge").invoke(result)["rouge_score"]  # the rest is there
    assert "not scored" not in caplog.text
    with pytest.raises(ConfigError, match="answer_rubrik' is not one of the metrics"):
        EvaluatorChain("faithfulness", config={"metric_options": {"answer_rubrik": {}}})


WRONG: dict[str, tuple[Callable[[], Any], type[RagEvaluatorError], str]] = {
    "metric": (lambda: EvaluatorChain("faithfullness"), ConfigError, "Did you mean 'faithfulness'"),
    "a number": (lambda: EvaluatorChain(3), ConfigError, "metrics"),
    "judge": (lambda: EvaluatorChain(judge=3), ModelError, "received int"),
    "no contexts": (
        lambda: EvaluatorChain().invoke({"query": "q", "result": "r"}),
        DatasetError,
        "expected the column 'retrieved_contexts', which faithfulness needs",
    ),
    "no result": (lambda: EvaluatorChain().invoke(3), DatasetError, "received int"),
    "a type": (
        lambda: EvaluatorChain().invoke({"query": "q", "result": "r", "context": [3.5, {"a": 1}]}),
        DatasetError,
        r"row 0: column 'context' \(read as retrieved_contexts\), item 2",
    ),
    "a row of a batch": (
        lambda: EvaluatorChain().batch([*results(1), {"query": ["q"], "result": "r", "context": ["c"]}]),
        DatasetError,
        "row 1: column 'query'",
    ),
    "numbers": (lambda: EvaluatorChain().evaluate(QUESTIONS, results(2)), DatasetError, "3 examples and 2 predictions"),
}


@pytest.mark.parametrize(("call", "error", "message"), WRONG.values(), ids=WRONG)
def test_wrong_input_is_refused_before_a_model_is_loaded(
    call: Any, error: type[Exception], message: str, monkeypatch: Patch
) -> None:
    from rag_evaluator import Judge

    monkeypatch.setattr(Judge, "from_config", lambda *arguments: pytest.fail("a model was loaded"))
    with pytest.raises(error, match=message):
        call()


def test_an_exception_among_results_has_no_score_and_its_reason() -> None:
    chain = EvaluatorChain(judge=judge())
    bad = ValueError("boom")
    missing = {"faithfulness_score": None, "faithfulness_reason": "ValueError: boom"}
    assert chain.batch([*results(1), bad])[1] == {"error": "ValueError: boom", **missing}
    assert chain.evaluate(QUESTIONS[:2], [*results(1), bad]) == [{"faithfulness_score": 0.5}, missing]


def test_a_chain_that_returns_a_text_is_scored_where_the_text_is_enough() -> None:
    examples = [{"reference": answer} for answer in ANSWERS]
    assert EvaluatorChain("exact_match").evaluate(examples, ANSWERS) == [{"exact_match_score": 1.0}] * 3


def test_python_gets_the_worst_rows_and_what_the_judge_says_as_the_report_shows_them(tmp_path: Path) -> None:
    scored = RAGEvaluator({"metrics": ["faithfulness"]}, judge=judge()).evaluate(results())
    worst = scored.worst()
    assert [(row.number, row.reason) for row in worst] == [
        (2, "not supported: “It is 900 metres high”. r"),
        (0, "not supported: “He was a king”. r"),
    ]
    assert worst == worst_rows(Run(scored.write(tmp_path))) and scored.worst(1) == worst[:1]
    first = next(iter(scored))
    assert first.says("faithfulness") == ["supported: “He was born in Tesk”. r", worst[1].reason]
    with pytest.raises(ConfigError, match=r"no scores of 'faithfullness'\. Did you mean 'faithfulness'"):
        first.says("faithfullness")


def test_the_demo_judge_that_nobody_chose_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    warned_once.cache_clear()
    EvaluatorChain("exact_match")
    assert "The demo judge" not in caplog.text
    for _ in range(2):
        EvaluatorChain("faithfulness")
    assert [message.startswith("The demo judge is a toy") for message in caplog.messages] == [True]


def test_the_examples_of_the_docs_work(retriever: Any, tmp_path: Path, monkeypatch: Patch) -> None:
    node = SimpleNamespace(get_content=lambda: PARAGRAPHS[0])  # LlamaIndex', as far as it is used
    engine = SimpleNamespace(query=lambda question: SimpleNamespace(response=question, source_nodes=[node]))
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "langchain.md").read_text("utf-8")
    names: Json = {"model": model(), "retriever": retriever, "judge": judge(), "query_engine": engine}
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    for block in blocks:
        exec(block, names)
    assert len(blocks) == 4
    assert names["result"]["answer"] == ANSWERS[0]
    assert names["predictions"][0]["answer"] in ANSWERS
    assert [row["question"] for row in names["scored"]] == QUESTIONS[:2]
    assert all({"faithfulness_score", "context_relevance_score"} <= set(row) for row in names["scored"])
    assert not any(score.missing for score in names["results"].scores["faithfulness"])
    rows = load_dataset("llamaindex.jsonl")
    assert [row.columns["response"] for row in rows] == QUESTIONS[:2]
    assert [row.columns["retrieved_contexts"] for row in rows] == [PARAGRAPHS[:1]] * 2
