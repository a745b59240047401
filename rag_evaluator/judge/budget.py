"""Token budgets: how long strings and lists may get so that the longest legal answer fits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rag_evaluator.judge.grammar import dump, line

MIN_STRING, USEFUL_STRING, MAX_STRING = 12, 32, 256  # tokens
CLOSING = 5  # tokens a string may take past its limit: the rest of a character or of an escape, and the quote


@dataclass(frozen=True)
class Budget:
    """How a request's tokens are shared out.

    Attributes:
        string_tokens: limit of each free string, tokens.
        reserve: tokens needed to end the answer after one more list item; 0 where every list is as long as it can get.
        needed: tokens of the shortest useful answer (one item in each open list, strings of `USEFUL_STRING`).
    """

    string_tokens: int
    reserve: int
    needed: int


def share_out(schema: dict[str, Any], max_new_tokens: int, count_tokens: Callable[[str], int]) -> Budget:
    """Divide `max_new_tokens` over the free strings of the longest answer that the schema allows.

    If the longest answer does not fit with strings of a useful length, lists end early instead: `reserve` says when.
    """
    longest, shortest = _Skeleton(), _Skeleton(shortest=True)
    longest_fixed = count_tokens(longest.text(schema, 0))
    shortest_fixed = count_tokens(shortest.text(schema, 0))
    needed = shortest_fixed + (USEFUL_STRING + CLOSING) * shortest.strings
    room = max_new_tokens - longest_fixed - 4  # the answer's first blank, and a token that joins differently
    string_tokens = min(MAX_STRING, room // max(longest.strings, 1) - CLOSING)
    if string_tokens >= USEFUL_STRING or longest.open_lists == 0:
        return Budget(max(string_tokens, MIN_STRING), 0, needed)
    spare = (max_new_tokens - 2 * shortest_fixed) // (2 * max(shortest.strings, 1))
    string_tokens = max(MIN_STRING, min(USEFUL_STRING, spare - CLOSING))
    return Budget(string_tokens, shortest_fixed + (string_tokens + CLOSING) * shortest.strings, needed)


class _Skeleton:
    """Writes an answer with empty strings, to count the tokens that are not free.

    Attributes:
        strings: free strings met.
        open_lists: lists of a length that the model chooses.
    """

    def __init__(self, shortest: bool = False) -> None:
        self.shortest, self.strings, self.open_lists = shortest, 0, 0

    def text(self, schema: dict[str, Any], depth: int) -> str:
        if "const" in schema:
            return dump(schema["const"])
        if "enum" in schema:
            return max((dump(option) for option in schema["enum"]), key=len)
        if "anyOf" in schema:
            return max((self.text(option, depth) for option in schema["anyOf"]), key=len)
        if schema.get("type") == "object":
            return self.object(schema, depth)
        if schema.get("type") == "array":
            return self.listed(self.items(schema, depth + 1), depth, "[]")
        if schema.get("type") == "string":
            self.strings += 1
            return '""'
        return "-123456789.123456" if schema.get("type") == "number" else "-123456789"

    def object(self, schema: dict[str, Any], depth: int) -> str:
        parts = []
        for name, value in schema["properties"].items():
            shared = name in schema.get("x-partition", [])[1:]  # its items are counted in the first array
            text = f"[{line(depth + 2)}{line(depth + 1)}]" if shared else self.text(value, depth + 1)
            parts.append(f"{dump(name)}: {text}")
        return self.listed(parts, depth, "{}")

    def items(self, schema: dict[str, Any], depth: int) -> list[str]:
        if "prefixItems" in schema:
            return [self.text(item, depth) for item in schema["prefixItems"]]
        self.open_lists += 1
        count = max(schema.get("minItems", 0), 1) if self.shortest else schema.get("maxItems", 64)
        return [self.text(schema["items"], depth) for _ in range(count)]

    def listed(self, parts: list[str], depth: int, brackets: str) -> str:
        inside = ("," + line(depth + 1)).join(parts)
        return f"{brackets[0]}{line(depth + 1)}{inside}{line(depth)}{brackets[1]}" if parts else brackets
