"""Any value of an input row as a value that JSON can hold (`plain`), whether it is blank, and what it no longer is."""

import datetime
import decimal
import enum
import json
import math
import re
import unicodedata
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import Any

INVISIBLE = {"Cc", "Cf", "Zs", "Zl", "Zp"}
"""Unicode categories: controls, format characters such as the zero width space, and white space."""
FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that show nothing: fillers, joiners, variation selectors, the empty Braille pattern."""
EMPTY: tuple[Any, ...] = (None, "", [])
"""A value that counts as absent; text that shows nothing is blank, see `is_blank`."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, default=lambda value: _converted(value))
_TYPES: Mapping[Any, Any] = {
    (datetime.date, datetime.time): lambda value: value.isoformat(),
    (datetime.timedelta, uuid.UUID, PurePath): str,
    # text, as a float would round it
    decimal.Decimal: lambda value: str(value) if value.is_finite() else float(value),
    enum.Enum: lambda value: value.value,
    Mapping: lambda value: {str(name): item for name, item in value.items()},
}
_DOCUMENTS: Mapping[str, tuple[str, ...]] = {
    "node": ("score",),
    "text": ("id_", "metadata", "type"),
    "content": ("id", "meta", "score", "type"),
}
"""What objects of LlamaIndex and Haystack are known by -> what is kept beside it."""

# Any in this module: values of rows are whatever the user's columns hold; JSON has no narrower Python type.


class Unwritable(str):
    """Text in place of a value that JSON cannot hold.

    reason: what it was, and what to do.
    """

    reason: str

    def __new__(cls, text: str, what: str = "") -> "Unwritable":
        made = super().__new__(cls, text)
        made.reason = f"it holds {what}. Correct it, or convert it to text."
        return made


class Several(list[Any]):
    """Values where a metric that needs the column can read one only.

    reason: why there are several, and what to do.
    """

    reason: str = ""


def is_blank(value: Any) -> bool:
    """Whether it is None, text of white space and invisible characters only, or a list of nothing else.

    Numbers, booleans and objects are never blank.
    """
    if isinstance(value, str):
        return all(unicodedata.category(sign) in INVISIBLE or FILLERS.match(sign) for sign in value)
    if isinstance(value, list):
        return all(map(is_blank, value))
    return value is None


def as_text(value: Any) -> str | None:
    """A text, or a number as text; None for any other JSON value.

    42.0 is '42': a column of integers becomes floats beside a missing value, in pandas for one.
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if type(value) in (int, float):
        return str(value)
    return value if isinstance(value, str) else None


def plain(value: Any) -> Any:
    """None, bool, int, finite float, str, list and dict of these.

    NaN, NaT and NA become None, as in pandas' `to_json`; dates become ISO 8601 text, numpy and pyarrow values their
    Python counterparts, LangChain documents `{"page_content": ..., "metadata": ...}`. In place of what JSON cannot hold
    is an `Unwritable` text with the reason; an infinite number is such a value, too. Half of a surrogate pair becomes
    U+FFFD, as where a letter cannot be decoded.
    """
    if value is None or isinstance(value, bool | Unwritable):
        return value
    try:
        text = _ENCODER.encode(value)
        return _DECODER.decode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    except OverflowError:
        return Unwritable(str(value), "an infinite number")
    except Exception as error:  # nested too deeply, or an object of any library, whose attributes may be broken
        return Unwritable(f"<{type(value).__name__}>", f"a value that JSON cannot hold ({error})")


def _constant(name: str) -> None:
    """What JSON of Python writes for a float that is no number."""
    if name != "NaN":
        raise OverflowError


_DECODER = json.JSONDecoder(parse_constant=_constant)


def _converted(value: Any) -> Any:
    """A value that `json` does not know as one that it knows. Raises `TypeError` for a type that nobody knows."""
    kind = type(value).__name__
    if kind in ("NAType", "NaTType"):  # of pandas; NaT is a datetime, too
        return None
    for known, convert in _TYPES.items():
        if isinstance(value, known):
            return convert(value)
    if hasattr(value, "as_py"):  # libraries are known by what they offer, so that none is imported: pyarrow
        return value.as_py()
    if hasattr(value, "tolist"):  # numpy, pandas, torch; of nanoseconds `tolist` would make integers
        unit = {"M": "datetime64[us]", "m": "timedelta64[us]"}.get(getattr(getattr(value, "dtype", None), "kind", ""))
        return (value.astype(unit) if unit else value).tolist()
    if hasattr(value, "page_content"):  # LangChain
        identity = {"id": value.id} if getattr(value, "id", None) is not None else {}
        metadata = {str(name): plain(item) for name, item in getattr(value, "metadata", {}).items()}
        return {**identity, "page_content": value.page_content, "metadata": metadata}
    for name, others in _DOCUMENTS.items():
        if isinstance(getattr(value, name, None), str) or (name == "node" and hasattr(value, name)):
            parts = {key: getattr(value, key, None) for key in (name, *others)}
            return {key: plain(part) for key, part in parts.items() if part is not None}
    raise TypeError(f"type {kind}")


def as_number(value: Any, is_cell: bool) -> Any:
    """The value; or the number that a cell's text is."""
    if not (is_cell and isinstance(value, str)):
        return value
    for kind in (int, float):
        with suppress(ValueError, OverflowError):
            number = kind(value)
            return number if math.isfinite(number) else value
    return value
