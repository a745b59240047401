"""What RAG systems of the usual libraries return, read as rows of a dataset."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from rag_evaluator import DatasetError, load_dataset
from rag_evaluator.features.chains.collect import output_row

QUESTION, ANSWER, TEXTS = "Where was Nolu Brak born?", "In Tesk.", ["Nolu Brak was born in Tesk.", "Tesk has a port."]
DOCUMENTS = [Document(text) for text in TEXTS]


@dataclass
class Node:
    """LlamaIndex' `TextNode`, as far as it is read."""

    content: str

    def get_content(self) -> str:
        return self.content


@dataclass
class NodeWithScore:
    """LlamaIndex' own."""

    node: Node
    score: float = 0.5


@dataclass
class Response:
    """LlamaIndex' own, and its `AgentChatResponse`."""

    response: str
    source_nodes: list[NodeWithScore]
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class HaystackDocument:
    """Haystack's `Document`."""

    content: str
    id: str = "1"


@dataclass
class GeneratedAnswer:
    """Haystack's own."""

    data: str
    query: str
    documents: list[HaystackDocument]


@dataclass
class ChatMessage:
    """Haystack's own."""

    text: str


NODES = [NodeWithScore(Node(text)) for text in TEXTS]
HAYSTACK = [HaystackDocument(text) for text in TEXTS]
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
    "LlamaIndex": (Response(ANSWER, NODES), BOTH),
    "LlamaIndex, a retriever": (NODES, FOUND),
    "Haystack": ({"llm": {"replies": [ANSWER], "meta": [{}]}, "retriever": {"documents": HAYSTACK}}, BOTH),
    "Haystack, two meta": (
        {"llm": {"replies": [ANSWER], "meta": [{}]}, "ranker": {"documents": HAYSTACK, "meta": 1}},
        BOTH,
    ),
    "Haystack, a component": ({"replies": [ChatMessage(ANSWER)], "documents": HAYSTACK}, BOTH),
    "Haystack, an answer": ({"builder": {"answers": [GeneratedAnswer(ANSWER, QUESTION, HAYSTACK)]}}, BOTH),
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
    "messages without artifacts": (
        {"messages": [HumanMessage(QUESTION), *(ToolMessage(t, tool_call_id="1") for t in TEXTS), AIMessage(ANSWER)]},
        ALL,
    ),
}


@pytest.mark.parametrize(("output", "columns"), OUTPUTS.values(), ids=OUTPUTS)
def test_what_a_system_returns_is_read_as_a_row(output: Any, columns: dict[str, Any]) -> None:
    (sample,) = load_dataset([output_row(output)])
    assert sample.columns == columns


def test_other_names_are_names_of_canonical_columns_and_no_second_aliases() -> None:
    from rag_evaluator.dataset.columns import ALIASES
    from rag_evaluator.features.chains.collect import OTHER_NAMES

    assert set(OTHER_NAMES) <= set(ALIASES)
    assert not {name for names in OTHER_NAMES.values() for name in names} & {
        n for names in ALIASES.values() for n in names
    }


@pytest.mark.parametrize("output", [None, 3, object()], ids=["nothing", "a number", "an object"])
def test_what_is_no_result_is_refused_with_what_is_expected(output: Any) -> None:
    with pytest.raises(DatasetError, match="expected an answer, a list of documents or a result with both"):
        output_row(output)


def test_several_replies_are_an_error_and_not_chosen_among() -> None:
    with pytest.raises(DatasetError, match="expected a string, received a list"):
        load_dataset([output_row({"replies": ["In Tesk.", "In Om."], "documents": TEXTS})])
