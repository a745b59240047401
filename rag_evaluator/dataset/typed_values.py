"""One value of a row -> ids of contexts, scores of documents, whether a question is answerable, rubrics.

A reader gives None for a value that says nothing: blank, null, or a table's object whose every field is null.
"""

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from rag_evaluator.dataset.blank import is_blank
from rag_evaluator.dataset.cells import json_or_text
from rag_evaluator.dataset.field import Field, listed
from rag_evaluator.dataset.json_values import plain

# Any in this module: the users' values, plain JSON, before their types are checked.

TRUTH: Mapping[str, bool] = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
RUBRIC = re.compile(r"score\d_description")


def ids(field: Field) -> list[str]:
    """Ids as text, in the given order."""
    value = listed(field)
    if not isinstance(value, list):
        raise field.wrong("a list of ids", value, 'Put them in a list: ["..."].')
    advice = "Write it as text or a number."
    return [field.text(item, advice, f", item {rank}", "an id") for rank, item in enumerate(value, start=1)]


def scores(field: Field) -> list[float] | None:
    """Numbers; one alone is a list of one."""
    if is_blank(field.value):
        return None
    value = json_or_text(field.value, field.record.is_cells)
    values = value if isinstance(value, list) else [as_number(value, field.record.is_cells)]
    advice = "Give each retrieved context its score, or rename the column if it is something else."
    for rank, item in enumerate(values, start=1):
        if not is_number(item):
            is_list = isinstance(value, list)
            expected, place = ("a number", f", item {rank}") if is_list else ("a list of numbers", "")
            raise field.wrong(expected, item, advice, place)
    return [float(item) for item in values]


def logged_scores(field: Field) -> list[float] | None:
    """The scores of a log: None where a document has none, so that they give no order."""
    value = json_or_text(field.value, field.record.is_cells)
    return None if isinstance(value, list) and None in value else scores(field)


def as_number(value: Any, is_cell: bool) -> Any:
    """The value; or the number that a cell's text is."""
    if not (is_cell and isinstance(value, str)):
        return value
    for kind in (int, float):
        with suppress(ValueError, OverflowError):
            number = kind(value)
            return number if math.isfinite(number) else value
    return value


def is_number(value: Any) -> bool:
    """Whether it is a number that a float can hold."""
    return isinstance(value, float) or (type(value) is int and abs(value) < 2**1023)


def answerable(field: Field) -> bool | None:
    """Whether the contexts or the documents hold an answer: true or false, yes or no, 1 or 0."""
    value = field.value
    if is_blank(value):
        return None
    text = str(int(value)) if type(value) in (bool, int, float) and value in (0, 1) else value
    known = TRUTH.get(text.strip().lower()) if isinstance(text, str) else None
    if known is None:
        advice = "Write true, false, yes, no, 1 or 0, or rename the column if it is something else."
        raise field.wrong("true or false", value, advice)
    return known


def rubrics(field: Field) -> dict[str, str] | None:
    """What each score means, as ragas' InstanceSpecificRubrics takes it; scores without a text are left out."""
    value = _object(field.value) if field.record.is_cells else field.value
    if is_blank(value):
        return None
    advice = 'Write {"score1_description": "...", "score2_description": "..."}.'
    if not isinstance(value, dict):
        raise field.wrong("an object", value, advice)
    for key in value:
        if not RUBRIC.fullmatch(key):
            raise field.wrong("keys such as score1_description", key, advice)
    texts = {key: text for key, text in value.items() if not is_blank(text)}
    return {key: field.text(text, advice, f", item '{key}'") for key, text in texts.items()} or None


def _object(cell: Any) -> Any:
    """The object that the text of a cell is; else the cell."""
    if not (isinstance(cell, str) and cell.lstrip().startswith("{")):
        return cell
    try:
        return plain(json.loads(cell))
    except (ValueError, RecursionError):
        return cell
