"""Token budgets: how long strings and lists may get so that the longest legal answer fits.

There are two limits: `max_new_tokens` for what the model chooses (forced text costs it nothing), and the room that the
prompt leaves in the model's window for all of the answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rag_evaluator.judge.grammar.lark import MAX_OPEN, dump, line

MIN_STRING, USEFUL_STRING, MAX_STRING = 1, 32, 256  # tokens
CLOSING = 5  # tokens a string may take past its limit: the rest of a character or of an escape, and the quote
SLACK = 8  # tokens: the answer's first space, and tokens that are split differently than in the count


@dataclass(frozen=True)
class Budget:
    """How a request's tokens are shared out.

    Attributes:
        string_tokens: limit of each free string, tokens.
        reserve: chosen tokens needed to end the answer after one more list item; 0 where no list need end early.
        reserve_length: the same for all tokens, forced ones included.
        max_length: tokens of the longest legal answer, forced ones included; never more than the room.
        needed: tokens of the shortest useful answer: one item in each open list, strings of `USEFUL_STRING` if
            `max_new_tokens` allows as many.
    """

    string_tokens: int
    reserve: int
    reserve_length: int
    max_length: int
    needed: int


def share_out(schema: dict[str, Any], max_new_tokens: int, room: int, count_tokens: Callable[[str], int]) -> Budget:
    """Divide the tokens over the free strings of the longest answer that the schema allows.

    If that does not leave them a useful length, lists end early instead: the reserves say when.
    """
    longest, shortest = _Skeleton(schema, count_tokens), _Skeleton(schema, count_tokens, shortest=True)
    max_length = min(room, longest.fixed + max_new_tokens + SLACK)
    string_tokens = min(MAX_STRING, longest.string_tokens(max_new_tokens, room))
    if string_tokens >= USEFUL_STRING or longest.open_lists == 0:
        useful = max(min(longest.string_tokens(max_new_tokens, 10**9), USEFUL_STRING), MIN_STRING)
        return Budget(max(string_tokens, MIN_STRING), 0, 0, max_length, shortest.length(useful))
    for_two = shortest.string_tokens(max_new_tokens // 2, room // 2)
    string_tokens = max(MIN_STRING, min(USEFUL_STRING, for_two))
    length = shortest.length(string_tokens)
    return Budget(string_tokens, length - shortest.fixed, length, max_length, length)


class _Skeleton:
    """An answer with empty strings, whose tokens are counted: those that are forced, and where choices are made.

    Attributes:
        fixed: tokens that are not of free strings.
        strings: number of free strings.
        choices: tokens chosen outside of strings, at most.
        open_lists: number of lists of a length that the model chooses.
    """

    def __init__(self, schema: dict[str, Any], count_tokens: Callable[[str], int], shortest: bool = False) -> None:
        self.shortest, self.strings, self.choices, self.open_lists = shortest, 0, 0, 0
        self.fixed = count_tokens(self.text(schema, 0))

    def string_tokens(self, max_new_tokens: int, room: int) -> int:
        """What each free string may take so that both limits hold; may be negative."""
        spare = min(max_new_tokens - self.choices, room - self.fixed) - SLACK
        return spare // max(self.strings, 1) - CLOSING

    def length(self, string_tokens: int) -> int:
        """Tokens of this answer with strings of a length."""
        return self.fixed + self.choices + (string_tokens + CLOSING) * self.strings

    def text(self, schema: dict[str, Any], depth: int) -> str:
        if "const" in schema:
            return dump(schema["const"])
        if "anyOf" in schema:
            return max((self.text(option, depth) for option in schema["anyOf"]), key=len)
        if schema.get("type") == "object":
            return self.object(schema, depth)
        if schema.get("type") == "array":
            return self.listed(self.items(schema, depth + 1), depth, "[]")
        if schema.get("type") == "string":
            self.strings += 1
            return '""'
        text = max((dump(option) for option in schema.get("enum", [-123456789.123456])), key=len)
        self.choices += len(text)  # a token a character at most
        return text

    def object(self, schema: dict[str, Any], depth: int) -> str:
        parts = []
        for name, value in schema["properties"].items():
            shared = name in schema.get("x-partition", [])[1:]  # its items are counted in the first array
            text = f"[{line(depth + 2)}{line(depth + 1)}]" if shared else self.text(value, depth + 1)
            parts.append(f"{dump(name)}: {text}")
        return self.listed(parts, depth, "{}")

    def items(self, schema: dict[str, Any], depth: int) -> list[str]:
        if "prefixItems" in schema:
            self.choices += len(schema["prefixItems"]) if schema.get("x-optional") else 0
            return [self.text(item, depth) for item in schema["prefixItems"]]
        self.open_lists += 1
        count = max(schema.get("minItems", 0), 1) if self.shortest else schema.get("maxItems", MAX_OPEN)
        self.choices += 2 * count  # go on or end
        return [self.text(schema["items"], depth) for _ in range(count)]

    def listed(self, parts: list[str], depth: int, brackets: str) -> str:
        inside = ("," + line(depth + 1)).join(parts)
        return f"{brackets[0]}{line(depth + 1)}{inside}{line(depth)}{brackets[1]}" if parts else brackets
