"""Names of groups and metrics as labels of a chart; the whole name is in the table beside it."""

import re
from collections.abc import Iterable, Sequence

LETTERS = 40


def short(names: Sequence[str]) -> list[str]:
    """One label for each name: long ones are cut, those that are equal then numbered."""
    found: dict[str, None] = {}
    for name in names:
        plain = " ".join(name.split())
        cut = plain if len(plain) <= LETTERS else plain[: LETTERS - 1] + "…"
        label, number = cut, 1
        while label in found:
            number += 1
            label = f"{cut} ({number})"
        found[label] = None
    return list(found)


def in_order(names: Iterable[str]) -> list[str]:
    """By name, numbers in them by value: 2 before 10."""
    return sorted(names, key=lambda name: [(len(part), part) if part.isdigit() else (0, part) for part in _parts(name)])


def _parts(name: str) -> list[str]:
    return re.split(r"(\d+)", name)
