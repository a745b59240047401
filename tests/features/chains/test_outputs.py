"""What RAG systems of the usual libraries return, read as rows of a dataset."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from rag_evaluator import collect, load_dataset

QUESTION = "Where was Nolu Brak born?"
ANSWER = "In Tesk."
TEXTS = ["Nolu Brak was born in Tesk.", "Tesk has a port."]
DOCUMENTS = [Document(text) for text in TEXTS]


FOUND = {"retrieved_contexts": TEXTS}
BOTH = {"response": ANSWER, **FOUND}
ALL = {"user_input": QUESTION, **BOTH}
OUTPUTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "RetrievalQA": ({"query": QUESTION, "result": ANSWER, "source_documents": DOCUMENTS}, ALL),
    "create_retrieval_chain": ({"input": QUESTION, "context": DOCUMENTS, "answer": ANSWER}, ALL),
    "LCEL with a message": ({"question": QUESTION, "context": TEXTS, "answer": AIMessage(ANSWER)}, ALL),
    "LCEL with blocks": ({"context": TEXTS, "output": AIMessage([{"type": "text", "text": ANSWER}])}, BOTH),
    "LangGraph": ({"question": QUESTION, "documents": DOCUMENTS, "generation": ANSWER, "steps": 3}, ALL),
    "contexts win over documents": ({"contexts": TEXTS, "documents": ["others"], "answer": ANSWER}, BOTH),
    "a retriever": (DOCUMENTS, FOUND),
    "an answer": (ANSWER, {"response": ANSWER}),
    "a message": (AIMessage(ANSWER), {"response": ANSWER}),
    "messages with artifacts": (
        {
            "messages": [
                HumanMessage("An earlier question"),
                ToolMessage("no document", tool_call_id="0"),
                AIMessage("An earlier answer"),
                HumanMessage(QUESTION),
                AIMessage("", tool_calls=[{"name": "retrieve", "args": {}, "id": "1"}]),
                ToolMessage("both", tool_call_id="1", artifact=DOCUMENTS),
                AIMessage(ANSWER),
            ]
        },
        ALL,
    ),
    "messages beside contexts": (
        {"messages": [HumanMessage(QUESTION), ToolMessage("x", tool_call_id="1"), AIMessage(ANSWER)], "context": TEXTS},
        ALL,
    ),
    **{
        f"messages as dicts with {kind}": (
            {
                "messages": [
                    {kind: name, "content": text, "tool_call_id": "1"}
                    for name, text in zip(names, (QUESTION, TEXTS[0], ANSWER), strict=True)
                ]
            },
            {**ALL, "retrieved_contexts": TEXTS[:1]},
        )
        for kind, names in (("role", ("user", "tool", "assistant")), ("type", ("human", "tool", "ai")))
    },
    "messages without artifacts": (
        {"messages": [HumanMessage(QUESTION), *(ToolMessage(t, tool_call_id="1") for t in TEXTS), AIMessage(ANSWER)]},
        ALL,
    ),
}


@pytest.mark.parametrize(("output", "columns"), OUTPUTS.values(), ids=OUTPUTS)
def test_what_a_system_returns_is_read_as_a_row(output: Any, columns: dict[str, Any], tmp_path: Path) -> None:
    (sample,) = load_dataset(collect(lambda question: output, [QUESTION], tmp_path / "rows.jsonl"))
    assert sample.columns == {"user_input": QUESTION, **columns}


@pytest.mark.parametrize("output", [None, 3, object()], ids=["nothing", "a number", "an object"])
def test_what_is_no_result_is_refused_with_what_is_expected(output: Any, tmp_path: Path) -> None:
    [row] = collect(lambda question: output, [QUESTION], tmp_path / "rows.jsonl")
    assert "expected an answer, a list of documents or a result with both" in row["error"]
