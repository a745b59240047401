"""From Python there is a callback; without one lines on standard error."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, Rows

from rag_evaluator import RAGEvaluator, ScriptedJudge, collect
from rag_evaluator.files import ACTIVITY, State, Watch, automatic, silent
from rag_evaluator.tasks import question as showing


def slow(prompt: str, response_model: Any) -> Any:
    """The answer of a judge that takes its time."""
    time.sleep(0.05)
    return {"rating": 2}


def evaluator() -> RAGEvaluator:
    return RAGEvaluator({"metrics": ["context_relevance"]}, judge=ScriptedJudge(slow))


@pytest.mark.parametrize("progress", [automatic, silent])
def test_a_script_gets_lines_on_standard_error(
    progress: Any, rows: Rows, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(showing, "Watch", lambda show, **_: Watch(show, first=0.005, apart=0.005))
    evaluator().evaluate(rows, progress)
    printed = re.search(r"scores 2/3 \(66 %\), [\d.]+/s, 00:00:00 left", capsys.readouterr().err) is not None
    assert printed == (progress is automatic)


def test_what_is_missing_is_counted_for_whoever_shows_it(tmp_path: Path) -> None:
    states = list[State]()

    def system(question: str) -> str:
        states.append(ACTIVITY.state())
        if question == "two":
            raise ValueError("no")
        return "answer"

    collect(system, ["one", "two", "three"], tmp_path / "rows.jsonl", max_concurrency=1, progress=silent)
    assert [(state.done, state.total, state.missing) for state in states] == [(0, 3, 0), (1, 3, 0), (2, 3, 1)]
    assert json.loads((tmp_path / "rows.jsonl").read_text("utf-8").splitlines()[1])["error"]


def test_counts_inside_of_counts_are_those_of_the_whole() -> None:
    with ACTIVITY.counted("scores") as outer:
        outer(0, 10)
        ACTIVITY.missing += 1
        with ACTIVITY.counted("scores") as inner:
            inner(2, 5)
            outer(7, 10)
        assert (ACTIVITY.state().total, ACTIVITY.state().missing) == (10, 1)
    assert ACTIVITY.state().noun == ""
