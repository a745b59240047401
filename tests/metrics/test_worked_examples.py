"""The examples in docs/formulas.md have the values that the program computes."""

import re
from pathlib import Path
from typing import Any

import pytest
from aliases import Json
from langchain_core.embeddings import Embeddings

from rag_evaluator import METRICS, RAGEvaluator, ScriptedJudge
from rag_evaluator.ragas_library import InstructorBaseRagasLLM

PAGE = (Path(__file__).parents[2] / "docs" / "formulas.md").read_text("utf-8")
TABLE = PAGE.split("| metric | value | example |\n|---|---|---|\n", 1)[1].split("\n\n", 1)[0]
VECTORS = {"Where is Tesk?": [1.0, 0.0], "Which town?": [0.6, 0.8], "response": [1.0, 0.0], "reference": [0.6, 0.8]}
BASE = {"user_input": "Where is Tesk?", "response": "response", "reference": "reference", "retrieved_contexts": ["one"]}
THREE = {"retrieved_contexts": ["one", "two", "three"]}
CHUNKS = {"retrieved_contexts": ["a", "b", "c"], "reference_contexts": ["b", "d", "e"]}
RIVER = {"response": "Tesk lies on the river Om", "reference": "Tesk lies on the river Om today"}
Answers = list[Json]


class Vectors(Embeddings):
    """Embeddings that are written in the examples."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [VECTORS[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return VECTORS[text]


def statements(*texts: str) -> Json:
    return {"statements": list(texts)}


def verdicts(*numbers: int) -> Json:
    return {"statements": [{"statement": f"s{n}", "reason": "r", "verdict": v} for n, v in enumerate(numbers)]}


def said(*texts: str) -> list[dict[str, str]]:
    return [{"statement": text, "reason": "r"} for text in texts]


def useful(*numbers: int) -> Answers:
    return [{"reason": "r", "verdict": number} for number in numbers]


def ratings(*numbers: int) -> Answers:
    return [{"rating": number} for number in numbers]


class PlainJudge(InstructorBaseRagasLLM):
    """A script without probabilities: it writes the answer that is true."""

    def __init__(self, script: ScriptedJudge) -> None:
        self.script = script

    def generate(self, prompt: str, response_model: type[Any]) -> Any:
        return self.script.generate(prompt, response_model)

    async def agenerate(self, prompt: str, response_model: type[Any]) -> Any:
        return self.generate(prompt, response_model)


def choices(*supported: int) -> Answers:
    """Of each sentence."""
    return [{"answer": "yes" if number else "no"} for number in supported]


EXAMPLES: dict[str, tuple[Json, Answers]] = {
    "faithfulness": ({}, [statements("s0", "s1", "s2"), verdicts(1, 1, 0)]),
    "answer_relevancy": ({}, [{"question": "Which town?", "noncommittal": 0}] * 3),
    "context_precision_with_reference": (THREE, useful(1, 0, 1)),
    "context_precision_without_reference": (THREE, useful(1, 0, 1)),
    "context_recall": (
        {},
        [{"classifications": [{"statement": f"s{n}", "reason": "r", "attributed": int(n > 0)} for n in range(4)]}],
    ),
    "context_relevance": ({}, ratings(2, 1)),
    "context_relevancy": ({"retrieved_contexts": ["One. Two. Three. Four."]}, [{"numbers": [2]}]),
    "answer_correctness": (
        {},
        [statements("s0", "s1"), statements("s0", "s2"), {"TP": said("s0"), "FP": said("s1"), "FN": said("s2")}],
    ),
    "semantic_similarity": ({}, []),
    "factual_correctness": (
        {},
        [{"claims": ["s0", "s1"]}, verdicts(1, 0), {"claims": ["s0", "s1", "s2"]}, verdicts(1, 0, 0)],
    ),
    "answer_accuracy": ({}, ratings(4, 2)),
    "response_groundedness": ({}, ratings(2, 1)),
    "refusal_correctness": ({"answerable": False}, [{"reason": "r", "verdict": 1}]),
    "noise_sensitivity": (
        {},
        [statements("s0"), statements("s0", "s1", "s2"), verdicts(1), verdicts(1, 0, 1), verdicts(1, 0, 0)],
    ),
    "context_entity_recall": (
        {"retrieved_contexts": ["Tesk, Vosk, 1921"], "reference": "Tesk, 1921, Om"},
        [{"entities": ["Tesk", "Vosk", "1921"]}, {"entities": ["Tesk", "1921", "Om"]}],
    ),
    **dict.fromkeys(("groundedness", "reference_agreement"), ({"response": "S0. S1. S2."}, choices(1, 0, 1))),
    "context_coverage": ({"reference": "S0. S1. S2. S3."}, choices(1, 0, 1, 1)),
    "reference_coverage": ({"reference": "S0. S1."}, choices(1, 0)),
    **{f"retrieval_{name}": (CHUNKS, []) for name in ("precision", "ndcg", "map", "mrr", "recall")},
    "bleu_score": (RIVER, []),
    "rouge_score": (RIVER, []),
    "chrf_score": (RIVER, []),
    "rubrics_score_without_reference": ({}, [{"feedback": "f", "score": 4}]),
    "rubrics_score_with_reference": ({}, [{"feedback": "f", "score": 4}]),
    "instance_specific_rubrics": (
        {"rubrics": {f"score{n}_description": f"d{n}" for n in range(1, 6)}},
        [{"feedback": "f", "score": 4}],
    ),
    "summary_score": (
        {"response": "r" * 20, "reference_contexts": ["c" * 80]},
        [{"keyphrases": ["c"]}, {"questions": ["q", "p"]}, {"answers": ["1", "0"]}],
    ),
    "quoted_spans_alignment": (
        {"response": '"on the river Om" and "near the old mill"', "retrieved_contexts": ["It lies on the river Om."]},
        [],
    ),
    "answer_rubric": ({}, [{"reason": "r", "label": 4}]),
    "exact_match": ({"response": "Tesk", "reference": "tesk"}, []),
    "string_presence": ({"response": "It is Tesk.", "reference": "Tesk"}, []),
    "non_llm_string_similarity": ({"response": "Tesk", "reference": "Tisk"}, []),
}
"""Metric -> the columns of its example that differ from `BASE`, and what the judge says, in the order of asking."""


def shown() -> dict[str, str]:
    """Metric -> the last number of its example."""
    found = {}
    for line in TABLE.splitlines():
        names, _, example = line.strip().strip("|").split("|")
        found |= dict.fromkeys(re.findall(r"`(\w+)`", names), re.findall(r"\d+(?:\.\d+)?", example)[-1])
    return found


SHOWN = shown()


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_has_a_worked_example_whose_value_is_right(name: str) -> None:
    columns, answers = EXAMPLES[name]
    config = {"metrics": [name], "retrieval": {"match": "exact"}}
    evaluator = RAGEvaluator(config, judge=PlainJudge(ScriptedJudge(answers)), embeddings=Vectors())
    [score] = evaluator.evaluate([{**BASE, **columns}]).scores[name]
    assert score.value is not None, score.reason
    digits = len(SHOWN[name].partition(".")[2])
    assert f"{score.value:.{digits}f}" == SHOWN[name]
