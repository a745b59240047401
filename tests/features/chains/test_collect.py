"""`collect`: runs a RAG system over questions and writes what it returns as a dataset."""

import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typing_extensions
from aliases import Json
from folders import lines_of
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore

from rag_evaluator import ConfigError, DatasetError, RAGEvaluator, RagEvaluatorError, ResultsError, collect

QUESTIONS = ["Where was Nolu Brak born?", "谁建造了哈恩桥？", "How high is Mount Selo?"]
REFERENCES = ["In Tesk.", None, "812 metres"]
TEXTS = ["Nolu Brak was born in Tesk.", "哈恩桥由利拉·沃斯克于1921年建造。"]


class System:
    """A RAG system as a function; notes what it was asked, and fails for some questions."""

    def __init__(self, *broken: str) -> None:
        self.asked: list[str] = []
        self.broken = broken

    def __call__(self, question: str) -> Json:
        self.asked.append(question)
        if question in self.broken:
            raise TimeoutError(f"no answer to {question}")
        return {"answer": f"answer to {question}", "documents": [Document(text) for text in TEXTS]}


def answered(question: str, reference: str | None = None) -> Json:
    """The row of a question that `System` answers."""
    row: Json = {"user_input": question, "retrieved_contexts": TEXTS, "response": f"answer to {question}"}
    return row if reference is None else {**row, "reference": reference}


def lines(path: Path) -> list[Json]:
    return lines_of(path)


def test_what_is_collected_is_a_dataset_that_is_evaluated_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.jsonl"
    seen = []
    rows = collect(System(), QUESTIONS, path, REFERENCES, progress=lambda *progress: seen.append(progress))
    assert rows == [answered(question, ref) for question, ref in zip(QUESTIONS, REFERENCES, strict=True)]
    assert lines(path) == rows
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    results = RAGEvaluator({"metrics": ["exact_match"]}).evaluate(path)
    assert [score.value == 0 for score in results.scores["exact_match"]] == [True, False, True]
    assert results.scores["exact_match"][1].reason == "no reference in this row"


def test_an_error_is_kept_in_its_row_and_does_not_stop_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "rows.jsonl"
    rows = collect(System(QUESTIONS[1]), QUESTIONS, path, ["a", "b", "c"])
    assert rows[1] == {
        "user_input": QUESTIONS[1],
        "reference": "b",
        "error": f"TimeoutError: no answer to {QUESTIONS[1]}",
    }
    assert [row for row in rows if "error" not in row] == [answered(QUESTIONS[0], "a"), answered(QUESTIONS[2], "c")]
    score = RAGEvaluator({"metrics": ["exact_match"]}).evaluate(path).scores["exact_match"][1]
    assert score.reason == "no response in this row"
    assert f"1 of 3 questions without an answer. The first: {rows[1]['error']}" in caplog.messages


@pytest.mark.parametrize(
    ("output", "error"),
    [
        (None, "received NoneType"),
        ({"score": 3, "reply": "a"}, "neither a response nor contexts under a known name in score, reply"),
        ({"answer": ["one", "two"]}, "expected a string, received ["),
        ({"answer": "a", "output": "b"}, "are both read as response, and differ"),
    ],
)
def test_a_result_that_cannot_be_read_is_an_error_of_its_row(output: Any, error: str, tmp_path: Path) -> None:
    (row,) = collect(lambda question: output, QUESTIONS[:1], tmp_path / "rows.jsonl")
    assert error in row["error"]
    assert "response" not in row


@pytest.mark.parametrize(
    ("output", "returned"),
    [
        ("", {"response": ""}),
        ([], {"retrieved_contexts": []}),
        ({"answer": "", "context": []}, {"response": "", "retrieved_contexts": []}),
        ({"answer": None, "context": ["c"]}, {"response": "", "retrieved_contexts": ["c"]}),
        ({"answer": "a", "context": None}, {"response": "a"}),  # null is no empty list
    ],
)
def test_an_empty_result_is_a_result_and_no_error(output: Any, returned: Any, tmp_path: Path) -> None:
    (row,) = collect(lambda question: output, ["q"], tmp_path / "rows.jsonl")
    assert row == {"user_input": "q", **returned}


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    system = System()
    first = collect(system, QUESTIONS[:2], path)
    rows = collect(system, [QUESTIONS[2], *QUESTIONS, QUESTIONS[2]], path, ["x", None, None, None, "y"])
    assert system.asked == QUESTIONS
    assert rows[1:3] == first
    assert (rows[0], rows[4]) == (answered(QUESTIONS[2], "x"), answered(QUESTIONS[2], "y"))
    assert lines(path) == rows


def test_a_killed_run_goes_on_behind_its_last_whole_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    system = System()

    def killed(question: str) -> Any:
        if question == QUESTIONS[2]:
            raise KeyboardInterrupt
        return system(question)

    with pytest.raises(KeyboardInterrupt):
        collect(killed, QUESTIONS, path)
    assert lines(path) == [answered(question) for question in QUESTIONS[:2]]
    with path.open("ab") as file:
        file.write(b'{"user_input": "torn')
    assert collect(system, QUESTIONS, path) == [answered(question) for question in QUESTIONS]
    assert system.asked == QUESTIONS
    assert lines(path) == [answered(question) for question in QUESTIONS]


def test_a_killed_call_that_asked_failed_questions_again_leaves_no_question_twice(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    collect(System(*QUESTIONS[:2]), QUESTIONS, path)

    def killed(question: str) -> str:
        if question == QUESTIONS[1]:
            raise KeyboardInterrupt
        return "answer"

    with pytest.raises(KeyboardInterrupt):
        collect(killed, QUESTIONS, path)
    assert [row["user_input"] for row in lines(path)] == [QUESTIONS[2], QUESTIONS[0]]


def test_questions_that_failed_are_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    system = System()
    collect(System(QUESTIONS[0]), QUESTIONS, path)
    rows = collect(system, QUESTIONS, path)
    assert system.asked == QUESTIONS[:1]
    assert ["error" in row for row in rows] == [False, False, False]
    assert lines(path) == rows


def test_rows_of_other_questions_are_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    system = System()
    collect(system, QUESTIONS, path)
    before = path.read_bytes()
    with pytest.raises(ResultsError, match=r"2 questions that are not asked now, such as '谁建造了哈恩桥？'"):
        collect(system, QUESTIONS[:1], path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"user_input": "a"}\n{"question": "a"}\n', 2),
        ('{"question": "a"}', 1),
        ('{"user_input": ["a"]}\n', 1),
        ("question,answer\na,b\n", 1),
    ],
)
def test_a_file_that_is_no_collection_is_never_overwritten(text: str, line: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(ResultsError, match=f"line {line}: expected a row with the text 'user_input'"):
        collect(System(), ["a"], path)
    assert path.read_text("utf-8") == text


WRONG: dict[str, tuple[Json, type[RagEvaluatorError], str]] = {
    "one question": ({"questions": "a"}, DatasetError, "questions: .* str"),
    "no question": ({"questions": []}, DatasetError, "expected at least one row"),
    "no text": ({"questions": [["a"]]}, DatasetError, "row 0: column 'questions' "),
    "references": ({"references": ["a"]}, DatasetError, "references has 1 items, questions has 3"),
    "a reference": ({"references": ["a", 1, True]}, DatasetError, "row 2: column 'references' .* True"),
    "path": ({"path": "rows.csv"}, ConfigError, "rows.csv: expected a name that ends in .jsonl"),
}


@pytest.mark.parametrize(("change", "error", "message"), WRONG.values(), ids=WRONG)
def test_wrong_arguments_are_refused_before_anything_is_asked(
    change: Json, error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    system = System()
    with pytest.raises(error, match=message):
        collect(**{"chain": system, "questions": QUESTIONS, "path": "rows.jsonl", **change})
    assert system.asked == []
    assert list(tmp_path.iterdir()) == []


def retriever() -> Any:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents([Document(TEXTS[0])])
    return store.as_retriever(search_kwargs={"k": 1})


def lcel(answer: str = "In Tesk.") -> Runnable[Any, Any]:
    prompt = ChatPromptTemplate.from_template("{context} {question}")
    parts = {"context": retriever(), "question": RunnablePassthrough()}
    return RunnableParallel(parts).assign(answer=prompt | FakeListChatModel(responses=[answer]))


def classic(answer: str = "In Tesk.") -> Any:
    from langchain_classic.chains import RetrievalQA

    model = FakeListChatModel(responses=[answer])
    return RetrievalQA.from_chain_type(model, retriever=retriever(), return_source_documents=True)


class State(typing_extensions.TypedDict):
    question: str
    documents: list[Any]
    generation: str


class PlainState(typing.TypedDict):  # pydantic makes no schema of it before Python 3.12
    question: str
    documents: list[Any]
    generation: str


def graph(state: Any = State, answer: str = "In Tesk.") -> Any:
    from langgraph.graph import START, StateGraph

    found = retriever()
    made = StateGraph(state)
    made.add_node("retrieve", lambda state: {"documents": found.invoke(state["question"]), "generation": answer})
    made.add_edge(START, "retrieve")
    return made.compile()


def agent(answer: str = "In Tesk.") -> Any:
    from langchain.agents import create_agent

    return create_agent(FakeListChatModel(responses=[answer]))


async def coroutine(question: str) -> Json:
    return {"answer": "In Tesk.", "contexts": TEXTS[:1]}


ROW = {"retrieved_contexts": TEXTS[:1], "response": "In Tesk."}
CHAINS: dict[str, tuple[Any, Json]] = {
    "LCEL": (lcel, ROW),
    "RetrievalQA": (classic, ROW),
    "LangGraph": (graph, ROW),
    "LangGraph with typing's TypedDict": (lambda: graph(PlainState), ROW),
    "create_agent": (agent, {"response": "In Tesk.", "retrieved_contexts": []}),
    "retriever": (retriever, {"retrieved_contexts": TEXTS[:1]}),
    "model": (lambda: FakeListLLM(responses=["In Tesk."]), {"response": "In Tesk."}),
    "async function": (lambda: coroutine, ROW),
    "ainvoke": (lambda: lcel().ainvoke, ROW),
}


@pytest.mark.parametrize(("make", "columns"), CHAINS.values(), ids=CHAINS)
def test_chains_of_langchain_are_asked_as_they_take_questions(make: Any, columns: Any, tmp_path: Path) -> None:
    rows = collect(make(), QUESTIONS[:2], tmp_path / "rows.jsonl")
    assert rows == [{"user_input": question, **columns} for question in QUESTIONS[:2]]


def test_what_a_result_says_beside_the_answer_is_kept(tmp_path: Path) -> None:
    said = {"answerable": False, "history": [{"role": "user", "content": "Who is he?"}]}
    given = {**ROW, **said, "retrieved_context_ids": ["a1"], "latency": 3}
    [row] = collect(lambda question: given, QUESTIONS[:1], tmp_path / "rows.jsonl")
    assert row == {"user_input": QUESTIONS[0], **ROW, **said, "retrieved_context_ids": ["a1"]}


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_stops_a_program_stops_a_chain_that_returns_it_as_a_result(stop: Any, tmp_path: Path) -> None:
    """A sequence of LangChain returns whatever one of its steps raises."""
    asked = []
    path = tmp_path / "rows.jsonl"

    def stopped(question: str) -> str:
        asked.append(question)
        if question == QUESTIONS[2]:
            raise stop
        return question

    with pytest.raises(stop):
        collect(RunnableLambda(stopped) | RunnablePassthrough(), [*QUESTIONS, "Who?", "?"], path, max_concurrency=2)
    assert set(asked[:2]) == set(QUESTIONS[:2]) and "?" not in asked
    assert [row["user_input"] for row in lines(path)] == QUESTIONS[:2]


def test_the_error_of_a_system_that_is_down_is_why_its_rows_are_not_judged(tmp_path: Path) -> None:
    rows = collect(System(*QUESTIONS), QUESTIONS, tmp_path / "rows.jsonl", REFERENCES)
    with pytest.raises(DatasetError, match="TimeoutError: no answer to Where"):
        RAGEvaluator({"metrics": ["faithfulness"]}).evaluate(rows)


class Batches(Runnable[str, str]):
    """A Runnable that notes how it is asked; a batch with a broken question fails whole, as batches of models do."""

    def __init__(self, broken: str = "") -> None:
        self.batches: list[Sequence[str]] = []
        self.limits: list[Any] = []
        self.broken = broken

    def invoke(self, input: str, config: Any = None, **kwargs: Any) -> str:
        return self.batch([input], config)[0]

    def batch(
        self, inputs: list[str], config: Any = None, *, return_exceptions: bool = False, **kwargs: Any
    ) -> list[Any]:  # type: ignore[override]
        self.batches.append(list(inputs))
        self.limits.append(config["max_concurrency"])
        if self.broken in inputs:
            raise ValueError("a question is broken")
        return [f"answer to {question}" for question in inputs]


def test_a_batch_that_fails_whole_is_asked_one_by_one_and_only_the_question_at_fault_is_an_error(
    tmp_path: Path,
) -> None:
    rows = collect(Batches(broken="b"), ["a", "b", "c"], tmp_path / "rows.jsonl")
    assert [row.get("error") for row in rows] == [None, "ValueError: a question is broken", None]
    assert [row.get("response") for row in rows] == ["answer to a", None, "answer to c"]


def test_questions_are_asked_in_batches_of_the_chain_no_larger_than_allowed(tmp_path: Path) -> None:
    chain = Batches()
    collect(chain, ["a", "b", "c", "d", "e"], tmp_path / "rows.jsonl", max_concurrency=2)
    assert chain.batches == [["a", "b"], ["c", "d"], ["e"]]
    assert set(chain.limits) == {2}
