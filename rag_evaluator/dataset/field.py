"""A value of a row that is read into a canonical column: its place in messages, and what the text of a cell holds."""

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_evaluator.dataset.json_values import Differing, Repeated, Unwritable, as_text, is_blank, plain
from rag_evaluator.dataset.readers.json_files import InputRecord
from rag_evaluator.errors import DatasetError

_PYTHON = re.compile(r"array\(\[.*\]\s*(,\s*dtype=\S+\s*)?\)|(Document\(|page_content=['\"]).*", re.DOTALL)


def is_written_by_python(text: str) -> bool:
    """Whether it is what `str` makes of an array, a tuple or set of texts, or a LangChain document."""
    text = text.strip()
    if _PYTHON.fullmatch(text):
        return True
    if not (text.startswith(("('", '("', "{'", '{"')) and text.endswith((")", "}"))):
        return False
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return isinstance(value, tuple | set) and all(isinstance(item, str) for item in value)


def json_or_text(value: Any, is_cell: bool) -> Any:
    """The value; or what it holds, where a cell's text is a JSON list."""
    if not (is_cell and isinstance(value, str) and value.lstrip().startswith("[")):
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
        value = self.record.row[self.name]
        if isinstance(value, Unwritable):
            raise self._unwritable(value)
        if isinstance(value, Differing):
            raise DatasetError(f"{self._place()}: {value.reason}")
        if isinstance(value, Repeated):
            raise DatasetError(
                f"{self._place()}: expected every column once, received it {len(value)} times: "
                f"{', '.join(f'{item!r:.40}' for item in value)}. Rename or delete one of them."
            )
        return value

    def text(self, value: Any, advice: str, item: str = "", expected: str = "a string") -> str:
        """A string, or a number as text; DatasetError for anything else."""
        if isinstance(value, Unwritable):
            raise self._unwritable(value, item)
        text = as_text(value)
        if text is None:
            raise self.wrong(expected, value, advice, item)
        return text

    def wrong(self, expected: str, received: Any, advice: str, item: str = "") -> DatasetError:
        return DatasetError(f"{self._place(item)}: expected {expected}, received {_described(received)}. {advice}")

    def _unwritable(self, value: Unwritable, item: str = "") -> DatasetError:
        return DatasetError(f"{self._place(item)} holds {value.reason}. Correct it, or convert it to text.")

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


def string(field: Field) -> str:
    value = str(field.value) if field.record.is_cells and isinstance(field.value, bool) else field.value
    return field.text(value, f"Write it as text, or rename the column if it is no {field.canonical}.")


def listed(field: Field) -> Any:
    """The value; of a cell, the list that it holds. Lists are there already where lines of a log were joined."""
    if field.mark and isinstance(field.value, str) and not isinstance(json_or_text(field.value, True), list):
        return [part.strip() for part in field.value.split(field.mark) if not is_blank(part)]
    is_text = field.record.is_cells and not isinstance(field.value, list)
    return _cell_list(field) if is_text else field.value


def _cell_list(field: Field) -> list[Any]:
    """A cell that begins with '[' is a JSON list, any other is a list of one."""
    value = string(field)
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
