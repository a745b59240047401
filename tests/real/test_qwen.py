"""Qwen2.5-Coder-0.5B-Instruct, a judge that people run: what it writes about eight rows is whole, and of their rows."""

import json
import re
from pathlib import Path

import pytest

from rag_evaluator import RAGEvaluator
from rag_evaluator.resources import packaged

LONG = (
    "The swimming baths of Vask were built between 1921 and 1926 by the architect Mirel Oskander, who had won the "
    "competition against eleven others, and they were closed in 1987 because the town could no longer pay for the "
    "heating of the three pools. The pump house, the changing rooms with their green tiles and the small cafe above "
    "the entrance have been open again since 2009, as a club of 240 members has repaired them without any public money."
)


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


@pytest.mark.slow
def test_statements_are_whole_and_of_the_response_and_each_row_is_scored_or_says_why_not(qwen: Path) -> None:
    lines = packaged("examples/dataset.jsonl").read_text("utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["label"] != "evasive"][:7]
    rows.append({"user_input": "What became of the baths?", "retrieved_contexts": [LONG], "response": LONG})
    judge = {"model": str(qwen), "dtype": "float32"}
    results = RAGEvaluator({"metrics": ["faithfulness"], "judge": judge}).evaluate(rows)
    for row, score in zip(rows, results.scores["faithfulness"], strict=True):
        assert score.reason if score.missing else 0 <= score.value <= 1
        divided = score.judgements[0]
        for statement in divided["response"]["statements"] if divided["response"] else ():
            assert re.fullmatch(r"[A-Z].*\.", statement) and "string" not in divided.get("cut", ())
            assert 2 * len(words(statement) & words(row["response"])) >= len(words(statement)), statement
