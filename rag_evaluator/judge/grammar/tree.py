"""A grammar of `lark` as a tree, from which text can be taken away: what is left is the grammar of the rest.

Servers take the grammar of a whole answer. Where an answer is continued by another request, they need the grammar of
what is still missing.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from rag_evaluator.judge.grammar.lark import SHORT, TERMINALS

RUN = re.compile(r'(?:[^"\\\x00-\x1F]|\\["\\/nrt])+')  # what a string may hold, as in `lark.STRING`
PIECES = re.compile(r'\s+|(?P<text>"(?:\\.|[^"\\])*")|(?P<name>\w+)|(?P<sign>[()|])|\{(?P<least>\d+),(?P<most>\d+)\}')
LARK_BODY = r'/([^"\\\x00-\x1F]|\\["\\\/nrt])+/'
GBNF_BODY = r'([^"\\\x00-\x1F] | "\\" ["\\/nrt])'
DIGITS = re.compile(r"[0-9]")
GBNF_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True, eq=False)
class Text:
    """A text as it is."""

    text: str


@dataclass(frozen=True, eq=False)
class Letter:
    """One of some characters, written as in a regular expression: `0-9`."""

    characters: str


@dataclass(frozen=True, eq=False)
class Body:
    """The characters of a string and the quote that ends it.

    Attributes:
        empty: whether the quote may come at once.
    """

    empty: bool


@dataclass(frozen=True, eq=False)
class Join:
    """One after the other."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, eq=False)
class Choice:
    """One of them."""

    options: tuple["Node", ...]


@dataclass(frozen=True, eq=False)
class Repeat:
    """The same again, so many times at least and at most."""

    item: "Node"
    least: int
    most: int


Node = Text | Letter | Body | Join | Choice | Repeat
NOTHING = Join(())
DIGIT = Letter("0-9")
INTEGER = Join((Repeat(Text("-"), 0, 1), Choice((Text("0"), Join((Letter("1-9"), Repeat(DIGIT, 0, 8)))))))
LETTER = Choice((Letter(r'^"\\\x00-\x1F'), Join((Text("\\"), Letter(r'"\\/nrt')))))
KINDS: Mapping[str, Node] = {
    "string": Join((Text('"'), Body(empty=False))),
    "short": Join((Text('"'), Repeat(LETTER, 1, SHORT), Text('"'))),
    "integer": INTEGER,
    "number": Join((INTEGER, Repeat(Join((Text("."), Repeat(DIGIT, 1, 6))), 0, 1))),
    "boolean": Choice((Text("true"), Text("false"))),
    "null": Text("null"),
}
LEAVES = {TERMINALS[kind][0]: node for kind, node in KINDS.items()}
"""The same as `lark.TERMINALS`; a test compares them."""


def parse(grammar: str) -> Node:
    """The tree of a grammar that `to_lark` or `to_lark_after` has written. Raises `ValueError` for others."""
    rules = dict(line.split(": ", 1) for line in grammar.splitlines() if line)
    known: dict[str, Node] = dict(LEAVES)

    def rule(name: str) -> Node:
        if name not in known:
            if name not in rules:
                raise ValueError(f"the grammar has no rule {name!r}")
            pieces = list(_pieces(rules[name]))
            known[name] = options(pieces)
        return known[name]

    def options(pieces: list[re.Match[str]]) -> Node:
        choices = [sequence(pieces)]
        while pieces and pieces[0]["sign"] == "|":
            pieces.pop(0)
            choices.append(sequence(pieces))
        return choices[0] if len(choices) == 1 else Choice(tuple(choices))

    def sequence(pieces: list[re.Match[str]]) -> Node:
        parts: list[Node] = []
        while pieces and pieces[0]["sign"] not in ("|", ")"):
            piece = pieces.pop(0)
            if piece["sign"] == "(":
                parts.append(options(pieces))
                pieces.pop(0)
            elif piece["text"]:
                parts.append(Text(json.loads(piece["text"])))
            elif piece["name"]:
                parts.append(rule(piece["name"]))
            else:
                parts.append(Repeat(parts.pop(), int(piece["least"]), int(piece["most"])))
        return join(parts)

    return rule("start")


def _pieces(body: str) -> Iterator[re.Match[str]]:
    place = 0
    while place < len(body):
        match = PIECES.match(body, place)
        if match is None:
            raise ValueError(f"the grammar cannot be read at {body[place : place + 40]!r}")
        place = match.end()
        if match.lastgroup:
            yield match


def join(parts: Iterable[Node]) -> Node:
    """The parts one after the other, texts side by side as one text, without those that are empty."""
    flat: list[Node] = []
    for part in parts:
        for each in part.parts if isinstance(part, Join) else (part,):
            if isinstance(each, Text) and flat and isinstance(flat[-1], Text):
                flat[-1] = Text(flat[-1].text + each.text)
            elif not isinstance(each, Text) or each.text:
                flat.append(each)
    return flat[0] if len(flat) == 1 else Join(tuple(flat))


def after(node: Node, text: str) -> Node | None:
    """What may follow a text; None where the grammar does not allow the text."""
    left: Node | None = node
    place = 0
    while left is not None and place < len(text):
        parts = left.parts if isinstance(left, Join) else (left,)
        first = parts[0] if parts else NOTHING
        if isinstance(first, Text) and text.startswith(first.text, place):
            place += len(first.text)
            left = join(parts[1:])
        elif isinstance(first, Body) and (run := RUN.match(text, place)):
            place = run.end()
            left = join((Body(empty=True), *parts[1:]))
        else:
            left = _after(left, text[place])
            place += 1
    return left


def _after(node: Node, character: str) -> Node | None:
    """What may follow a character."""
    match node:
        case Text(text):
            return Text(text[1:]) if text[:1] == character else None
        case Letter(characters):
            return NOTHING if re.fullmatch(f"[{characters}]", character) else None
        case Body(empty):
            if character == '"':
                return NOTHING if empty else None
            if character == "\\":
                return Join((Letter(r'"\\/nrt'), Body(empty=True)))
            return Body(empty=True) if character >= " " else None
        case Repeat(item, least, most):
            left = _after(item, character) if most else None
            return None if left is None else join((left, Repeat(item, max(least - 1, 0), most - 1)))
        case Choice(options):
            return _any(_after(option, character) for option in options)
        case Join(parts):
            return _any(_inside(parts, character))


def _inside(parts: tuple[Node, ...], character: str) -> Iterator[Node | None]:
    for place, part in enumerate(parts):
        left = _after(part, character)
        yield None if left is None else join((left, *parts[place + 1 :]))
        if not may_end(part):
            return


def _any(options: Iterable[Node | None]) -> Node | None:
    left = [option for option in options if option is not None]
    return None if not left else left[0] if len(left) == 1 else Choice(tuple(left))


def may_end(node: Node) -> bool:
    """Whether nothing need follow."""
    match node:
        case Text(text):
            return not text
        case Repeat(_, least, most):
            return least == 0 or most == 0
        case Choice(options):
            return any(map(may_end, options))
        case Join(parts):
            return all(map(may_end, parts))
    return False


def weighs(node: Node) -> bool:
    """Whether a digit may be chosen, as that of a verdict is; also where the digits that differ are in a string."""
    return _weighs(node, False, {})


def _weighs(node: Node, chosen: bool, known: dict[tuple[int, bool], bool]) -> bool:
    """The same inside of a choice, if `chosen`, where texts with a digit are one of several."""
    key = id(node), chosen
    if key not in known:
        match node:
            case Text(text):
                known[key] = chosen and DIGITS.search(text) is not None
            case Letter(characters):
                known[key] = not characters.startswith("^") and DIGITS.search(characters) is not None
            case Repeat(item):
                known[key] = _weighs(item, True, known)
            case Join(parts):
                known[key] = any(_weighs(part, chosen, known) for part in parts)
            case Choice(options):
                known[key] = any(_weighs(option, True, known) for option in options)
            case _:
                known[key] = False
    return known[key]


def until(node: Node, stops: re.Pattern[str]) -> Node:
    """The same grammar, ended before the first text that has a match. Repeated parts are kept as they are."""
    if not any(stops.search(text) for text in _texts(node, set())):
        return node
    return _until((node,), stops, {})


def _texts(node: Node, known: set[int]) -> Iterator[str]:
    if id(node) in known:
        return
    known.add(id(node))
    match node:
        case Text(text):
            yield text
        case Join(parts) | Choice(parts):
            for part in parts:
                yield from _texts(part, known)


def _until(parts: tuple[Node, ...], stops: re.Pattern[str], known: dict[tuple[int, ...], Node]) -> Node:
    key = tuple(map(id, parts))
    if key not in known:
        known[key] = _first_until(parts, stops, known) if parts else NOTHING
    return known[key]


def _first_until(parts: tuple[Node, ...], stops: re.Pattern[str], known: dict[tuple[int, ...], Node]) -> Node:
    first, rest = parts[0], parts[1:]
    match first:
        case Text(text) if match := stops.search(text):
            return Text(text[: match.start()])
        case Join(inner):
            return _until((*inner, *rest), stops, known)
        case Choice(options) if any(stops.search(text) for text in _texts(first, set())):
            return Choice(tuple(_until((option, *rest), stops, known) for option in options))
    return join((first, _until(rest, stops, known)))


def as_lark(node: Node, string_tokens: int | None = None) -> str:
    """A grammar for llguidance.

    Args:
        string_tokens: after so many tokens a string ends; None: strings have no limit.
    """
    limit = "" if string_tokens is None else f"[max_tokens={string_tokens}]"
    writer = _Notation(json.dumps, _lark_letter, {True: 'body? "\\""', False: 'body "\\""'})
    start = writer.expression(node)
    rules = [f"{name}: {body}" for name, body in writer.rules]
    return "\n".join([f"start: {start}", *rules, f"body{limit}: {LARK_BODY}"]) + "\n"


def as_gbnf(node: Node) -> str:
    """A grammar for llama.cpp. Its limits of strings are left to whoever reads the answer: it counts no tokens."""
    writer = _Notation(_quoted, "[{}]".format, {True: 'body* "\\""', False: 'body+ "\\""'})
    start = writer.expression(node)
    rules = [f"{name} ::= {body}" for name, body in writer.rules]
    return "\n".join([f"root ::= {start}", *rules, f"body ::= {GBNF_BODY}"]) + "\n"


def _lark_letter(characters: str) -> str:
    return "/[" + characters.replace("/", r"\/") + "]/"


def _quoted(text: str) -> str:
    return '"' + "".join(GBNF_ESCAPES.get(c, c if c >= " " else f"\\x{ord(c):02X}") for c in text) + '"'


class _Notation:
    """Writes one rule per node that has parts, each once.

    Args:
        quoted: a text.
        letter: one of some characters.
        body: the rest of a string, by whether it may be empty.
    """

    def __init__(self, quoted: Callable[[str], str], letter: Callable[[str], str], body: dict[bool, str]) -> None:
        self.quoted, self.letter, self.body = quoted, letter, body
        self.rules: list[tuple[str, str]] = []
        self._names: dict[int, str] = {}

    def expression(self, node: Node) -> str:
        match node:
            case Text(text):
                return self.quoted(text)
            case Letter(characters):
                return self.letter(characters)
            case Body(empty):
                return self.body[empty]
        if id(node) not in self._names:
            body = self._parts(node)
            self._names[id(node)] = f"r{len(self.rules)}"
            self.rules.append((self._names[id(node)], body))
        return self._names[id(node)]

    def _parts(self, node: Node) -> str:
        match node:
            case Join(parts):
                return " ".join(map(self.expression, parts)) or self.quoted("")
            case Choice(options):
                return " | ".join(map(self.expression, options))
            case Repeat(item, least, most):
                return f"({self.expression(item)}){{{least},{most}}}" if most else self.quoted("")
        raise AssertionError(f"no parts: {node}")
