"""Finished runs whose scores are known, made without a model and a report; sheets of labels, filled in and read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import openpyxl
from aliases import Json, Rows
from pydantic import BaseModel

from rag_evaluator import RAGEvaluator, ScriptedJudge, metric
from rag_evaluator.judge import PromptText

ROWS = 40


def exact_rows(count: int = ROWS, right: int = 20) -> Rows:
    """The first answers are right, exact_match 1, the others wrong, 0. `human` is what a person says of each."""
    people = [1] * right + [0] * (count - right)
    people[0] = people[1] = 0
    people[-1] = 1
    return [
        {
            "id": f"r{place}",
            "question": f"Question {place}?",
            "answer": "yes" if place < right else "no",
            "ground_truth": "yes",
            "human": people[place],
        }
        for place in range(count)
    ]


def exact_run(folder: Path, rows: Rows | None = None, **config: Any) -> Path:
    """A run of exact_match over rows."""
    RAGEvaluator({"metrics": ["exact_match"], "report": False, **config}).evaluate(rows or exact_rows(), folder=folder)
    return folder


def graded(prompt: str, response_model: type[BaseModel]) -> Json:
    """A judge of answer_rubric whose grade is the best where the answer is the expected one, else the worst."""
    assert isinstance(prompt, PromptText)
    assert prompt.data is not None
    asked = prompt.data.model_dump()
    return {"reason": "as expected", "label": 5 if asked["response"] == asked["reference"] else 1}


def graded_run(folder: Path, rows: Rows | None = None, **config: Any) -> Path:
    """A run of answer_rubric over rows, by the judge above: the scores that exact_match has."""
    judge = ScriptedJudge(graded, model_id="graded")
    RAGEvaluator({"metrics": ["answer_rubric"], "report": False, **config}, judge=judge).evaluate(
        rows or exact_rows(), folder=folder
    )
    return folder


def verdicts(prompt: str, response_model: type[BaseModel]) -> Json:
    """A judge whose statements are the sentences of the response; those with 'wrong' in them are not supported."""
    assert isinstance(prompt, PromptText)
    assert prompt.data is not None
    asked = prompt.data.model_dump()
    if "statements" not in asked:
        return {"statements": [part.strip() + "." for part in asked["answer"].split(".") if part.strip()]}
    return {
        "statements": [
            {"statement": text, "reason": f"about: {text}", "verdict": 0 if "wrong" in text else 1}
            for text in asked["statements"]
        ]
    }


def faithful_run(folder: Path, responses: list[str], **config: Any) -> Path:
    """A run of faithfulness by the judge above."""
    rows = [
        {"user_input": f"Question {place}?", "retrieved_contexts": [f"Context {place}."], "response": response}
        for place, response in enumerate(responses)
    ]
    judge = ScriptedJudge(verdicts, model_id=config.pop("model_id", "script"))
    RAGEvaluator({"metrics": ["faithfulness"], "report": False, **config}, judge=judge).evaluate(rows, folder=folder)
    return folder


def fill(path: Path, labels: Sequence[Any]) -> Path:
    """Write labels, by the place of a row in the run, into a sheet."""
    book = openpyxl.load_workbook(path)
    for cells in book.worksheets[0].iter_rows(min_row=2):
        cells[-1].value = labels[cells[0].value]
    book.save(path)
    return path


def shown(path: Path, sheet: int = 0) -> list[list[Any]]:
    """The cells of a sheet."""
    return [[cell.value for cell in row] for row in openpyxl.load_workbook(path).worksheets[sheet].iter_rows()]


def scored_run(
    folder: Path,
    scores: Sequence[float | None],
    labels: Sequence[float | None],
    clusters: Sequence[Any] = (),
    scale: tuple[float, float] = (0.0, 1.0),
    better: Literal["higher", "lower"] = "higher",
    **config: Any,
) -> Path:
    """A run of a metric `m` with these scores; the column `human` has the labels."""
    rows = [
        {"id": f"r{place}", "user_input": f"Question {place}?", "human": label, "document": document}
        for place, (label, document) in enumerate(zip(labels, clusters or range(len(labels)), strict=True))
    ]
    known = {row["user_input"]: score for row, score in zip(rows, scores, strict=True)}

    @metric(name="m", range=scale, better=better, kind="continuous")
    def given(user_input: str) -> float | None:
        return known[user_input]

    settings = {"metrics": [given], "report": False, "cluster": "document" if clusters else None, **config}
    RAGEvaluator(settings).evaluate(rows, folder=folder)
    return folder
