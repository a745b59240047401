"""One value of a row -> what its canonical column holds: a text or a list of texts, its type checked."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rag_evaluator.dataset.plain import plain
from rag_evaluator.dataset.record import Record
from rag_evaluator.errors import DatasetError

# Any in this module: the users' values, plain JSON, before their types are checked.

EMPTY: tuple[Any, ...] = (None, "", [])
"""A value that counts as missing."""


@dataclass(frozen=True)
class Field:
    """One value on its way to a canonical column, and where it stands, for messages."""

    record: Record
    name: str
    canonical: str

    @property
    def value(self) -> Any:
        return self.record.row[self.name]

    def wrong(self, expected: str, received: Any, advice: str, item: str = "") -> DatasetError:
        read_as = "" if self.name == self.canonical else f" (read as {self.canonical})"
        return DatasetError(
            f"{self.record.where}: column '{self.name}'{read_as}{item}: expected {expected}, received "
            f"{_described(received)}. {advice}"
        )


_KINDS: Mapping[type, str] = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}


def _described(value: Any) -> str:
    text = repr(value)
    return f"{_KINDS[type(value)]}, {text if len(text) <= 60 else text[:57] + '...'}"


def _string(field: Field) -> str:
    if isinstance(field.value, str):
        return field.value
    if field.record.is_cells:
        return str(field.value)
    raise field.wrong("a string", field.value, f"Write it as text, or rename the column if it is no {field.canonical}.")


def _question(field: Field) -> str:
    if isinstance(field.value, list):
        raise field.wrong(
            "one question as a string", field.value, "Only single-turn samples are supported: give the last question."
        )
    return _string(field)


def _answer(field: Field) -> str:
    """A list is accepted with one answer, as old ragas' `ground_truths` have it.

    Of several, old ragas took the first without a word. Which one is right only the user knows, so that is an error.
    """
    is_listed_cell = field.record.is_cells and field.name == "ground_truths"
    value = _cell_list(field) if is_listed_cell else text_or_list(field.value, field.record.is_cells)
    if not isinstance(value, list):
        return _string(field)
    if len(value) > 1 or not all(isinstance(answer, str) for answer in value):
        raise field.wrong(
            "one reference answer", value, "Keep the best one as a string, or join them yourself into one text."
        )
    return value[0] if value else ""


def _contexts(field: Field) -> list[str]:
    """Texts in the given order; empty ones stay, as the rank of the others depends on them."""
    value = _cell_list(field) if field.record.is_cells else field.value
    if not isinstance(value, list):
        is_json = isinstance(value, str) and value.lstrip().startswith("[")
        advice = "Parse the text with json.loads first." if is_json else 'Put it in a list: ["..."].'
        raise field.wrong("a list of strings", value, advice)
    return [_document(field, item, f", item {rank}") for rank, item in enumerate(value, start=1)]


def _reference_contexts(field: Field) -> list[str]:
    return [field.value] if isinstance(field.value, str) and not field.record.is_cells else _contexts(field)


def _logged_contexts(field: Field) -> list[str]:
    """By descending `document_score` where that is a list of as many numbers, else as given; ties as given.

    A log with one row per document gives one context per row: rows with the same question are not merged.
    """
    texts = _reference_contexts(field)
    scores = _json_or_text(field.record.row.get("document_score"), field.record.is_cells)
    if not (isinstance(scores, list) and len(scores) == len(texts) and all(type(s) in (int, float) for s in scores)):
        return texts
    ranks = sorted(range(len(texts)), key=lambda rank: scores[rank], reverse=True)
    return [texts[rank] for rank in ranks]


READ: Mapping[str, Callable[[Field], Any]] = {
    "user_input": _question,
    "response": _string,
    "retrieved_contexts": _contexts,
    "reference": _answer,
    "reference_contexts": _reference_contexts,
}

READ_LOG = {**READ, "retrieved_contexts": _logged_contexts}


def _document(field: Field, item: Any, place: str) -> str:
    text = item.get("page_content") if isinstance(item, dict) else item
    if not isinstance(text, str):
        raise field.wrong(
            "a string or a document with the text in `page_content`",
            item,
            'Write its text, or "" to keep its rank.',
            place,
        )
    return text


def _cell_list(field: Field) -> list[Any]:
    """A cell that begins with '[' is a JSON list, any other is a list of one."""
    value = str(field.value)
    if not value.lstrip().startswith("["):
        return [value]
    try:
        return list(plain(json.loads(value)))
    except (ValueError, RecursionError) as error:
        raise field.wrong(
            "a JSON list in a cell that begins with '['",
            value,
            f"It is broken ({error}). Write lists with json.dumps(contexts); Python's own ['...'] is no JSON.",
        ) from error


def _json_or_text(value: Any, is_cell: bool) -> Any:
    if not (is_cell and isinstance(value, str) and value.lstrip().startswith("[")):
        return value
    try:
        return plain(json.loads(value))
    except (ValueError, RecursionError):  # an answer may begin with '[' too, as in '[1] says so'
        return value


def text_or_list(value: Any, is_cell: bool) -> Any:
    """The value; or a list, where a cell's text is a JSON list of strings."""
    parsed = _json_or_text(value, is_cell)
    is_texts = isinstance(parsed, list) and all(isinstance(item, str) for item in parsed)
    return parsed if is_texts else value
