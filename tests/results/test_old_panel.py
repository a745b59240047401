"""A results folder of several judges, as earlier versions wrote it, is refused; the run of each judge in it is read."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import RAGEvaluator, ResultsError, ScriptedJudge, compare
from rag_evaluator.results import Run

CONFIG = {"metrics": ["context_relevance"]}
ROWS = [{"user_input": "Who?", "retrieved_contexts": ["Nolu Brak."]}]


def evaluate(folder: Path) -> None:
    RAGEvaluator(CONFIG, ScriptedJudge({"rating": 2})).evaluate(ROWS, folder=folder)


@pytest.fixture
def panel(tmp_path: Path) -> Path:
    for name in "ab":
        evaluate(tmp_path / "judges" / name)
    for path in (tmp_path / "judges" / "a").glob("*.*"):
        shutil.copy(path, tmp_path)
    (tmp_path / "judges" / "panel.json").write_text("{}", encoding="utf-8")
    return tmp_path


READERS: dict[str, Callable[[Path], Any]] = {
    "read": lambda folder: Run(folder).manifest,
    "compare": lambda folder: compare(folder, folder / "judges" / "a"),
    "score": evaluate,
}


@pytest.mark.parametrize("reader", READERS)
def test_the_folder_is_refused_with_the_runs_that_can_be_given(panel: Path, reader: str) -> None:
    with pytest.raises(ResultsError) as caught:
        READERS[reader](panel)
    assert str(caught.value).startswith(f"{panel}: a run has one judge now.")
    assert str(caught.value).endswith(f"{panel}/judges/a, {panel}/judges/b")
