"""The tree of a grammar as Lark for llguidance, or as GBNF for llama.cpp."""

import json
from collections.abc import Callable

from rag_evaluator.judge.grammar.tree import Body, Choice, Join, Letter, Node, Repeat, Text

LARK_BODY = r'/([^"\\\x00-\x1F]|\\["\\\/nrt])+/'
GBNF_BODY = r'([^"\\\x00-\x1F] | "\\" ["\\/nrt])'
GBNF_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


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
