"""Grammars as trees: what is left after a text, as Lark and as GBNF, is what the whole grammar allows there."""

import re
from typing import Any

import llguidance
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_evaluator.judge import (
    KINDS,
    TERMINALS,
    after,
    as_gbnf,
    as_lark,
    has_scale,
    may_end,
    parse,
    tighten,
    to_lark,
    until,
    weighs,
)
from tools.requests48 import questions

BYTES = llguidance.LLTokenizer("byte")
ITEM = {"type": "object", "properties": {"statement": {"type": "string"}, "verdict": {"enum": [0, 1]}}}


def _with(text: str) -> dict[str, Any]:
    return {**ITEM, "properties": {**ITEM["properties"], "statement": {"const": text}}}  # type: ignore[dict-item]


SCHEMAS: dict[str, dict[str, Any]] = {
    "an object": ITEM,
    "an open list": {"type": "object", "properties": {"a": {"type": "array", "items": ITEM, "maxItems": 3}}},
    "a list of texts": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 4},
    "fixed items": {"type": "array", "prefixItems": [_with('a "b" \\ </s>'), _with("他")]},
    "optional items": {"type": "array", "prefixItems": [_with("x"), _with("xy"), _with("z")], "x-optional": True},
    "numbers": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 2},
    "either": {"anyOf": [{"const": ""}, {"type": "string"}, {"type": "boolean"}, {"type": "null"}]},
}


def bytes_allowed(grammar: str, text: bytes) -> set[int] | None:
    """The next bytes; None where the grammar refuses the text."""
    matcher = llguidance.LLMatcher(BYTES, grammar)
    assert not matcher.is_error(), matcher.get_error()
    if matcher.validate_tokens(list(text)) < len(text):
        return None
    matcher.consume_tokens(list(text))
    if matcher.is_stopped():
        return set()
    bits = int.from_bytes(matcher.compute_bitmask(), "little")
    return {byte for byte in range(256) if bits >> byte & 1}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@given(choices=st.lists(st.integers(0, 255), min_size=1, max_size=60))
@settings(max_examples=15, deadline=None)
def test_the_rest_of_a_grammar_allows_what_the_grammar_allows_after_the_text(
    schema: dict[str, Any], choices: list[int]
) -> None:
    grammar, text = to_lark(schema, " "), b""
    for choice in choices:  # a random text that the grammar allows
        allowed = sorted(byte for byte in bytes_allowed(grammar, text) or () if byte < 128)
        if not allowed:
            break
        text += bytes([allowed[choice % len(allowed)]])
    rest = after(parse(grammar), text.decode())
    assert rest is not None
    left = bytes_allowed(as_lark(rest), b"")
    assert (left or set()) - {255} == (bytes_allowed(grammar, text) or set()) - {255} or may_end(rest)


@pytest.mark.parametrize("kind", TERMINALS)
def test_a_terminal_is_the_same_in_the_tree(kind: str) -> None:
    pattern = re.compile(TERMINALS[kind][1].partition(": /")[2].removesuffix("/").replace("\\/", "/"))
    texts = ['"a"', '""', '"\\n"', '"\\u"', "0", "-0", "01", "7", "-12.50", "1.1234567", "1234567890", "1.", "true",
             "falsey", "null", '"a', '"é\\""', "-", "", f'"{"a" * 100}"', f'"{"a" * 101}"']  # fmt: skip
    for text in texts:
        rest = after(KINDS[kind], text)
        assert (rest is not None and may_end(rest)) == bool(pattern.fullmatch(text)), text


def test_a_text_that_the_grammar_refuses_has_no_rest() -> None:
    assert after(parse(to_lark(ITEM)), '{"statement"') is None


def test_a_grammar_of_another_hand_is_refused() -> None:
    with pytest.raises(ValueError, match="no rule 'word'"):
        parse("start: word\n")


def test_a_grammar_ends_before_a_text_that_looks_like_a_control_token() -> None:
    schema = SCHEMAS["fixed items"]
    ended = until(parse(to_lark(schema)), re.compile("</s>"))
    assert "</s>" not in as_lark(ended) and "</s>" in to_lark(schema)
    assert bytes_allowed(as_lark(ended), b'[\n    {\n        "statement": "a \\"b\\" \\\\ ') == set()


def test_gbnf_quotes_texts_and_repeats() -> None:
    gbnf = as_gbnf(parse(to_lark(SCHEMAS["an open list"])))
    assert gbnf.startswith("root ::= ") and '"{\\n    \\"a\\": "' in gbnf and "{0,2}" in gbnf


def test_a_digit_may_be_chosen_wherever_an_answer_has_a_verdict() -> None:
    with_digits = {name for name, schema in SCHEMAS.items() if weighs(parse(to_lark(schema)))}
    assert with_digits == {"an object", "an open list", "fixed items", "optional items", "numbers"}


def test_a_digit_may_be_chosen_in_the_rest_of_an_answer_too() -> None:
    grammar = parse(to_lark({"enum": [1, 10, 25]}))
    left = after(grammar, "1")
    assert left is not None and weighs(left)
    ended = after(parse(to_lark(ITEM)), '{\n    "statement": "The 3 are 4.",\n    "verdict": 1')
    assert ended is not None and not weighs(ended)


def test_the_answer_to_each_question_of_the_48_with_a_scale_has_digits_to_choose() -> None:
    seen = set()
    for prompt, model, _ in questions():
        schema = tighten(model, prompt.data)
        if "x-partition" in schema:
            continue
        found = weighs(parse(to_lark(schema)))
        assert found or not has_scale(schema)
        seen.add(found)
    assert seen == {True, False}
