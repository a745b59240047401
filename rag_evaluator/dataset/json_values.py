"""Any value of an input row as a value that JSON can hold (`plain`), whether it is blank, and what it no longer is."""

import datetime
import decimal
import enum
import math
import re
import unicodedata
import uuid
from collections.abc import Callable, Mapping
from functools import singledispatch
from pathlib import PurePath
from typing import Any


class Unwritable(str):
    """Text in place of a value that JSON cannot hold.

    reason: what it was: 'a value of type bytes, which JSON cannot hold'.
    """

    reason: str

    def __new__(cls, text: str, reason: str) -> "Unwritable":
        made = super().__new__(cls, text)
        made.reason = reason
        return made

    def __reduce__(self) -> tuple[type["Unwritable"], tuple[str, str]]:  # for copies on disk
        return Unwritable, (str(self), self.reason)


class Repeated(list[Any]):
    """The values of a column that the row has several times. Any: whatever the user's columns hold."""


class Differing(list[Any]):
    """The values of a column in the lines of one question, which should be equal where a metric needs the column.

    reason: which lines differ, and what to do.
    """

    reason: str = ""


INVISIBLE = {"Cc", "Cf", "Zs", "Zl", "Zp"}
"""Unicode categories: controls, format characters such as the zero width space, and white space."""
FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that show nothing: fillers, joiners, variation selectors, the empty Braille pattern."""


def is_blank(value: Any) -> bool:
    """Whether it is None, text of white space and invisible characters only, or a list of nothing else.

    Any: a JSON value; numbers, booleans and objects are never blank.
    """
    if isinstance(value, str):
        return all(unicodedata.category(sign) in INVISIBLE or FILLERS.match(sign) for sign in value)
    if isinstance(value, list):
        return all(map(is_blank, value))
    return value is None


TOO_MANY_DIGITS = "an integer of more than 4300 digits"  # Python writes no longer ones
_LARGEST = 10**4300

# Any below: values of rows are whatever the user's columns hold; JSON has no narrower Python type.


EMPTY: tuple[Any, ...] = (None, "", [])
"""A value that counts as absent; text that shows nothing is blank, see `is_blank`."""


@singledispatch
def plain(value: Any) -> Any:
    """None, bool, int, finite float, str, list and dict of these.

    NaN, NaT and NA become None, as in pandas' `to_json`; dates become ISO 8601 text, numpy and pyarrow values their
    Python counterparts, LangChain documents `{"page_content": ..., "metadata": ...}`. In place of what JSON cannot hold
    is an `Unwritable` text with the reason; half a surrogate pair and an infinite number are such values, too.
    """
    if type(value).__name__ == "NAType":
        return None
    for attribute, convert in _FOREIGN.items():
        if hasattr(value, attribute):
            return plain(convert(value))
    kind = type(value).__name__
    return Unwritable(f"<{kind}>", f"a value of type {kind}, which JSON cannot hold")


def as_text(value: Any) -> str | None:
    """A text, or a number as text; None for any other JSON value.

    42.0 is '42': a column of integers becomes floats beside a missing value, in pandas for one.
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if type(value) in (int, float):
        return str(value)
    return value if isinstance(value, str) else None


@plain.register(type(None))
@plain.register(bool)
@plain.register(Unwritable)
def _same(value: bool | Unwritable | None) -> bool | Unwritable | None:
    return value


@plain.register
def _text(value: str) -> str:
    text = str.__str__(value)  # subclasses (numpy.str_, string enums) give their text, not their name
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        bad = ord(text[error.start])
        reason = f"half of a surrogate pair (\\u{bad:04x}) at character {error.start + 1}"
        return Unwritable(text.encode("utf-8", "backslashreplace").decode("utf-8"), reason)
    return text


@plain.register
def _integer(value: int) -> int | str:
    return int(value) if abs(value) < _LARGEST else Unwritable("<int>", TOO_MANY_DIGITS)


@plain.register
def _float(value: float) -> Any:
    if math.isinf(value):
        return Unwritable(str(float(value)), "an infinite number")
    return None if math.isnan(value) else float(value)


@plain.register
def _mapping(value: Mapping) -> dict[str, Any]:  # type: ignore[type-arg]  # singledispatch takes no Mapping[...]
    return {plain(str(key)): plain(item) for key, item in value.items()}


@plain.register(list)
@plain.register(tuple)
def _list(value: list[Any] | tuple[Any, ...]) -> list[Any]:
    return [plain(item) for item in value]


@plain.register
def _repeated(value: Repeated) -> Any:
    """The one value where the column has the same each time, or is empty but once."""
    values = [plain(item) for item in value]
    nonempty = [item for item in values if item not in EMPTY] or values[:1]
    return nonempty[0] if all(item == nonempty[0] for item in nonempty) else Repeated(values)


@plain.register(datetime.date)
@plain.register(datetime.time)
def _date(value: datetime.date | datetime.time) -> str | None:
    is_nat = type(value).__name__ == "NaTType"  # pandas' NaT is a datetime too
    return None if is_nat else value.isoformat()


@plain.register(datetime.timedelta)
@plain.register(uuid.UUID)
@plain.register(PurePath)
def _written(value: Any) -> str:
    return str(value)


@plain.register
def _decimal(value: decimal.Decimal) -> Any:
    if value.is_infinite():
        return _float(float(value))
    return str(value) if value.is_finite() else None  # text, as a float would round it


@plain.register
def _enum(value: enum.Enum) -> Any:
    return plain(value.value)


def _from_numpy(value: Any) -> Any:
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    unit = {"M": "datetime64[us]", "m": "timedelta64[us]"}.get(kind)  # in nanoseconds `tolist` would give integers
    return value.astype(unit).tolist() if unit else value.tolist()


def _from_document(document: Any) -> dict[str, Any]:
    fields = {"page_content": document.page_content, "metadata": getattr(document, "metadata", {})}
    identity = getattr(document, "id", None)
    return fields if identity is None else {"id": identity, **fields}


# Known by what they offer, so that no library is imported to find out.
_FOREIGN: Mapping[str, Callable[[Any], Any]] = {
    "as_py": lambda scalar: scalar.as_py(),  # pyarrow
    "tolist": _from_numpy,  # numpy, pandas, torch
    "page_content": _from_document,  # langchain
}
