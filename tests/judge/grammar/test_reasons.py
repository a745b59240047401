"""Reasons as short as they are wanted: in grammars, in the schemas of servers, in signatures and in answers."""

import json

import pytest
from made_engine import request_of
from ragas.metrics.collections.faithfulness.util import NLIStatementInput, NLIStatementOutput
from test_lark import accepts

from rag_evaluator import RAGEvaluator
from rag_evaluator.config import Reasons

STATEMENTS = NLIStatementInput(context="c", statements=["One.", "Two."])


def answer(*reasons: str) -> str:
    lines = [
        {"statement": text, "reason": reason, "verdict": 1}
        for text, reason in zip(STATEMENTS.statements, reasons, strict=True)
    ]
    return NLIStatementOutput(statements=lines).model_dump_json(indent=4)


@pytest.mark.parametrize(
    ("reasons", "allowed", "refused"),
    [
        ("none", ["", ""], ["", "x"]),
        ("short", ["x", "\\" + "é" * 99], ["x", "x" * 101]),
        ("short", ["x" * 100, '"'], ["x", ""]),
        ("full", ["x" * 101, "x"], ["x", ""]),
    ],
)
def test_a_reason_is_as_short_as_it_is_wanted(reasons: Reasons, allowed: list[str], refused: list[str]) -> None:
    grammar = request_of(NLIStatementOutput, STATEMENTS, reasons=reasons).grammar
    assert accepts(grammar, answer(*allowed))
    assert not accepts(grammar, answer(*refused))


def test_a_judge_without_reasons_writes_less_and_says_so_in_its_signature() -> None:
    row = {
        "user_input": "Where was Nolu Brak born?",
        "retrieved_contexts": ["Nolu Brak was born in Tesk."],
        "response": "He was born in Tesk.",
    }
    written = {}
    for reasons in ("full", "none"):
        evaluator = RAGEvaluator({"metrics": ["faithfulness"], "judge": {"reasons": reasons}})
        score = evaluator.evaluate([row]).scores["faithfulness"][0]
        said = score.judgements[-1]["response"]["statements"]
        assert all(bool(line["reason"]) == (reasons == "full") for line in said), json.dumps(said)
        assert ("|reasons:none" in evaluator.signatures()["faithfulness"]) == (reasons == "none")
        written[reasons] = score.judgements[-1]["generated_tokens"]
    assert written["none"] < written["full"]
