"""Retrieved texts as libraries and search services give them: the text of a hit, its score and its id."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from rag_evaluator.files import Json

# Any in this module: the users' values, plain JSON, before their types are checked.


class Form(NamedTuple):
    """Where a hit has what; a path goes through objects by dots.

    Attributes:
        text: path of the text, which may be a list of objects with a `text`.
        identity: path of the id; empty: it has none of its own.
        known: a key that no other kind of object has; its score counts only in objects with this key.
    """

    name: str
    text: str
    score: str = ""
    identity: str = ""
    known: str = ""


FORMS = (
    Form("LangChain", "page_content"),  # stores give documents ids at random
    Form("Azure AI Search", "content", "@search.score", "id", "@search.score"),
    Form("Azure AI Search", "chunk", "@search.score", "chunk_id", "@search.score"),
    Form("Haystack", "content", "score", "id", "meta"),
    Form("LlamaIndex", "node.text", "score", "node.id_"),
    Form("Bedrock", "content.text", "score", "metadata.x-amz-bedrock-kb-chunk-id"),
    Form("OpenAI file search", "content", "score", "file_id", "file_id"),
    Form("OpenAI file search", "content"),
    Form("Elasticsearch", "_source.text", "_score", "_id"),
    Form("Elasticsearch", "_source.content", "_score", "_id"),
    Form("Qdrant", "payload.text", "score", "id"),
    Form("Pinecone", "metadata.text", "score", "id"),
    Form("a text", "text"),
    Form("a text", "content"),
)
"""The first one that fits an object counts."""
LISTS = ("hits.hits", "hits", "retrievalResults", "value", "documents", "source_nodes", "matches", "results", "data")
"""Where an answer of a service has its hits."""
TURNED = ("text", "content", "page_content", "documents")
"""Keys of texts in an object of equally long lists, to which Arrow turns a list of objects; Chroma's is the last."""
PATHS = ", ".join(f"`{path}`" for path in dict.fromkeys(form.text for form in FORMS))


def at_path(value: Any, path: str) -> Any:
    """What is at a path; None where nothing is."""
    if isinstance(value, dict) and path in value:  # a key may hold a dot
        return value[path]
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def hits_of(value: Any) -> list[Any] | None:
    """The hits in an object: the answer of a service, or lists that have been turned; None where it is neither."""
    if not isinstance(value, dict):
        return None
    columns = {
        key: column[0] if len(column) == 1 and isinstance(column[0], list) else column  # Chroma: a list a question
        for key, column in value.items()
        if isinstance(column, list)
    }
    texts = next((columns[key] for key in TURNED if key in columns and _are_texts(columns[key])), None)
    if texts is not None:
        kept = {key: column for key, column in columns.items() if len(column) == len(texts)}
        rows = [dict(zip(kept, row, strict=True)) for row in zip(*kept.values(), strict=True)]
        return [row | {"text": text} for row, text in zip(rows, texts, strict=True)]
    lists = (at_path(value, path) for path in LISTS)
    return next((hits for hits in lists if isinstance(hits, list)), None)


def _are_texts(column: Sequence[Any]) -> bool:
    return all(isinstance(text, str) for text in column)


def text_of(item: Any) -> Any:
    """The text of a hit; the item itself where it is no object, or where nobody knows which text is meant."""
    form = form_of(item)
    if form is None:
        return item
    text = at_path(item, form.text)
    return text if isinstance(text, str) else "\n".join(part["text"] for part in text)


def form_of(item: Any) -> Form | None:
    """The form that fits; None for what is no object, and for one with two texts that differ."""
    if not isinstance(item, dict):
        return None
    texts = {item[name] for name in ("text", "content") if isinstance(item.get(name), str)}
    if len(texts) > 1 and not isinstance(item.get("page_content"), str):
        return None
    return next((form for form in FORMS if (not form.known or form.known in item) and _has_text(item, form)), None)


def _has_text(item: Json, form: Form) -> bool:
    text = at_path(item, form.text)
    is_parts = isinstance(text, list) and bool(text)
    return isinstance(text, str) or (is_parts and all(isinstance(at_path(part, "text"), str) for part in text))


def beside(items: Sequence[Any]) -> dict[str, list[Any]]:
    """Scores and ids of hits, each where all have one, as `document_score` and `retrieved_context_ids`."""
    forms = [form_of(item) for item in items]
    paths = {
        "document_score": [form.score if form else "" for form in forms],
        "retrieved_context_ids": [form.identity if form else "" for form in forms],
    }
    found = {
        name: [at_path(item, path) for item, path in zip(items, of_items, strict=True)]
        for name, of_items in paths.items()
    }
    kinds = {"document_score": (int, float), "retrieved_context_ids": (str, int)}
    return {
        name: [float(value) if name == "document_score" else str(value) for value in values]
        for name, values in found.items()
        if values and all(isinstance(value, kinds[name]) and not isinstance(value, bool) for value in values)
    }
