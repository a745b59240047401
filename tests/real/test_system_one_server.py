"""A verifier that a real server runs: `SYSTEM_ONE=http://127.0.0.1:8000 SYSTEM_ONE_MODEL=NAME`, of any kind."""

import os

import pytest

from rag_evaluator import RAGEvaluator

URL = os.environ.get("SYSTEM_ONE", "")
ROW = {
    "retrieved_contexts": ["The bridge of Harn was opened in 1921. It has three arches."],
    "response": "The bridge was opened in 1921. It has nine towers of gold.",
}
pytestmark = [
    pytest.mark.allow_hosts(["127.0.0.1"]),
    pytest.mark.skipif(not URL, reason="NOT TESTED: SYSTEM_ONE names no server"),
]


def test_sentences_have_probabilities_and_a_text_beyond_the_window_has_no_score() -> None:
    verifier = {"url": URL, "model": os.environ["SYSTEM_ONE_MODEL"], "piece": 1_000_000}
    evaluator = RAGEvaluator({"metrics": ["groundedness"], "verifier": verifier})
    many = {**ROW, "response": " ".join(f"The bridge has {number} arches." for number in range(66))}
    long = {**ROW, "retrieved_contexts": ["The bridge of Harn was opened in 1921. " * 20_000]}
    scores = evaluator.evaluate([ROW, many, long]).scores["groundedness"]
    few, more = ([each["probability"] for each in score.judgements[0]["response"]["sentences"]] for score in scores[:2])
    assert len(few) == 2 and len(more) == 66 and all(0 < share < 1 for share in few + more)
    assert few[0] > few[1]
    assert scores[2].missing and "server" in scores[2].reason
