"""A folder as a reader of the docs may have it: configuration, rows, models, labels, finished runs."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
from docs_commands import ROOT
from pydantic import BaseModel

import rag_evaluator
from rag_evaluator import RAGEvaluator, ScriptedJudge
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.judge import PromptText

ROWS = 24  # certify needs 20 labels
MODELS = ("Qwen3-8B", "Qwen3-32B", "Llama-3.1-8B")
MANY_FILES = ("examples", "prompts", "orig_prompts")
COPIES = {"base": ["new"], "demo": ["news", "shared", "duel-base-demo"]}
METRICS = ["faithfulness", "noise_sensitivity"]


QUESTION = {
    "user_input": "When was Marlow founded?",
    "reference": "Marlow was founded in 1714.",
    "reference_contexts": ["Marlow was founded in 1714."],
}


def prepare(folder: Path) -> None:
    """Fill an empty folder."""
    for name in ("config.yaml", "launcher.sh"):
        shutil.copy(ROOT / name, folder)
    for name in MANY_FILES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(".adapting"))
    for name in MODELS:  # the demo judge stands for every model
        (folder / "models").mkdir(exist_ok=True)
        (folder / "models" / name).symlink_to(DEMO_JUDGE)
    testset = folder / "examples" / "testset"
    shutil.copytree(testset / "documents", folder / "docs")
    settings = (folder / "config.yaml").read_text("utf-8")
    (folder / "judge.yaml").write_text(settings, "utf-8")
    sample = (ROOT / "examples" / "dataset.jsonl").read_text("utf-8").splitlines(keepends=True)
    (folder / "my_rows.jsonl").write_text("".join(sample[:2]), "utf-8")
    questions = (ROOT / "examples" / "preguntas.csv").read_text("utf-8")
    (folder / "my_rows.csv").write_text(questions, "utf-8")
    (folder / "textos.csv").write_text(questions.replace("pregunta", "texto", 1), "utf-8")
    _write_lines(folder / "questions.jsonl", [QUESTION])
    _prepare_runs(folder)


def fill_in(sheet: Path) -> None:
    """Labels of a person in a sheet for labels."""
    book = openpyxl.load_workbook(sheet)
    for place, cells in enumerate(book.worksheets[0].iter_rows(min_row=2)):
        for cell in cells[1:]:
            if cell.protection.locked is False:
                cell.value = ("yes", "no", "yes")[place % 3]
    book.save(sheet)


def rows(better: bool) -> list[dict[str, Any]]:
    """Questions with the answers of one of two systems."""
    return [
        {
            "id": f"q{place}",
            "question": f"Where was person {place} born?",
            "contexts": [f"Person {place} was born in town {place}.", f"Town {place} lies on a river."],
            "answer": f"Person {place} was born in town {place if better or place % 3 else place + 1}.",
            "ground_truth": f"Town {place}.",
            "topic": ("people", "towns")[place % 2],
            "document": f"d{place // 4}",
            "is_supported": int(place % 3 > 0),
            "response_is_correct": int(place % 4 > 0),
        }
        for place in range(ROWS)
    ]


def verdicts(prompt: str, response_model: type[BaseModel]) -> dict[str, Any]:
    """A judge that takes whole texts for statements, and supports those that repeat a context."""
    assert isinstance(prompt, PromptText)
    assert prompt.data is not None
    asked = prompt.data.model_dump()
    if "statements" not in asked:
        return {"statements": [next(text for name, text in asked.items() if name in {"answer", "text"})]}
    return {
        "statements": [
            {"statement": text, "reason": "It is compared.", "verdict": int(text in str(asked["context"]))}
            for text in asked["statements"]
        ]
    }


def _prepare_runs(folder: Path) -> None:
    for name in COPIES:
        data = folder / ("data.jsonl" if name == "demo" else "base.jsonl")
        _write_lines(data, rows(better=name == "demo"))
        keys = {"name": name, "metrics": METRICS, "dataset": str(data), "output_dir": str(folder / "results")}
        judge = ScriptedJudge(verdicts, model_id="script")
        RAGEvaluator(keys, judge=judge).run(folder / "results" / name)
        for copy in COPIES[name]:
            shutil.copytree(folder / "results" / name, folder / "results" / copy)
    demo = folder / "results" / "demo"
    for name in ("to_label.xlsx", "anna.xlsx", "bob.xlsx"):
        rag_evaluator.label_sheet(demo, folder / name, size=ROWS)
        fill_in(folder / name)
    labels = pd.DataFrame({"row": range(ROWS), "faithfulness": [place % 2 for place in range(ROWS)]})
    labels.to_csv(folder / "labels.csv", index=False)
    labels.assign(faithfulness=labels["row"] % 5 + 1).to_csv(folder / "grades.csv", index=False)
    questions = [row["question"] for row in rows(better=True)]
    labels[["faithfulness"]].assign(question=questions).to_csv(folder / "ragas.csv", index=False)
    _write_review(demo)
    shutil.copy(folder / "data.jsonl", folder / "data.reviewed.jsonl")


def _write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def _write_review(run: Path) -> None:
    """What somebody said of the first row in the browser."""
    first = json.loads((run / "details.jsonl").read_text("utf-8").splitlines()[0])
    flag = {"kind": "flag", "field": "too_easy", "before": False, "after": True, "at": "2026-01-01T00:00:00Z"}
    where = {"run": "demo", "row": first["row"], "sample": first["sample"], "by": "anna"}
    correction = {**flag, "kind": "correct", "field": "reference", "before": "Town 0.", "after": "In town 0."}
    _write_lines(run / "reviews.jsonl", [{**where, "id": "1", **flag}, {**where, "id": "2", **correction}])


def restore(source: Path, target: Path) -> None:
    """The folder as it was prepared, at the place where it was prepared: runs know where their rows are."""
    same = [name for name in MANY_FILES if _state(source / name) == _state(target / name)]
    target.mkdir(exist_ok=True)
    for path in target.iterdir():
        if path.is_file():
            path.unlink()
        elif path.name not in same:
            shutil.rmtree(path)
    shutil.copytree(source, target, True, lambda folder, _: same if folder == str(source) else [], dirs_exist_ok=True)
    os.utime(target)


def _state(folder: Path) -> dict[Path, tuple[int, int]]:
    """When each file was written, and its size."""
    found = ((path.relative_to(folder), path.stat()) for path in folder.rglob("*"))
    return {path: (stat.st_mtime_ns, stat.st_size) for path, stat in found}
