"""What details, summary, report and comparison say of verdicts of a verifier."""

from pathlib import Path
from typing import Any

import pytest
from known_verifier import KnownVerifier
from statement_judge import (
    BOOKS,
    BORN,
    BY_VERIFIER,
    CERTAIN,
    JUDGED,
    RIVER,
    Judge,
    scored,
)

from rag_evaluator.results import Run, explained, judged_by, numbers_of, verdict_changes


def test_details_hold_each_statement_with_what_decided() -> None:
    written, verified = scored("faithfulness", BY_VERIFIER).scores["faithfulness"][0].judgements
    assert written["prompt"] == "statement_generator_prompt"
    assert verified["prompt"] == "verifier"
    assert verified["input"] == {
        "context": {"column": "retrieved_contexts", "items": 2, "joined": "\n"},
        "statements": {"judgement": 0, "key": "statements"},
    }
    assert verified["response"] == {
        "sentences": [
            {"statement": BORN, "verdict": 1, "probability": 0.9, "contexts": [0], "piece": 0},
            {"statement": RIVER, "verdict": 1, "probability": 0.6, "contexts": [1], "piece": 1},
            {"statement": BOOKS, "verdict": 0, "probability": 0.3, "contexts": [0], "piece": 0},
        ],
        "pieces": 2,
    }
    assert list(verified["confidence"]) == [0.9, 0.6, 0.7]


@pytest.mark.parametrize("more", [{}, {"decided_by": "verifier"}], ids=["now", "older run"])
def test_each_statement_is_shown_with_its_verdict(more: dict[str, str]) -> None:
    score = scored("faithfulness", BY_VERIFIER).scores["faithfulness"][0]
    record: dict[str, Any] = {"metric": "faithfulness", **score.to_json()}
    for sentence in record["judgements"][-1]["response"]["sentences"]:
        sentence |= more
    assert [(verdict.statement, verdict.value) for verdict in numbers_of(record)] == [(BORN, 1), (RIVER, 1), (BOOKS, 0)]
    assert [verdict.says() for verdict in explained([record])] == [
        f"supported: “{BORN}”",
        f"supported: “{RIVER}”",
        f"not supported: “{BOOKS}”",
    ]


def test_a_saved_run_names_judge_and_verifier(tmp_path: Path) -> None:
    scored("faithfulness", BY_VERIFIER).write(tmp_path / "run")
    run = Run(tmp_path / "run")
    assert judged_by([run.manifest], ["faithfulness"], ()) == ", according to this judge and this verifier"


def record(metric: str, *args: Any) -> list[dict[str, Any]]:
    """The details of a score."""
    return [{"metric": metric, **scored(metric, *args).scores[metric][0].to_json()}]


@pytest.mark.parametrize("metric", ["faithfulness", "factual_correctness"])
def test_equal_verdicts_of_judge_and_verifier_are_no_change(metric: str) -> None:
    judged = record(metric, {}, Judge(*JUDGED))
    verified = record(metric, BY_VERIFIER, Judge(), KnownVerifier(CERTAIN, other=0.0))
    assert verdict_changes(judged, verified, worse=True) == ()


def test_other_verdicts_of_a_verifier_are_changes() -> None:
    judged = record("faithfulness", {}, Judge(*JUDGED))
    verified = record("faithfulness", BY_VERIFIER, Judge(), KnownVerifier({}, other=0.0))
    assert {change.about for change in verdict_changes(judged, verified, worse=True)} == {BORN, RIVER, BOOKS}
