"""The project's scores are ragas' own: both are driven by the same scripted judge and the same embeddings."""

import asyncio
import hashlib
import json
import math
import random
import re
from pathlib import Path
from typing import Any, ClassVar

import pytest
from aliases import Json, Rows
from langchain_core.embeddings import Embeddings
from pydantic import BaseModel
from ragas.metrics import collections

from rag_evaluator import METRICS, JudgementError, PromptTooLongError, RAGEvaluator, ScriptedJudge
from rag_evaluator.embeddings import LocalEmbeddings
from rag_evaluator.judge import tighten


class HashEmbeddings(Embeddings):
    """A vector of eight numbers that depends on the text only."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[byte / 255 - 0.3 for byte in hashlib.sha256(text.encode()).digest()[:8]] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def answer_at_random(prompt: str, response_model: type[BaseModel]) -> Json:
    """A legal answer that depends on the prompt's text and nothing else."""
    schema = tighten(response_model)
    if numbers := _rubrics_given(prompt):
        schema["properties"]["score"] = {"enum": numbers}
    rng = _Texts(prompt)
    answer: Json = _fill(schema, rng, prompt)
    if "TP" in answer:
        return _classified(prompt, rng)
    for item, statement in zip(answer.get("statements", ()), _shown(prompt).get("statements", ()), strict=False):
        item["statement"] = statement  # as it was asked
    return answer


def _classified(prompt: str, rng: random.Random) -> Json:
    """Each statement of the answer as TP or FP, some of the ground truth as FN."""
    lists: Json = {"TP": [], "FP": [], "FN": []}
    for names, source in ((("TP", "FP"), "answer"), (("FN", ""), "ground_truth")):
        for statement in _shown(prompt)[source]:
            lists.get(rng.choice(names), []).append({"statement": statement, "reason": "r"})
    return lists


def _shown(prompt: str) -> Json:
    """The input of a prompt."""
    try:
        shown: Json = json.JSONDecoder().raw_decode(prompt.rpartition("input: ")[2])[0]
    except ValueError:
        return {}
    return shown


class _Texts(random.Random):
    """Texts of the row that is asked about, each once: others would be no work of a judge."""

    def __init__(self, prompt: str) -> None:
        super().__init__(prompt)
        self.left = sorted({*re.findall(r"\w+", prompt.rsplit("input: ", 1)[-1].partition(": ")[2])})
        self.shuffle(self.left)

    def draw(self) -> str:
        self.left = [*self.left[1:], f"{self.left[0]} {len(self.left)}"]
        return self.left[-1].rpartition(" ")[0]


def _fill(schema: Json, rng: _Texts, prompt: str) -> Any:
    if "anyOf" in schema:
        schema = rng.choice(schema["anyOf"])
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if schema["type"] == "object":
        return {name: _fill(value, rng, prompt) for name, value in schema["properties"].items()}
    if schema["type"] == "array":
        count = _statements_given(prompt) or rng.randint(1, 3)
        return [_fill(schema["items"], rng, prompt) for _ in range(count)]
    if '"questions": [' in prompt.rsplit("input: ", 1)[-1]:  # of a summary: each is answered by one of these
        return rng.choice(["0", "1"])
    return rng.draw()


def _statements_given(prompt: str) -> int:
    """The number of statements or questions in a prompt's input: verdicts must be as many."""
    tail = prompt.rsplit("input: ", 1)[-1]
    found = re.search(r'"(?:statements|questions)": \[', tail)
    return tail[found.end() :].count('",\n') + 1 if found else 0


def _rubrics_given(prompt: str) -> list[int]:
    """The scores that the rubrics of the input describe, else those of the instruction."""
    head, _, tail = prompt.rpartition("input: ")
    keys = re.findall(r'"score(\d)_description"', tail) or re.findall(r"^score(\d)_description", head, re.MULTILINE)
    return [int(key) for key in keys]


def class_of_ragas(name: str) -> type | None:
    """The class of ragas that has the name of a metric; None for a metric that is not ragas'."""
    classes = {known: getattr(collections, known) for known in collections.__all__}
    return next((kind for known, kind in classes.items() if known.lower() == name.replace("_", "")), None)


OF_RAGAS = [name for name in METRICS if class_of_ragas(name)]
OWN_RUBRICS = {
    "score0_description": "Wrong.",
    "score1_description": "It's partly\\ right: {so}.",
    "score3_description": "Ja",
}
OPTIONS: list[tuple[str, Json]] = [
    ("factual_correctness", {"mode": "recall", "atomicity": "high"}),
    ("noise_sensitivity", {"mode": "irrelevant"}),
    ("rouge_score", {"rouge_type": "rouge1", "mode": "precision"}),
    ("rubrics_score_with_reference", {"rubrics": OWN_RUBRICS}),
    ("rubrics_score_without_reference", {"rubrics": OWN_RUBRICS}),
    ("summary_score", {"length_penalty": False}),
    ("summary_score", {"coeff": 0.9}),
    ("quoted_spans_alignment", {"casefold": False}),
    ("quoted_spans_alignment", {"min_span_words": 2}),
]
QUOTES = [
    ' As "nolu  Brak was born" says, and "in Tesk".',
    " 'built by Lira Vosk in' or not",
    ' "Mount Selo is 812", "No"',
]
ROW_RUBRICS = {"score1_description": "Wrong.", "score4_description": "Right: 'so'", "score5_description": "¡Sí!"}


@pytest.fixture
def full_rows(rows: Rows) -> Rows:
    """The rows with what the rarer metrics read."""
    return [
        {
            **row,
            "response": row["response"].replace("don't", "do not") + quotes,
            "reference_contexts": row["retrieved_contexts"],
            "rubrics": ROW_RUBRICS,
        }
        for row, quotes in zip(rows, QUOTES, strict=True)
    ]


@pytest.mark.parametrize(("name", "options"), [*((name, {}) for name in OF_RAGAS), *OPTIONS], ids=str)
def test_scores_equal_those_of_the_ragas_metric(name: str, options: Json, full_rows: Rows) -> None:
    embeddings = LocalEmbeddings(HashEmbeddings())
    row_of = METRICS[name]
    ours = ScriptedJudge(answer_at_random)
    theirs = ScriptedJudge(answer_at_random)
    config = {"metrics": [name], "metric_options": {name: options} if options else {}}
    results = RAGEvaluator(config, judge=ours, embeddings=embeddings).evaluate(full_rows)

    models = {"llm": theirs} if row_of.judge else {}
    vectors = {"embeddings": embeddings} if row_of.embeddings else {}
    once = {"strictness": 1} if name == "answer_relevancy" else {}  # as a greedy judge would answer the same
    metric = class_of_ragas(name)(**models, **vectors, **row_of.options, **once, **options)  # type: ignore[misc]

    async def score_with_ragas() -> list[float]:
        return [float((await metric.ascore(**{c: row[c] for c in row_of.reads})).value) for row in full_rows]

    expected = asyncio.run(score_with_ragas())
    assert [score.value for score in results.scores[name]] == expected
    assert not any(math.isnan(value) for value in expected)
    assert sorted(ours.prompts) == sorted(theirs.prompts)


def test_answer_relevancy_asked_once_scores_as_asked_three_times(rows: Rows) -> None:
    embeddings = LocalEmbeddings(HashEmbeddings())
    once = ScriptedJudge(answer_at_random)
    thrice = ScriptedJudge(answer_at_random)
    results = RAGEvaluator({"metrics": ["answer_relevancy"]}, judge=once, embeddings=embeddings).evaluate(rows)
    metric = collections.AnswerRelevancy(llm=thrice, embeddings=embeddings, strictness=3)

    async def score_with_ragas() -> list[float]:
        return [(await metric.ascore(user_input=r["user_input"], response=r["response"])).value for r in rows]

    expected = asyncio.run(score_with_ragas())
    assert [score.value for score in results.scores["answer_relevancy"]] == pytest.approx(expected, abs=1e-12)
    assert (len(once.prompts), len(thrice.prompts)) == (3, 9)


@pytest.mark.parametrize(
    ("far", "value", "reason", "contexts"),
    [(("third",), 1.0, None, (0, 1)), (("first", "second", "third"), math.nan, "too long", (0,))],
)
def test_contexts_that_do_not_fit_the_window_are_left_out_from_the_last_and_recorded(
    far: tuple[str, ...], value: float, reason: str | None, contexts: tuple[int, ...]
) -> None:
    def forgetful(prompt: str, response_model: type[BaseModel]) -> Json:
        if any(text in prompt for text in far):
            raise PromptTooLongError("too long")
        return {"rating": 2}

    row = {"user_input": "q", "retrieved_contexts": ["first", "second", "third"]}
    results = RAGEvaluator({"metrics": ["context_relevance"]}, judge=ScriptedJudge(forgetful)).evaluate([row])
    (score,) = results.scores["context_relevance"]
    assert (score.value, score.reason, score.contexts) == (pytest.approx(value, nan_ok=True), reason, contexts)
    assert results.rows()[0]["dropped_contexts"] == {"context_relevance": [0, 1, 2][len(contexts) :]}


def test_a_failing_metric_does_not_disturb_its_neighbours(rows: Rows) -> None:
    def half(prompt: str, response_model: type[BaseModel]) -> Json:
        if response_model.__name__ == "ContextRecallOutput":
            raise RuntimeError("CUDA error")
        return answer_at_random(prompt, response_model)

    config = {"metrics": ["context_recall", "faithfulness"]}
    summary = RAGEvaluator(config, judge=ScriptedJudge(half)).evaluate(rows).summary()
    expected = {
        "mean": None,
        "coverage": 0.0,
        "scored": 0,
        "count": 3,
        "reasons": {"RuntimeError: CUDA error": 3},
        "dropped": 0,
    }
    assert summary["context_recall"] | expected == summary["context_recall"]
    assert summary["faithfulness"]["scored"] == 2  # of three rows, one of which refuses


def test_evaluate_works_inside_a_running_event_loop(rows: Rows) -> None:
    async def notebook() -> float:
        evaluator = RAGEvaluator({"metrics": ["faithfulness"]}, judge=ScriptedJudge(answer_at_random))
        return float(evaluator.evaluate(rows).summary()["faithfulness"]["mean"])

    evaluator = RAGEvaluator({"metrics": ["faithfulness"]}, judge=ScriptedJudge(answer_at_random))
    assert asyncio.run(notebook()) == evaluator.evaluate(rows).summary()["faithfulness"]["mean"]


def test_texts_of_many_samples_are_embedded_together_each_once(rows: Rows) -> None:
    class Counting(HashEmbeddings):
        batches: ClassVar[list[list[str]]] = []

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            self.batches.append(texts)
            return super().embed_documents(texts)

    data = [{**row, "response": f"{row['response']} {number}"} for number in range(10) for row in rows]
    config = {"metrics": ["semantic_similarity", "answer_correctness"]}
    judge = ScriptedJudge(answer_at_random)
    RAGEvaluator(config, judge=judge, embeddings=LocalEmbeddings(Counting(), batch_size=64)).evaluate(data)
    assert [len(batch) for batch in Counting.batches] == [33]  # 30 responses and 3 references


def test_details_are_the_same_with_and_without_a_folder(rows: Rows, tmp_path: Path) -> None:
    evaluator = RAGEvaluator({"metrics": ["faithfulness"]}, judge=ScriptedJudge(answer_at_random))
    kept = evaluator.evaluate(rows, folder=tmp_path)
    assert json.dumps(list(kept.details())) == json.dumps(list(evaluator.evaluate(rows).details()))
    assert all(not score.judgements for score in kept.scores["faithfulness"])  # they are on disk only


@pytest.mark.parametrize("name", ["answer_accuracy", "response_groundedness", "context_relevance"])
def test_half_of_two_judges_is_no_score(name: str, rows: Rows) -> None:
    """ragas goes on with the one that answered; here the score is missing and says why."""
    asked: list[str] = []

    def second_fails(prompt: str, response_model: type[BaseModel]) -> Json:
        if prompt not in asked:
            asked.append(prompt)
        if asked.index(prompt) > 0:
            raise JudgementError("no answer")
        return {"rating": 2}

    results = RAGEvaluator({"metrics": [name]}, judge=ScriptedJudge(second_fails)).evaluate(rows[:1])
    assert results.summary()[name]["reasons"] == {"no answer": 1}


def test_an_answer_at_the_second_asking_is_as_good(rows: Rows) -> None:
    asked: list[str] = []

    def first_time_fails(prompt: str, response_model: type[BaseModel]) -> Json:
        asked.append(prompt)
        if asked.count(prompt) == 1:
            raise JudgementError("no answer")
        return {"rating": 2}

    results = RAGEvaluator({"metrics": ["context_relevance"]}, judge=ScriptedJudge(first_time_fails)).evaluate(rows[:1])
    assert results.summary()["context_relevance"]["mean"] == 1.0


def test_embeddings_that_are_forgotten_meanwhile_are_still_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_evaluator.embeddings.REMEMBERED", 2)
    embeddings = LocalEmbeddings(HashEmbeddings())

    async def scenario() -> list[list[list[float]]]:
        await embeddings.aembed_texts(["a", "b"])
        return list(await asyncio.gather(embeddings.aembed_texts(["c", "d"]), embeddings.aembed_texts(["a", "x"])))

    assert asyncio.run(scenario())[1][0] == embeddings.embed_text("a")
