"""Why a score is what it is, in a few lines: the reason of a missing one, what the judge said of the others."""

from collections.abc import Iterator, Mapping
from typing import Any

LINES, LETTERS = 3, 160  # shown of a score at most
Json = Any  # whatever a judge answers


def said(record: Mapping[str, Json]) -> list[str]:
    """All that was said about a score: why it is missing, or the judge's verdicts with their reasons.

    Args:
        record: a line of `details.jsonl`.
    """
    if record.get("reason"):
        return [_cut(str(record["reason"]))]
    lines: list[str] = []
    for judgement in record.get("judgements", ()):
        if judgement.get("error"):
            lines.append(_cut(str(judgement["error"])))
        lines += map(_cut, _opinions(judgement.get("response")))
    return list(dict.fromkeys(lines))


def telling(own: list[str], other: list[str]) -> tuple[str, ...]:
    """The few lines to be shown of one side: first those that the other side does not have."""
    return tuple(sorted(own, key=lambda line: line in other)[:LINES])


def parts_of(answer: Json, role: str = "") -> Iterator[tuple[str, Mapping[str, Json]]]:
    """The objects in an answer, itself included, each with the name of the list that it stands in."""
    if isinstance(answer, list):
        for item in answer:
            yield from parts_of(item, role)
    if isinstance(answer, Mapping):
        yield role, answer
        for name, value in answer.items():
            yield from parts_of(value, name)


def _opinions(answer: Json) -> Iterator[str]:
    """The verdicts in an answer, as 'verdict 0 · statement · reason'."""
    for role, part in parts_of(answer):
        numbers = [f"{name} {value}" for name, value in part.items() if isinstance(value, int | float)]
        texts = [" ".join(value.split()) for value in part.values() if isinstance(value, str) and value.strip()]
        if numbers or texts:
            yield " · ".join([*(numbers or [role] if role else numbers), *texts])


def _cut(text: str) -> str:
    return text if len(text) <= LETTERS else text[: LETTERS - 1].rstrip() + "…"
