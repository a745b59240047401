"""Results folders of any size for what shows results: real prompts and writers, made-up rows and judgements.

Words are drawn by Zipf's law from a vocabulary, so that texts compress about as English does.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, cycle
from pathlib import Path
from typing import Any

from rag_evaluator import RAGEvaluator, ScriptedJudge
from rag_evaluator.dataset import Sample
from rag_evaluator.files import short_digest
from rag_evaluator.results import PROMPT_TEXTS, Frame, Heading, Row, Score, put_together, write_table
from rag_evaluator.results.questions import resolve

METRICS = (
    "context_precision_with_reference",
    "context_recall",
    "context_relevance",
    "faithfulness",
    "answer_accuracy",
    "rouge_score",
)
CONTEXTS = 5
VOCABULARY = 20_000
MISSING = 0.03  # share of scores
TEAMS = ("archive", "billing", "support")
Json = dict[str, Any]  # Any in this module: JSON


def write_run(folder: Path, count: int, seed: int = 0, better: float = 0.0) -> Path:
    """A run of `count` rows with five contexts of 500 to 800 characters and six metrics, written as a stream.

    Runs of one `count` have the same questions. `seed` changes what was answered and judged, `better` adds so much to
    the share of good verdicts.
    """
    table = MadeTable(count, seed, better)
    write_table(Heading(table.columns(), table.metrics, table.manifest), table, folder)
    return folder


@cache
def real_manifest() -> Mapping[str, Any]:
    """Signatures, prompts and configuration of a run of one row: what a manifest says does not depend on the rows."""
    row = {
        "user_input": "Who?",
        "retrieved_contexts": ["She."],
        "response": "She.",
        "reference": "She.",
        "team": TEAMS[0],
    }
    judge = ScriptedJudge(lambda prompt, model: "", model_id="made-up-judge")  # fails: there is no score
    config = {"metrics": list(METRICS), "group_by": ["team"], "name": "made-up"}
    return RAGEvaluator(config, judge=judge).evaluate([row]).manifest


@dataclass(frozen=True)
class MadeTable:
    """A table of scores whose rows are made while it is written."""

    count: int
    seed: int
    better: float
    metrics: Sequence[str] = METRICS

    @property
    def manifest(self) -> Mapping[str, Any]:
        return {**real_manifest(), "rows": self.count, "name": f"made-up-{self.seed}"}

    def columns(self) -> list[str]:
        inputs = ("id", "user_input", "retrieved_contexts", "response", "reference", "team")
        return [*inputs, *self.metrics]

    def __iter__(self) -> Iterator[Row]:
        asked = Asked(self.manifest[PROMPT_TEXTS])
        for index in range(self.count):
            questions = random.Random(f"row {index}")
            answers = random.Random(f"{self.seed} {index}")
            row = made_row(index, questions, answers)
            columns = {name: row[name] for name in ("user_input", "retrieved_contexts", "response", "reference")}
            sample = Sample(index, row, columns, f"row {index}")
            good = min(0.95, answers.betavariate(3, 1.2) + self.better)
            scores = {name: made_score(name, columns, answers, good, asked) for name in self.metrics}
            yield Row(sample, scores, self.manifest["signatures"])


@dataclass(frozen=True)
class Asked:
    """Makes judgements with the digest of the prompt that they answer."""

    prompts: Mapping[str, Any]

    def judgement(
        self, metric: str, prompt: str, recorded: Json, response: Json, columns: Json, before: Sequence[Json] = ()
    ) -> Json:
        answers = [earlier["response"] for earlier in before]
        values = {name: resolve(part, columns, answers) for name, part in recorded.items()}
        about = self.prompts[metric][prompt]
        text = put_together((Frame(**frame) for frame in about["frames"]), values)
        assert text is not None
        return {
            "prompt": prompt,
            "prompt_digest": short_digest(text),
            "source_digest": about["source_digest"],
            "input": recorded,
            "response": response,
            "error": None,
            "prompt_tokens": len(text) // 4,
            "generated_tokens": len(str(response)) // 4,
        }


def made_row(index: int, questions: random.Random, answers: random.Random) -> Json:
    sentences = [sentence(answers) for _ in range(answers.randint(2, 4))]
    return {
        "id": f"q{index:07d}",
        "user_input": sentence(questions)[:-1] + "?",
        "retrieved_contexts": [paragraph(questions) for _ in range(CONTEXTS)],
        "response": " ".join(sentences),
        "reference": " ".join([sentences[0], sentence(questions)]),
        "team": TEAMS[index % len(TEAMS)],
    }


def made_score(metric: str, columns: Json, rng: random.Random, good: float, asked: Asked) -> Score:
    if metric == "rouge_score":
        return Score(round(rng.betavariate(2, 2), 6))
    contexts = list(range(CONTEXTS)) if metric in ("context_precision_with_reference", "faithfulness") else None
    if rng.random() < MISSING:
        return Score(float("nan"), "the judge's answer was cut off", contexts)
    value, judgements = MAKERS[metric](metric, columns, rng, good, asked)
    return Score(value, None, contexts, [{**one, "confidence": _confidence(one, rng)} for one in judgements])


def _confidence(judgement: Json, rng: random.Random) -> list[float]:
    """As many probabilities as the answer has verdicts."""
    lists = [part for part in judgement["response"].values() if isinstance(part, list)]
    count = sum(isinstance(item, dict) for part in lists for item in part) if lists else 1
    return [round(1 - rng.betavariate(1, 6) / 2, 6) for _ in range(count)]


Made = tuple[float, list[Json]]
ALL = {"column": "retrieved_contexts", "items": CONTEXTS, "joined": "\n"}


def _precision(metric: str, columns: Json, rng: random.Random, good: float, asked: Asked) -> Made:
    judgements = []
    hits = 0
    precisions = []
    for item in range(CONTEXTS):
        verdict = int(rng.random() < good * (1 - item / 10))
        hits += verdict
        precisions += [hits / (item + 1)] * verdict
        recorded = {
            "question": {"column": "user_input"},
            "context": {"column": "retrieved_contexts", "item": item},
            "answer": {"column": "reference"},
        }
        response = {"reason": sentence(rng), "verdict": verdict}
        judgements.append(asked.judgement(metric, "prompt", recorded, response, columns))
    return (sum(precisions) / hits if hits else 0.0), judgements


def _recall(metric: str, columns: Json, rng: random.Random, good: float, asked: Asked) -> Made:
    lines = [
        {"statement": text, "reason": sentence(rng), "attributed": int(rng.random() < good)}
        for text in _sentences(columns["reference"])
    ]
    recorded = {"question": {"column": "user_input"}, "context": ALL, "answer": {"column": "reference"}}
    judgement = asked.judgement(metric, "prompt", recorded, {"classifications": lines}, columns)
    return sum(line["attributed"] for line in lines) / len(lines), [judgement]


def _relevance(metric: str, columns: Json, rng: random.Random, good: float, asked: Asked) -> Made:
    recorded = {"user_input": {"column": "user_input"}, "context": ALL}
    ratings = [sum(rng.random() < good for _ in range(2)) for _ in range(2)]
    judgements = [
        asked.judgement(metric, f"judge{place}_prompt", recorded, {"rating": rating}, columns)
        for place, rating in enumerate(ratings, start=1)
    ]
    return sum(ratings) / 4, judgements


def _faithfulness(metric: str, columns: Json, rng: random.Random, good: float, asked: Asked) -> Made:
    texts = _sentences(columns["response"])
    recorded = {"question": {"column": "user_input"}, "answer": {"column": "response"}}
    first = asked.judgement(metric, "statement_generator_prompt", recorded, {"statements": texts}, columns)
    lines = [{"statement": text, "reason": sentence(rng), "verdict": int(rng.random() < good)} for text in texts]
    recorded = {"context": ALL, "statements": {"judgement": 0, "key": "statements"}}
    second = asked.judgement(metric, "nli_statement_prompt", recorded, {"statements": lines}, columns, [first])
    return sum(line["verdict"] for line in lines) / len(lines), [first, second]


def _accuracy(metric: str, columns: Json, rng: random.Random, good: float, asked: Asked) -> Made:
    sides = [("response", "reference"), ("reference", "response")]
    ratings = [2 * sum(rng.random() < good for _ in range(2)) for _ in range(2)]
    judgements = [
        asked.judgement(
            metric,
            f"judge{place}_prompt",
            {
                "query": {"column": "user_input"},
                "user_answer": {"column": answer},
                "reference_answer": {"column": reference},
            },
            {"rating": rating},
            columns,
        )
        for place, ((answer, reference), rating) in enumerate(zip(sides, ratings, strict=True), start=1)
    ]
    return sum(ratings) / 8, judgements


MAKERS = {
    "context_precision_with_reference": _precision,
    "context_recall": _recall,
    "context_relevance": _relevance,
    "faithfulness": _faithfulness,
    "answer_accuracy": _accuracy,
}


def _sentences(text: str) -> list[str]:
    return [part + "." for part in text.rstrip(".").split(". ")]


@cache
def _words() -> tuple[list[str], list[float]]:
    """A vocabulary and cumulative weights: short words are frequent."""
    rng = random.Random(0)
    words = {
        "".join(rng.choice(letters) for letters, _ in zip(cycle(("bcdfghlmnprst", "aeiou")), range(size), strict=False))
        for size in rng.choices(range(2, 12), k=VOCABULARY)
    }
    ordered = sorted(words, key=lambda word: (len(word) + rng.random() * 8, word))
    return ordered, list(accumulate(1 / (rank + 12) for rank in range(len(ordered))))


def sentence(rng: random.Random) -> str:
    words, weights = _words()
    return " ".join(rng.choices(words, cum_weights=weights, k=rng.randint(6, 14))).capitalize() + "."


def paragraph(rng: random.Random) -> str:
    """500 to 800 characters."""
    text = ""
    length = rng.randint(500, 800)
    while len(text) < length:
        text += sentence(rng) + " "
    return text[:length].strip()
