"""The second verdict: whether labels say more for the judge than for counting words and sentences."""

import json
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, Json, Patch
from folders import output_of, run_command
from pydantic import BaseModel

from rag_evaluator import RAGEvaluator, ScriptedJudge, certify, compare
from rag_evaluator.judge import PromptText
from rag_evaluator.report import figures_html
from rag_evaluator.results import Run

CONTEXT = "The red bridge of Harn opened near a river."
KNOWN = "The red bridge opened"  # all content words are in the context
ROWS = 40


def is_right(row: int) -> bool:
    return row % 2 == 0


def answer(row: int, told_by_words: bool) -> str:
    """A right or a wrong answer; counting words sees it, or sees the same share in all rows."""
    ending = "near a river" if is_right(row) or not told_by_words else "behind seven lamps"
    return f"{KNOWN} {ending}."


def judged(folder: Path, told_by_words: bool, right: int = ROWS, **config: Any) -> Path:
    """A run of `response_groundedness` by a judge that rates the first `right` rows as people do, the others 1."""
    rows = [
        {
            "user_input": f"Question {row}?",
            "retrieved_contexts": [f"{CONTEXT} Number {row}."],
            "response": answer(row, told_by_words),
            "human": int(is_right(row)),
            "place": row,
        }
        for row in range(ROWS)
    ]

    def rated(prompt: str, response_model: type[BaseModel]) -> Json:
        assert isinstance(prompt, PromptText)
        assert prompt.data is not None
        row = int(prompt.data.model_dump()["context"].split()[-1].strip("."))
        return {"rating": 2 if row >= right or is_right(row) else 0}

    judge = ScriptedJudge(rated, model_id="rated")
    settings = {"metrics": ["response_groundedness"], "report": False, **config}
    RAGEvaluator(settings, judge=judge).evaluate(rows, folder=folder)
    return folder


@pytest.mark.parametrize(
    ("told_by_words", "right", "useful", "second"),
    [
        pytest.param(False, ROWS, "useful for response_groundedness:", "the judge beats counting words.", id="beats"),
        pytest.param(
            True,
            ROWS,
            "useful for response_groundedness, but not shown to beat counting words:",
            "the judge does not beat counting words.",
            id="counting words sees the same",
        ),
        pytest.param(
            False, 7, "Not shown", "it is not settled whether the judge beats counting words: about 67 more labels.",
            id="not settled",
        ),
    ],
)  # fmt: skip
def test_the_second_verdict_is_said_in_the_second_line(
    tmp_path: Path, told_by_words: bool, right: int, useful: str, second: str
) -> None:
    run = judged(tmp_path / "run", told_by_words, right)
    first, following, *_ = certify(run, label={"response_groundedness": "human"}).conclusion.sentences
    assert useful in first
    assert following.startswith(f"For response_groundedness {second} AUC ")


def test_the_table_the_certificate_the_report_and_compare_have_it(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    run = judged(tmp_path / "run", True)
    shown = output_of(capsys, "certify", run, "--label", "response_groundedness=human")
    assert "│ counting words     │     40 │ 1.00 [0.90, 1.00] │ 0.00 [0.00, 0.00] │" in shown
    assert "│ counting sentences │     40 │ 0.50 [0.33, 0.67] │" in shown
    counting = json.loads((run / "certificate.json").read_bytes())["metrics"]["response_groundedness"]["counting"]
    assert (counting["word"], counting["decisive"], counting["more_labels"]) == ("does not beat", "words", None)
    said = "does not beat counting words"
    assert said in figures_html(Run(run))
    assert any(said in caveat for caveat in compare(run, judged(tmp_path / "other", True)).caveats)


def test_a_run_that_counts_words_does_not_beat_counting_words(tmp_path: Path, capsys: Capture) -> None:
    rows = [
        {
            "user_input": f"Question {row}?",
            "retrieved_contexts": [CONTEXT],
            "response": f"{answer(row, True)} It opened{' seven years ago' if row % 3 else ''}.",
            "human": int(is_right(row)),
        }
        for row in range(ROWS)
    ]
    run = tmp_path / "run"
    config = {"metrics": ["groundedness"], "verifier": {"model": "words"}, "report": False}
    RAGEvaluator(config).evaluate(rows, folder=run)
    sentences = certify(run, label={"groundedness": "human"}).conclusion.sentences
    assert sentences[1].startswith("For groundedness the score does not beat counting words: it counts words. AUC ")
    lines = [
        {"row": row, "metric": "groundedness", "statement": answer(row, True), "label": rows[row]["human"]}
        for row in range(ROWS)
    ]
    (tmp_path / "sentences.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    run_command("certify", run, "--labels", tmp_path / "sentences.jsonl", "--json")
    part = json.loads(capsys.readouterr().out)["metrics"]["groundedness"]["statements"]["counting"]
    assert part["baselines"]["words"]["difference"] == {"value": 0.0, "ci_low": 0.0, "ci_high": 0.0}
    assert part["word"] == "does not beat"
