"""What a row has in a column, and as text by which rows are matched and grouped."""

import json
import unicodedata
from typing import Any

from rag_evaluator.dataset.blank import is_blank
from rag_evaluator.dataset.columns import ALIASES, accepted_names
from rag_evaluator.dataset.sample import Sample

EXACT = 2**53  # floats from here on need not be the integer that was written


def value_of(sample: Sample, column: str) -> Any:
    """What a row has in one of its own columns, or in one of ragas' by any accepted name. Any: JSON."""
    if column in sample.row:
        return sample.row[column]
    names = (name for name in ALIASES if column in accepted_names(name))
    return next((sample.columns.get(name) for name in names), None)


def as_key(value: Any) -> str | None:
    """A value as text, to be compared: composed (NFC), trimmed, 7.0 as 7; None for a blank. Any: JSON."""
    if is_blank(value):
        return None
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value).strip()
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        value = int(value)
    return unicodedata.normalize("NFC", json.dumps(value, ensure_ascii=False, sort_keys=True))
