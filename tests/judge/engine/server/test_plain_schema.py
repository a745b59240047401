"""Schemas for servers without grammars, and what is made of answers that obey them in part only."""

import json
from typing import Any

import pytest
from fake_server import shortest

from rag_evaluator.judge import tighten
from rag_evaluator.judge.grammar.faults import faults, plain, settle
from tools.requests48 import questions


def _item(text: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"statement": {"const": text}, "reason": {"type": "string"}}}


def _said(text: str) -> dict[str, str]:
    return {"statement": text, "reason": "r"}


OPTIONAL = {"type": "array", "prefixItems": [_item("a"), _item("b"), _item("c")], "x-optional": True}
PARTS = {"type": "object", "properties": {"TP": OPTIONAL, "FP": OPTIONAL}, "x-partition": ["TP", "FP"]}


@pytest.mark.parametrize("number", range(48))
def test_the_schema_of_every_question_is_plain_and_its_shortest_answer_settles(number: int) -> None:
    prompt, model, _ = list(questions())[number]
    schema = tighten(model, prompt.data)
    text = json.dumps(plain(schema))
    assert not any(key in text for key in ('"x-', '"const"', '"$', '"title"', '"items": false'))
    value = settle(schema, json.loads(shortest(plain(schema))))
    assert list(faults(schema, value)) == []
    model.model_validate(value)


def test_lists_of_a_fixed_length_have_limits_and_no_items() -> None:
    fixed = plain({"type": "array", "prefixItems": [_item("a"), _item("b")]})
    assert fixed["minItems"] == fixed["maxItems"] == 2 and "items" not in fixed
    assert fixed["prefixItems"][0]["additionalProperties"] is False
    assert fixed["prefixItems"][0]["required"] == ["statement", "reason"]


SETTLED: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "out of order": (OPTIONAL, [_said("c"), _said("a")], [_said("a"), _said("c")]),
    "twice": (OPTIONAL, [_said("a"), _said("a")], [_said("a")]),
    "in both lists": (
        PARTS,
        {"TP": [_said("a"), _said("b")], "FP": [_said("b"), _said("c")]},
        {"TP": [_said("a"), _said("b")], "FP": [_said("c")]},
    ),
}


@pytest.mark.parametrize(("schema", "value", "settled"), SETTLED.values(), ids=SETTLED)
def test_what_a_schema_cannot_say_is_settled(schema: dict[str, Any], value: Any, settled: Any) -> None:
    assert settle(schema, value) == settled
    assert list(faults(schema, settled)) == []


FAULTS: dict[str, tuple[dict[str, Any], Any, str]] = {
    "a statement in no list": (PARTS, {"TP": [_said("a")], "FP": [_said("b")]}, "do not share out"),
    "a statement that was not asked": (OPTIONAL, [_said("d")], "was not asked"),
    "a verdict off its scale": ({"enum": [0, 1]}, 2, "expected 0 or 1"),
    "a truth value in place of a number": ({"enum": [0, 1]}, True, "expected 0 or 1"),
    "a missing key": (_item("a"), {"statement": "a"}, "lacks reason"),
    "another text": (_item("a"), _said("b"), "expected 'a'"),
    "too few items": ({"type": "array", "prefixItems": [_item("a")]}, [], "expected 1"),
    "a text in place of a list": (OPTIONAL, "a", "expected array"),
}


@pytest.mark.parametrize(("schema", "value", "told"), FAULTS.values(), ids=FAULTS)
def test_what_a_server_wrote_against_the_schema_is_in_the_reason(schema: dict[str, Any], value: Any, told: str) -> None:
    assert any(told in fault for fault in faults(schema, settle(schema, value)))
