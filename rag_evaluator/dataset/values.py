"""One value of a row -> what its canonical column holds: a text or a list of texts, its type checked."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rag_evaluator.dataset.cells import is_written_by_python, json_or_text, text_or_list
from rag_evaluator.dataset.json_values import as_text, plain
from rag_evaluator.dataset.marks import Repeated, Unwritable
from rag_evaluator.dataset.readers.record import InputRecord
from rag_evaluator.errors import DatasetError

# Any in this module: the users' values, plain JSON, before their types are checked.

LOG_ADVICE = " If 'reference' holds retrieved contexts, say so with columns: {reference: retrieved_contexts}."


@dataclass(frozen=True)
class Field:
    """A value that is read into a canonical column, and where it comes from, for messages."""

    record: InputRecord
    name: str
    canonical: str

    @property
    def value(self) -> Any:
        """What the row has in the column; DatasetError where it has it several times, with different values."""
        value = self.record.row[self.name]
        if isinstance(value, Repeated):
            raise DatasetError(
                f"{self._place()}: expected every column once, received it {len(value)} times: "
                f"{', '.join(f'{item!r:.40}' for item in value)}. Rename or delete one of them."
            )
        return value

    def text(self, value: Any, advice: str, item: str = "", expected: str = "a string") -> str:
        """A string, or a number as text; DatasetError for anything else."""
        if isinstance(value, Unwritable):
            raise DatasetError(f"{self._place(item)} holds {value.reason}. Correct it, or convert it to text.")
        text = as_text(value)
        if text is None:
            raise self.wrong(expected, value, advice, item)
        return text

    def wrong(self, expected: str, received: Any, advice: str, item: str = "") -> DatasetError:
        return DatasetError(f"{self._place(item)}: expected {expected}, received {_described(received)}. {advice}")

    def _place(self, item: str = "") -> str:
        read_as = "" if self.name == self.canonical else f" (read as {self.canonical})"
        return f"{self.record.where}: column '{self.name}'{read_as}{item}"


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
    kind = next(name for kind, name in _KINDS.items() if isinstance(value, kind))
    return f"{kind}, {text if len(text) <= 60 else text[:57] + '...'}"


def _string(field: Field) -> str:
    value = str(field.value) if field.record.is_cells and isinstance(field.value, bool) else field.value
    return field.text(value, f"Write it as text, or rename the column if it is no {field.canonical}.")


def _question(field: Field) -> str:
    if isinstance(field.value, list):
        raise field.wrong(
            "one question as a string", field.value, "Only single-turn samples are supported: give the last question."
        )
    return _string(field)


def _answer(field: Field) -> str:
    """A list is accepted with one answer, as old ragas' `ground_truths` have it.

    Of several, old ragas took the first silently. Only the user knows which one is right, so that is an error.
    """
    is_listed_cell = field.record.is_cells and field.name == "ground_truths"
    value = _cell_list(field) if is_listed_cell else text_or_list(field.value, field.record.is_cells)
    if not isinstance(value, list):
        return _string(field)
    advice = "Keep the best one as a string, or join them yourself into one text."
    if field.name == "reference":
        advice += LOG_ADVICE
    if len(value) > 1:
        raise field.wrong("one reference answer", value, advice)
    return field.text(value[0], advice, ", item 1") if value else ""


def _contexts(field: Field) -> list[str]:
    """Texts in the given order; empty ones stay, as the rank of the others depends on them."""
    value = _cell_list(field) if field.record.is_cells else field.value
    if field.name == "context" and isinstance(value, str) and not value.lstrip().startswith("["):
        value = [value]
    if not isinstance(value, list):
        is_json = isinstance(value, str) and value.lstrip().startswith("[")
        advice = "Parse the text with json.loads first." if is_json else 'Put it in a list: ["..."].'
        raise field.wrong("a list of strings", value, advice)
    return [_document(field, item, f", item {rank}") for rank, item in enumerate(value, start=1)]


def _reference_contexts(field: Field) -> list[str]:
    is_single = isinstance(field.value, str | int | float) and not field.record.is_cells
    return [_string(field)] if is_single else _contexts(field)


def _logged_contexts(field: Field) -> list[str]:
    """By descending `document_score` where that is a list of as many numbers, else as given; ties as given.

    A log with one row per document gives one context per row: rows with the same question are not merged.
    """
    texts = _reference_contexts(field)
    scores = json_or_text(field.record.row.get("document_score"), field.record.is_cells)
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


def _cell_list(field: Field) -> list[Any]:
    """A cell that begins with '[' is a JSON list, any other is a list of one."""
    value = _string(field)
    if not value.lstrip().startswith("["):
        if is_written_by_python(value):
            raise field.wrong(
                "a JSON list or one text in the cell",
                value,
                "It looks like a list or document printed by Python. Write lists with json.dumps(contexts), arrays "
                "with json.dumps(contexts.tolist()); if it is one text, write it as a JSON list of one.",
            )
        return [value]
    try:
        return list(plain(json.loads(value)))
    except (ValueError, RecursionError) as error:
        raise field.wrong(
            "a JSON list in a cell that begins with '['",
            value,
            f"It is broken ({error}). Write lists with json.dumps(contexts); Python's own ['...'] is no JSON.",
        ) from error
