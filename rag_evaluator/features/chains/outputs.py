"""What a RAG system returns, as an input row: results of LangChain, LangGraph, LlamaIndex and Haystack.

Objects are known by what they offer, so that none of these libraries is imported.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_evaluator.dataset.columns import accepted_names
from rag_evaluator.dataset.readers.json_files import joined
from rag_evaluator.errors import DatasetError

# Any in this module: results of the users' systems, and objects of the libraries that made them.

OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "retrieved_contexts": ("documents",),
    "response": ("generation", "replies", "answers"),
}
"""Names that results have beside `ALIASES`. They are read only where no other name is there: in datasets `documents`
and `answers` may be columns of their own.
"""
_TEXTS = ("page_content", "get_content", "text", "content", "data")  # of LangChain, LlamaIndex, Haystack


def output_row(output: Any) -> dict[str, Any]:
    """The result of a chain, retriever or pipeline as a row whose columns `load_dataset` knows.

    A mapping keeps its other keys. Raises `DatasetError` for what is no result.
    """
    if isinstance(output, str):
        return {"response": output}
    if isinstance(output, Mapping):
        return _readable(_known(output))
    if isinstance(output, list | tuple):
        return {"retrieved_contexts": [_text(document) for document in output]}
    if hasattr(output, "source_nodes"):  # LlamaIndex
        return _readable({"response": output.response, "retrieved_contexts": output.source_nodes})
    if isinstance(text := _text(output), str):
        return {"response": text}
    raise DatasetError(
        f"the result of a RAG system: expected an answer, a list of documents or a result with both, received "
        f"{type(output).__name__}. Return a dict with 'response' and 'retrieved_contexts'."
    )


def is_named(canonical: str, row: Mapping[str, Any], columns: Mapping[str, str]) -> bool:
    """Whether a row has a canonical column, empty or not, under a name of its own or of `columns`."""
    names = [name for name, target in columns.items() if target == canonical]
    return any(name in row for name in (*accepted_names(canonical), *names))


def _known(output: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping under names that are known, also where components of a pipeline or messages of a chat hold them."""
    parts = [part for part in output.values() if isinstance(part, Mapping)]
    if not any(_has(output, canonical) for canonical in OTHER_NAMES):
        output = joined((name, value) for part in (output, *parts) for name, value in part.items())
    row = dict(output)
    for canonical, value in _of_messages(output.get("messages") or ()).items():
        if not _has(output, canonical):
            row[canonical] = value
    return row


def _has(output: Mapping[str, Any], canonical: str) -> bool:
    """Whether it has something for a canonical column, under any name."""
    names = accepted_names(canonical) + OTHER_NAMES.get(canonical, ())
    return any(output.get(name) is not None for name in names)


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    """The row with texts in the place of messages, nodes and documents, under names that datasets have."""
    for canonical, aliases in OTHER_NAMES.items():
        named = [row[name] for name in aliases if name in row]
        if named and all(row.get(name) is None for name in accepted_names(canonical)):
            row[canonical] = named[0]
    answer = _only(row.get("response"))
    if hasattr(answer, "documents") and not _has(row, "retrieved_contexts"):
        row["retrieved_contexts"] = answer.documents  # Haystack's answers hold what they were made from
    if "response" in row:
        row["response"] = answer
    for name in {*accepted_names("response"), *accepted_names("retrieved_contexts")}.intersection(row):
        row[name] = [_text(item) for item in row[name]] if isinstance(row[name], list | tuple) else _text(row[name])
    return row


def _only(values: Any) -> Any:
    """The item of a list of one. Of several, only the user knows which one counts."""
    return values[0] if isinstance(values, list) and len(values) == 1 else values


def _text(item: Any) -> Any:
    """The text of a document, node, message or answer; anything else as it is."""
    item = getattr(item, "node", item)
    for name in _TEXTS:
        value = getattr(item, name, None)
        if isinstance(value, str):
            return value
        if name == "get_content" and callable(value):
            return value()
    return item


def _of_messages(messages: Sequence[Any]) -> dict[str, Any]:
    """The last question of a chat, the answer to it, and what tools found in between."""
    kinds = [getattr(message, "type", None) for message in messages]
    start = len(kinds) - kinds[::-1].index("human") if "human" in kinds else 0
    turn = list(zip(kinds, messages, strict=True))[start:]
    row: dict[str, Any] = {"user_input": _text(messages[start - 1])} if start else {}
    if turn and turn[-1][0] == "ai":
        row["response"] = turn[-1][1]
    documents = [document for kind, message in turn if kind == "tool" for document in _found(message)]
    return {**row, "retrieved_contexts": documents} if turn else row


def _found(message: Any) -> list[Any]:
    """The documents that a tool returned, else its text."""
    artifact = getattr(message, "artifact", None)
    return artifact if isinstance(artifact, list) else [message]
