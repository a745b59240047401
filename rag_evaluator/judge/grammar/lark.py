"""Tightened JSON schema to llguidance grammar, in the layout that the prompt's own examples show.

ragas writes examples with `model_dump_json(indent=4)`; the grammar allows exactly that layout, so the model can
write what the examples show it, and every space and line break is forced.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .faults import Schema

Count = Callable[[str], int]  # tokens of a text
INDENT = 4
MAX_OPEN = 64  # items of a list for which the schema names no limit
STRING = r'STRING: /"([^"\\\x00-\x1F]|\\["\\\/nrt])+"/'
SHORT = 100  # characters of a short reason
SHORT_STRING = rf'SHORT: /"([^"\\\x00-\x1F]|\\["\\\/nrt]){{1,{SHORT}}}"/'
TERMINALS = {
    "string": STRING,
    "short": SHORT_STRING,
    "integer": r"INTEGER: /-?(0|[1-9][0-9]{0,8})/",
    "number": r"NUMBER: /-?(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?/",
    "boolean": "BOOLEAN: /true|false/",
    "null": "NULL: /null/",
}
MIN_STRING = 1  # tokens, as those that follow
USEFUL_STRING = 32
LONGEST_REASON = 256
CLOSING = 5  # tokens a string may take past its limit: the rest of a character or of an escape, and the quote
SHARED = "\0"  # in place of items that are counted elsewhere
SLACK = 8  # tokens: the answer's first space, and tokens that are split differently than in the count
TIMES = 2  # the texts of a list may have so many times the tokens of the text that they are made from
REASONS = frozenset({"reason", "feedback"})
"""Fields in which a judge says why."""


def to_lark(schema: Schema, prefix: str = "") -> str:
    """An llguidance Lark grammar of the JSON documents that a schema from `tighten` allows.

    Args:
        schema: JSON schema without references.
        prefix: text before the document, a space where the prompt ends without one.
    """
    writer = _Writer()
    if "x-partition" not in schema:
        return writer.grammar(prefix, writer.value(schema, 0))
    first, second = schema["x-partition"]
    chosen = writer.value(schema["properties"][first], 1)
    opening = "{" + line(1) + dump(first) + ": "
    between = "," + line(1) + dump(second) + ":"
    return writer.grammar(prefix + opening, f"{chosen} {_literal(between)}")


def to_lark_after(schema: Schema, text: str) -> str:
    """The grammar of the rest of an answer whose schema has a partition, once the first of its two arrays is written.

    The second array holds the statements that the first does not have, in order.

    Args:
        schema: as given to `to_lark`; the two arrays are its first properties.
        text: the answer so far, up to the colon of the second array.
    """
    first, second = schema["x-partition"]
    taken = [item["statement"] for item in json.loads(text + "[]}")[first]]
    left = []
    for item in schema["properties"][second]["prefixItems"]:
        if taken and item["properties"]["statement"]["const"] == taken[0]:
            taken.pop(0)
        else:
            left.append(item)
    writer = _Writer()
    parts = [_listed([writer.value(item, 2) for item in left], 1)]
    for name in list(schema["properties"])[2:]:
        parts += [_literal("," + line(1) + dump(name) + ": "), writer.value(schema["properties"][name], 1)]
    return writer.grammar(" ", " ".join([*parts, _literal(line(0) + "}")]))


def _literal(text: str) -> str:
    return json.dumps(text)  # in ASCII: the grammar's own lexer refuses some characters unless they are escaped


def dump(value: Any) -> str:
    """JSON of a scalar, as pydantic writes it."""
    return json.dumps(value, ensure_ascii=False)


def line(depth: int) -> str:
    return "\n" + " " * (INDENT * depth)


@dataclass
class _Writer:
    """Writes one rule per node and collects the terminals that are used."""

    rules: list[str] = field(default_factory=list)
    terminals: set[str] = field(default_factory=set)

    def grammar(self, prefix: str, body: str) -> str:
        start = f"start: {_literal(prefix)} {body}" if prefix else f"start: {body}"
        return "\n".join([start, *self.rules, *sorted(self.terminals)]) + "\n"

    def value(self, schema: Schema, depth: int) -> str:
        """The name of the rule or terminal, or the literal, for a schema at a depth."""
        if "const" in schema:
            return _literal(dump(schema["const"]))
        if "enum" in schema:
            return "(" + " | ".join(_literal(dump(option)) for option in schema["enum"]) + ")"
        if "anyOf" in schema:
            return "(" + " | ".join(self.value(option, depth) for option in schema["anyOf"]) + ")"
        kind = schema.get("type")
        if kind == "object" and schema.get("properties"):
            return self.object(schema, depth)
        if kind == "array" and ("items" in schema or "prefixItems" in schema):
            return self.array(schema, depth)
        if kind in TERMINALS:
            definition = TERMINALS["short" if schema.get("maxLength") == SHORT else kind]
            self.terminals.add(definition)
            return definition.partition(":")[0]
        raise NotImplementedError(f"no grammar for a schema like {json.dumps(schema)[:200]}")

    def rule(self, body: str) -> str:
        name = f"r{len(self.rules)}"
        self.rules.append(f"{name}: {body}")
        return name

    def object(self, schema: Schema, depth: int) -> str:
        parts = []
        opening = "{" + line(depth + 1)
        for name, value in schema["properties"].items():
            parts += [_literal(opening + dump(name) + ": "), self.value(value, depth + 1)]
            opening = "," + line(depth + 1)
        return self.rule(" ".join([*parts, _literal(line(depth) + "}")]))

    def array(self, schema: Schema, depth: int) -> str:
        if "prefixItems" in schema:
            items = [self.value(item, depth + 1) for item in schema["prefixItems"]]
            if schema.get("x-optional"):
                return self.subset(items, depth)
            return self.rule(_listed(items, depth))
        item = self.value(schema["items"], depth + 1)
        at_least = schema.get("minItems", 0)
        at_most = schema.get("maxItems", MAX_OPEN)
        if at_most == 0:
            return _literal("[]")
        more = ""
        if at_most != 1:
            times = f"{{{max(at_least, 1) - 1},{at_most - 1}}}"
            more = f"({_literal(',' + line(depth + 1))} {item}){times}"
        filled = f"{_literal('[' + line(depth + 1))} {item} {more} {_literal(line(depth) + ']')}"
        return self.rule(filled if at_least else f"{_literal('[]')} | {filled}")

    def subset(self, items: Sequence[str], depth: int) -> str:
        """An array of any of the items, each at most once, in order."""
        tail = self.rule(_literal(line(depth) + "]"))  # after the last item; built from the end
        openings: list[str] = [_literal("[]")]
        for item in reversed(items):
            openings.append(f"{_literal('[' + line(depth + 1))} {item} {tail}")
            tail = self.rule(f"{_literal(',' + line(depth + 1))} {item} {tail} | {tail}")
        return self.rule(" | ".join(openings))


def _listed(items: Sequence[str], depth: int) -> str:
    if not items:
        return _literal("[]")
    separator = f" {_literal(',' + line(depth + 1))} "
    return f"{_literal('[' + line(depth + 1))} {separator.join(items)} {_literal(line(depth) + ']')}"


@dataclass(frozen=True)
class Budget:
    """How a request's tokens are shared out.

    Attributes:
        string_tokens: limit of each reason, at most `LONGEST_REASON`, and of each string outside of lists. The texts of
            a list have none: an answer that does not end within the limits of the whole is incomplete.
        max_new_tokens: tokens that the model may choose; those that the grammar forces do not count.
        max_length: tokens of the longest legal answer, forced ones included; never more than the room.
        needed: tokens of the shortest useful answer: one item in each open list, strings of `USEFUL_STRING` if
            `max_new_tokens` allows as many.
        wanted: tokens that lists made from a text may take, whatever `max_new_tokens` is; 0 where there are none.
        limit: what to say of an answer that does not end within these limits.
    """

    string_tokens: int
    max_new_tokens: int
    max_length: int
    needed: int
    wanted: int = 0
    limit: str = ""


def share_out(schema: Schema, max_new_tokens: int, room: int, count_tokens: Count) -> Budget:
    """Divide the tokens over the free strings of the longest answer that the schema allows, and bound the whole.

    A list whose texts are made from another text, the schema's `x-source`, may have `TIMES` its tokens, with its
    layout and the reasons in it. A short answer is made whole by words of the question: these count, too.

    Args:
        max_new_tokens: the upper bound, whatever the source.
        room: tokens that the model's window leaves after the prompt.
    """
    longest = _Skeleton(schema, count_tokens)
    shortest = _Skeleton(schema, count_tokens, shortest=True)
    least = USEFUL_STRING if longest.open_lists else MIN_STRING  # a list may be shorter
    string_tokens = max(longest.string_tokens(max_new_tokens, room), least)
    most = max_new_tokens
    limit = f"the answer did not fit into {max_new_tokens} new tokens; raise judge.max_new_tokens"
    wanted = 0
    if longest.sources:
        layout = longest.choices + longest.reasons * (string_tokens + CLOSING) + USEFUL_STRING
        wanted = TIMES * sum(map(count_tokens, longest.sources)) + layout
    if 0 < wanted < most:
        most = wanted
        limit = f"the judge wrote {TIMES} times the tokens of the text in question, and came to no end"
    max_length = longest.fixed + most + SLACK
    if room < max_length:
        max_length = room
        limit = f"the answer did not fit into the {room} tokens that the prompt leaves of the window"
    useful = max(min(shortest.string_tokens(max_new_tokens, 10**9), USEFUL_STRING), MIN_STRING)
    return Budget(string_tokens, most, max_length, shortest.length(useful), wanted, limit)


def about_tokens(text: str) -> int:
    """Return about how many tokens a text has where no tokenizer is known: one for each three bytes of UTF-8."""
    return -(-len(text.encode("utf-8", "replace")) // 3)


class _Skeleton:
    """An answer with empty strings, whose tokens are counted: those that are forced, and where choices are made.

    Attributes:
        fixed: tokens that are not of free strings.
        strings: number of free strings.
        reasons: number of those of them that are reasons.
        choices: tokens chosen outside of strings, at most.
        open_lists: number of lists of a length that the model chooses.
        sources: the texts that open lists are made from, and the questions.
    """

    def __init__(self, schema: Schema, count_tokens: Count, shortest: bool = False) -> None:
        self.shortest = shortest
        self.strings = self.reasons = self.choices = self.open_lists = 0
        self.sources: list[str] = []
        text = json.dumps(self.value(schema), ensure_ascii=False, indent=INDENT)
        self.fixed = count_tokens(text.replace(dump(SHARED), ""))

    def string_tokens(self, max_new_tokens: int, room: int) -> int:
        """What each free string may take so that both limits hold; may be negative."""
        spare = min(max_new_tokens - self.choices, room - self.fixed) - SLACK
        return spare // max(self.strings, 1) - CLOSING

    def length(self, string_tokens: int) -> int:
        """Tokens of this answer with strings of a length."""
        return self.fixed + self.choices + (string_tokens + CLOSING) * self.strings

    def value(self, schema: Schema) -> Any:
        if "const" in schema:
            return schema["const"]
        if "anyOf" in schema:
            return max(map(self.value, schema["anyOf"]), key=lambda value: len(json.dumps(value, indent=INDENT)))
        if schema.get("type") == "object":
            shared = schema.get("x-partition", [])[1:]  # its items are counted in the first array
            properties = schema["properties"].items()
            self.reasons += sum(name in REASONS and value.get("type") == "string" for name, value in properties)
            return {name: [SHARED] if name in shared else self.value(value) for name, value in properties}
        if schema.get("type") == "array":
            return self.items(schema)
        if schema.get("type") == "string":
            self.strings += 1
            return ""
        longest = max(schema.get("enum", [-123456789.123456]), key=lambda option: len(dump(option)))
        self.choices += len(dump(longest))  # a token a character at most
        return longest

    def items(self, schema: Schema) -> list[Any]:
        if "prefixItems" in schema:
            self.choices += len(schema["prefixItems"]) if schema.get("x-optional") else 0
            return list(map(self.value, schema["prefixItems"]))
        self.open_lists += 1
        self.sources += [schema[name] for name in ("x-source", "x-question") if name in schema]
        count = max(schema.get("minItems", 0), 1) if self.shortest else schema.get("maxItems", MAX_OPEN)
        self.choices += 2 * count  # go on or end
        return [self.value(schema["items"]) for _ in range(count)]
