"""`plain`: any value of an input row, whatever library it came from, as a value JSON can hold."""

import datetime
import decimal
import enum
import math
import uuid
from collections.abc import Callable, Mapping
from functools import singledispatch
from pathlib import PurePath
from typing import Any

# Any below: values of rows are whatever the user's columns hold; JSON has no narrower Python type.


@singledispatch
def plain(value: Any) -> Any:
    """None, bool, int, finite float, str, list and dict of these.

    NaN, NaT, NA and infinities become None, as in pandas' `to_json`; dates become ISO 8601 text, numpy and pyarrow
    values their Python counterparts, LangChain documents `{"page_content": ..., "metadata": ...}`. Raises ValueError
    with the reason for a value JSON cannot hold, lone surrogates included.
    """
    if type(value).__name__ == "NAType":
        return None
    for attribute, convert in _FOREIGN.items():
        if hasattr(value, attribute):
            return plain(convert(value))
    raise ValueError(f"a value of type {type(value).__name__}, which JSON cannot hold")


@plain.register(type(None))
@plain.register(bool)
def _same(value: bool | None) -> bool | None:
    return value


@plain.register
def _text(value: str) -> str:
    text = str.__str__(value)  # subclasses (numpy.str_, string enums) give their text, not their name
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        bad = ord(text[error.start])
        raise ValueError(f"half of a surrogate pair (\\u{bad:04x}) at character {error.start + 1}") from error
    return text


@plain.register
def _integer(value: int) -> int:
    return int(value)


@plain.register
def _float(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


@plain.register
def _mapping(value: Mapping) -> dict[str, Any]:  # type: ignore[type-arg]  # singledispatch takes no Mapping[...]
    return {plain(str(key)): plain(item) for key, item in value.items()}


@plain.register(list)
@plain.register(tuple)
def _list(value: list[Any] | tuple[Any, ...]) -> list[Any]:
    return [plain(item) for item in value]


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
def _decimal(value: decimal.Decimal) -> str | None:
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
