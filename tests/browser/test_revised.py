"""From a correction in the browser to new scores: the dataset is revised, and only what changed is judged again."""

import json
from collections.abc import Callable
from pathlib import Path

import made_runs
from desk import Desk, written
from playwright.sync_api import BrowserContext
from pydantic import BaseModel
from served import Server

from rag_evaluator import RAGEvaluator, ScriptedJudge, load_dataset
from rag_evaluator.cli.main import main

METRICS = ["context_recall", "faithfulness"]


def test_a_correction_in_the_browser_becomes_a_dataset_of_which_only_the_change_is_judged(
    new_context: Callable[..., BrowserContext], serve: Callable[..., Server], tmp_path: Path
) -> None:
    asked: list[str] = []

    def counted(prompt: str, model: type[BaseModel]) -> object:
        asked.append(str(prompt))
        return made_runs.judged(prompt, model)

    def judged(dataset: Path, start: str = "continue") -> list[str]:
        asked.clear()
        config = {"name": "first", "metrics": METRICS, "dataset": str(dataset)}
        RAGEvaluator(config, judge=ScriptedJudge(counted, model_id="m")).run(run, start=start)
        return list(asked)

    run, data = tmp_path / "results" / "first", tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in made_runs.sample_rows()), encoding="utf-8")
    assert len(judged(data)) >= 12 * len(METRICS)
    server = serve(run.parent, "--review", "--as", "ana")
    desk = Desk(new_context().new_page(), server, run.name, row=2)
    desk.correct("reference", "Lena Torvik was born in the harbour.")
    desk.says("saved")
    desk.go(4)
    desk.flag(1)
    desk.says("saved")
    assert len(written(run)) == 2
    assert main(["review", "apply", str(run), "--drop", "too_easy"]) == 0
    revised = tmp_path / "data.reviewed.jsonl"
    after = [sample.row for sample in load_dataset(revised)]
    expected = made_runs.sample_rows()
    expected[2]["reference"] = "Lena Torvik was born in the harbour."
    del expected[4]
    assert after == expected
    again = judged(revised, start="update")
    assert len(again) == 1  # context_recall of row 2: faithfulness does not read the reference
    assert "in the harbour" in again[0]
    table = [json.loads(line) for line in (run / "scores.jsonl").read_bytes().splitlines()]
    assert [row["reference"] for row in table] == [row["reference"] for row in expected]
    desk.page.goto(f"{server.origin}/run/{run.name}#row=2")
    shown = desk.page.locator("dialog#row[open] article.row")
    shown.wait_for()
    assert "in the harbour" in (shown.text_content() or "")
