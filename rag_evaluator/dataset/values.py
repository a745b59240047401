"""One value of a row -> what its canonical column holds: `READ`; here a text or a list of texts."""

from collections.abc import Callable, Mapping
from typing import Any

from rag_evaluator.dataset.cells import text_or_list
from rag_evaluator.dataset.field import Field, listed, string
from rag_evaluator.dataset.typed_values import answerable, ids, logged_scores, rubrics, scores

# Any in this module: the users' values, plain JSON, before their types are checked.

LOG_ADVICE = " If 'reference' holds retrieved contexts, say so with columns: {reference: retrieved_contexts}."


def _question(field: Field) -> str:
    if isinstance(field.value, list):
        raise field.wrong(
            "one question as a string", field.value, "Only single-turn samples are supported: give the last question."
        )
    return string(field)


def _answer(field: Field) -> str:
    """A list is accepted with one answer, as old ragas' `ground_truths` have it.

    Of several, old ragas took the first silently. Only the user knows which one is right, so that is an error.
    """
    is_listed_cell = field.record.is_cells and field.name == "ground_truths"
    value = listed(field) if is_listed_cell else text_or_list(field.value, field.record.is_cells)
    if not isinstance(value, list):
        return string(field)
    advice = "Keep the best one as a string, or join them yourself into one text."
    if field.name == "reference":
        advice += LOG_ADVICE
    if len(value) > 1:
        raise field.wrong("one reference answer", value, advice)
    return field.text(value[0], advice, ", item 1") if value else ""


def _contexts(field: Field) -> list[str]:
    """Texts in the given order; empty ones stay, as the rank of the others depends on them."""
    value = listed(field)
    if field.name == "context" and isinstance(value, str) and not value.lstrip().startswith("["):
        value = [value]
    if not isinstance(value, list):
        is_json = isinstance(value, str) and value.lstrip().startswith("[")
        advice = "Parse the text with json.loads first." if is_json else 'Put it in a list: ["..."].'
        raise field.wrong("a list of strings", value, advice)
    return [_document(field, item, f", item {rank}") for rank, item in enumerate(value, start=1)]


def _reference_contexts(field: Field) -> list[str]:
    is_single = isinstance(field.value, str | int | float) and not field.record.is_cells
    return [string(field)] if is_single else _contexts(field)


READ: Mapping[str, Callable[[Field], Any]] = {
    "user_input": _question,
    "response": string,
    "retrieved_contexts": _contexts,
    "reference": _answer,
    "reference_contexts": _reference_contexts,
    "retrieved_context_ids": ids,
    "reference_context_ids": ids,
    "document_score": scores,
    "answerable": answerable,
    "rubrics": rubrics,
}
"""Canonical column -> what reads it; None where the value says nothing."""

READ_LOG = {**READ, "retrieved_contexts": _reference_contexts, "document_score": logged_scores}


def _document(field: Field, item: Any, place: str) -> str:
    expected = "a string or a document with the text in `page_content`, `text` or `content`"
    text = _document_text(item) if isinstance(item, dict) else item
    return field.text(item if text is None else text, 'Write its text, or "" to keep its rank.', place, expected)


def _document_text(document: Mapping[str, Any]) -> str | None:
    """The text of a document as LangChain, LlamaIndex and Haystack write it; None where it has none, or two."""
    inner = document.get("kwargs") if "lc" in document else document
    if not isinstance(inner, dict):
        return None
    texts = [inner[name] for name in ("page_content", "text", "content") if isinstance(inner.get(name), str)]
    return texts[0] if isinstance(inner.get("page_content"), str) or len(set(texts)) == 1 else None
