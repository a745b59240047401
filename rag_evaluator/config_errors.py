"""What is wrong with a configuration, in words: each key with its place, what was expected and the nearest key."""

import difflib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from pydantic_core import ErrorDetails

from rag_evaluator.errors import did_you_mean
from rag_evaluator.origin import Key, Origin, dotted

NEAR = 0.6  # difflib's own limit
KEY = "[key]"  # how pydantic says that the key is wrong, and not its value


def explain(details: Sequence[ErrorDetails], origin: Origin, known: Mapping[Key, bool]) -> Iterator[str]:
    """One line for each key that is wrong.

    Args:
        details: pydantic's errors; where a value may be of several kinds, one for each kind that it is not.
        origin: where the keys were written.
        known: every key, and whether what is below it is the user's own.
    """
    for key, errors in itertools.groupby(details, lambda detail: _key_of(detail, known)):
        yield f"{origin.place(*key)}: '{dotted(key)}' {_explain(key, list(errors), origin, known)}"


def _key_of(detail: ErrorDetails, known: Mapping[Key, bool]) -> Key:
    """The key of an error, without what pydantic adds: the kind that it tried, or that a key is meant."""
    location = tuple(part for part in detail["loc"] if part != KEY)
    own = next((location[:size] for size in (3, 2, 1) if location[:size] in known), location)
    return location if detail["type"] == "extra_forbidden" or known.get(own) else own


def _explain(key: Key, details: Sequence[ErrorDetails], origin: Origin, known: Mapping[Key, bool]) -> str:
    detail = details[0]
    if detail["type"] == "extra_forbidden":
        return f"is not a known key.{nearest_keys(key, list(known))}"
    if detail["type"] == "missing":
        return "is missing. Add it; the project's config.yaml shows every key."
    mistaken = detail["type"] == "string_type" and not isinstance(detail["input"], list | dict | None)
    quotes = f" {origin.as_text(key)}" if mistaken else ""  # YAML reads no, 2024 and 1e3 as other things than text
    if mistaken and detail["loc"][-1] == KEY:
        return f'is {detail["input"]!r:.80}: a name should be a text. Put it in quotes: "{detail["input"]}".'
    return f"is {fault(details)}{quotes}"


def fault(details: Sequence[ErrorDetails]) -> str:
    """A value, what was expected in its place, and the nearest of a list of words."""
    detail = details[0]
    hint = ""
    if detail["type"] == "literal_error":
        known = re.findall(r"'([^']*)'", detail["ctx"]["expected"])
        hint = did_you_mean(str(detail["input"]), known).partition(" Known: ")[0]  # the message has them all
    return f"{detail['input']!r:.80}: {' or '.join(dict.fromkeys(map(_expected, details)))}.{hint}"


def _expected(detail: ErrorDetails) -> str:
    message = detail["msg"].removeprefix("Value error, ")
    return f"{message[0].lower()}{message[1:]}"


def nearest_keys(key: Key, known: Sequence[Key]) -> str:
    """` Did you mean 'judge.seed'?` for the nearest keys of any section, or all of this one; starts with a space."""
    section, last = key[:-1], str(key[-1]).lower()
    ratios = {
        candidate: max(_ratio(last, str(candidate[-1])), _ratio(last, "_".join(map(str, candidate))))
        for candidate in known
    }
    best = max(ratios.values())
    if best < NEAR:
        return f" Known: {', '.join(str(candidate[-1]) for candidate in known if candidate[:-1] == section)}."
    near = [candidate for candidate, ratio in ratios.items() if ratio == best]
    near = [candidate for candidate in near if candidate[:-1] == section] or near
    return f" Did you mean {' or '.join(repr(dotted(candidate)) for candidate in near)}?"


def _ratio(left: str, right: str) -> float:
    return difflib.SequenceMatcher(None, left, right).ratio()
