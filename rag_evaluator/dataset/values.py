"""One value of a row, `Field`, -> what its canonical column holds: `READ`; None for a value that says nothing."""

import ast
import io
import json
import re
import tokenize
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rag_evaluator.errors import DatasetError

from .hits import PATHS, hits_of, text_of
from .json_values import Several, Unwritable, as_number, as_text, is_blank, plain
from .readers.json_files import InputRecord

# Any in this module: the users' values, plain JSON, before their types are checked.

_PYTHON = re.compile(
    r"""\s*(
    array\(\[.*\]\s*(,\s*dtype=\S+\s*)?\)
    | (Document\(|page_content=['"]).*
    | \(['"].*['"],?\)      # a tuple
    | \{'(?!.*':\ ).*'\}    # a set, and no dict
    )\s*""",
    re.DOTALL | re.VERBOSE,
)
TRUTH: Mapping[str, bool] = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
USER = "user"
ROLES: Mapping[str, str] = {
    **dict.fromkeys((USER, "human"), USER),
    **dict.fromkeys(("assistant", "ai", "model"), "assistant"),
    **dict.fromkeys(("system", "developer", "tool", "function"), ""),
}
"""Roles of messages, and their types in ragas -> the role of a turn; empty: it is no turn of the conversation."""
RUBRIC = re.compile(r"score\d_description")
LOG_ADVICE = " If 'reference' holds retrieved contexts, say so with columns: {reference: retrieved_contexts}."


def looks_like_a_list(value: Any) -> bool:
    """Whether it is text that begins as a list, or what `str` makes of an array, tuple, set or LangChain document."""
    return isinstance(value, str) and (value.lstrip().startswith("[") or _PYTHON.fullmatch(value) is not None)


def python_list(text: str) -> Any:
    """The list that Python prints so; else the text, as where no comma is between texts, which numpy prints."""
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError, tokenize.TokenError):
        read = io.StringIO(text.strip()).readline
        texts = sum(token.type == tokenize.STRING for token in tokenize.generate_tokens(read))
        tree = ast.parse(text.strip(), mode="eval")
        constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
        if isinstance(tree.body, ast.List) and sum(isinstance(value, str) for value in constants) == texts:
            return plain(ast.literal_eval(tree))
    return text


def json_or_text(value: Any, is_cell: bool, start: str | tuple[str, ...] = "[") -> Any:
    """The value; or what it holds, where a cell's text is a JSON list (or an object, where `start` says so)."""
    if not (is_cell and isinstance(value, str) and value.lstrip().startswith(start)):
        return value
    try:
        return plain(json.loads(value))
    except (ValueError, RecursionError):  # an answer may begin with '[' too, as in '[1] says so'
        return value


def text_or_list(value: Any, is_cell: bool) -> Any:
    """The value; or a list, where a cell's text is a JSON list of strings."""
    parsed = json_or_text(value, is_cell)
    is_texts = isinstance(parsed, list) and all(isinstance(item, str) for item in parsed)
    return parsed if is_texts else value


@dataclass(frozen=True)
class Field:
    """A value that is read into a canonical column, and where it comes from, for messages.

    mark: what stands between the texts of a cell, where the user has said so.
    """

    record: InputRecord
    name: str
    canonical: str
    mark: str | None = None

    @property
    def value(self) -> Any:
        """What the row has in the column; DatasetError for no JSON value, and for several that differ."""
        return self._single(self.record.row[self.name])

    @property
    def parsed(self) -> Any:
        """The value; or what it holds, where the text of a cell is JSON as the column needs it."""
        if self.canonical == "rubrics":
            return self._single(json_or_text(self.value, self.record.is_cells, "{"))
        value = self._single(json_or_text(self.value, True, ("[", "{")))
        if isinstance(value, str) and value.lstrip().startswith("["):
            value = python_list(value)
        hits = hits_of(value)
        return value if hits is None else hits

    def text(self, value: Any, advice: str, item: str = "", expected: str = "a string") -> str:
        """A string, or a number as text; DatasetError for anything else."""
        text = as_text(self._single(value, item))
        if text is None:
            raise self.wrong(expected, value, advice, item)
        return text

    def wrong(self, expected: str, received: Any, advice: str, item: str = "") -> DatasetError:
        return DatasetError(f"{self._place(item)}: expected {expected}, received {received!r:.60}. {advice}")

    def _single(self, value: Any, item: str = "") -> Any:
        if isinstance(value, Unwritable | Several):
            raise DatasetError(f"{self._place(item)}: {value.reason}")
        return value

    def _place(self, item: str = "") -> str:
        read_as = "" if self.name == self.canonical else f" (read as {self.canonical})"
        return f"{self.record.where}: column '{self.name}'{read_as}{item}"


def string(field: Field) -> str:
    value = field.value
    if field.record.is_cells and isinstance(value, bool):
        value = str(value)
    return field.text(value, f"Write it as text, or rename the column if it is no {field.canonical}.")


def listed(field: Field, expected: str) -> list[Any]:
    """The items of a list. A cell is a JSON list, its texts with a mark between them, or one text."""
    value = field.parsed
    if field.mark and isinstance(value, str) and not isinstance(json_or_text(value, True), list):
        return [part.strip() for part in value.split(field.mark) if not is_blank(part)]
    if isinstance(value, list):
        return value
    if field.record.is_cells and looks_like_a_list(field.value):
        raise field.wrong(
            "a JSON list or one text in the cell",
            field.value,
            "It looks like a broken list, or one printed by Python. Write lists with json.dumps(contexts), arrays with "
            "json.dumps(contexts.tolist()); if it is one text, write it as a JSON list of one.",
        )
    if field.record.is_cells:
        return [string(field)]
    if field.name == "context" and isinstance(value, str) and not value.lstrip().startswith("["):
        return [value]
    raise field.wrong(expected, value, 'Put it in a list: ["..."], or parse it with json.loads first.')


def ids(field: Field) -> list[str]:
    """Ids as text, in the given order."""
    advice = "Write it as text or a number."
    items = enumerate(listed(field, "a list of ids"), start=1)
    return [field.text(item, advice, f", item {rank}", "an id") for rank, item in items]


def scores(field: Field) -> list[float] | None:
    """Numbers; one alone is a list of one."""
    value = field.parsed
    if is_blank(field.value):
        return None
    values = value if isinstance(value, list) else [as_number(value, field.record.is_cells)]
    advice = "Give each retrieved context its score, or rename the column if it is something else."
    for rank, item in enumerate(values, start=1):
        if not is_number(item):
            expected, place = ("a number", f", item {rank}") if value is values else ("a list of numbers", "")
            raise field.wrong(expected, item, advice, place)
    return [float(item) for item in values]


def logged_scores(field: Field) -> list[float] | None:
    """The scores of a log: None where a document has none, so that they give no order."""
    value = field.parsed
    return None if isinstance(value, list) and None in value else scores(field)


def is_number(value: Any) -> bool:
    """Whether it is a number that a float can hold."""
    return isinstance(value, float) or (type(value) is int and abs(value) < 2**1023)


def answerable(field: Field) -> bool | None:
    """Whether the contexts or the documents hold an answer: true or false, yes or no, 1 or 0."""
    value = field.value
    if is_blank(value):
        return None
    known = TRUTH.get((str(value) if isinstance(value, bool) else as_text(value) or "").strip().lower())
    if known is None:
        advice = "Write true, false, yes, no, 1 or 0, or rename the column if it is something else."
        raise field.wrong("true or false", value, advice)
    return known


def rubrics(field: Field) -> dict[str, str] | None:
    """What each score means, as ragas' InstanceSpecificRubrics takes it; scores without a text are left out."""
    value = field.parsed
    if is_blank(value):
        return None
    advice = 'Write {"score1_description": "...", "score2_description": "..."}.'
    if not isinstance(value, dict):
        raise field.wrong("an object", value, advice)
    if wrong := next((key for key in value if not RUBRIC.fullmatch(key)), None):
        raise field.wrong("keys such as score1_description", wrong, advice)
    texts = {key: text for key, text in value.items() if not is_blank(text)}
    return {key: field.text(text, advice, f", item '{key}'") for key, text in texts.items()} or None


def history(field: Field) -> list[dict[str, str]] | str | None:
    """The turns before a question, those without a text left out; a text is kept as it is."""
    value = field.parsed
    if isinstance(value, str):
        return value
    advice = 'Write {"role": "user" or "assistant", "content": "..."}, or rename the column if it is no conversation.'
    if not isinstance(value, list):
        raise field.wrong("a list of turns, or a text", value, advice)
    turns = [_turn(field, item, f"[{place}]", advice) for place, item in enumerate(value)]
    return [turn for turn in turns if turn["role"] and not is_blank(turn["content"])] or None


def _turn(field: Field, item: Any, place: str, advice: str) -> dict[str, str]:
    if not isinstance(item, dict):
        raise field.wrong("a turn as an object", item, advice, place)
    key = "role" if "role" in item else "type"
    role = ROLES.get(str(item.get(key)).lower())
    if role is None:
        raise field.wrong(f"one of {', '.join(ROLES)}", item.get(key), advice, f"{place}.{key}")
    content = text_of(item)
    if content is item and "content" in item:  # a message may be a call of a tool, without a text
        content = item["content"]
    return {"role": role, "content": "" if is_blank(content) else field.text(content, advice, f"{place}.content")}


def _question(field: Field) -> str:
    if isinstance(field.value, list):
        raise field.wrong(
            "one question as a string", field.value, "Give the last question, and the turns before it as 'history'."
        )
    return string(field)


def _answer(field: Field) -> str:
    """A list is accepted with one answer, as old ragas' `ground_truths` have it.

    Of several, old ragas took the first silently. Only the user knows which one is right, so that is an error.
    """
    is_cell = field.record.is_cells
    is_list = is_cell and field.name == "ground_truths"
    value = listed(field, "a list of texts") if is_list else text_or_list(field.value, is_cell)
    if not isinstance(value, list):
        return string(field)
    advice = "Keep the best one as a string, or join them yourself into one text."
    if field.name == "reference":
        advice += LOG_ADVICE
    if len(value) > 1:
        raise field.wrong("one reference answer", value, advice)
    return field.text(value[0], advice, ", item 1") if value else ""


def _contexts(field: Field) -> list[str] | None:
    """Texts in the given order; empty ones stay, as the rank of the others depends on them, and None is no item.

    None where nothing but that is there, which does not say that nothing was retrieved.
    """
    items = listed(field, "a list of strings")
    texts = [_document(field, item, f", item {rank}") for rank, item in enumerate(items, start=1) if item is not None]
    return texts if texts or not items else None


def _reference_contexts(field: Field) -> list[str] | None:
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
    "history": history,
    "standalone_question": string,
}
"""Canonical column -> what reads it; None where the value says nothing."""

READ_LOG = {**READ, "retrieved_contexts": _reference_contexts, "document_score": logged_scores}


def _document(field: Field, item: Any, place: str) -> str:
    """The text of a context, or of an object of `FORMS`."""
    expected = f"a string or an object with one text, in one of {PATHS}"
    return field.text(text_of(item), 'Write its text, or "" to keep its rank.', place, expected)
