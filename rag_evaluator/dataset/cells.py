"""What the text of a cell holds: a text, a JSON list, or a list as Python shows it."""

import ast
import json
import re
from typing import Any

from rag_evaluator.dataset.json_values import plain

# Any in this module: JSON values.

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
