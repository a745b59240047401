"""What details, summary, report and comparison say of verdicts of a verifier."""

from pathlib import Path
from typing import Any

import pytest
from known_verifier import KnownVerifier
from statement_judge import (
    BOOKS,
    BORN,
    BY_BOTH,
    BY_VERIFIER,
    CERTAIN,
    FIRST,
    JUDGED,
    RIVER,
    ROW,
    SECOND,
    Judge,
    Partly,
    scored,
)

from rag_evaluator import RAGEvaluator, Results
from rag_evaluator.report.facts import line
from rag_evaluator.results.changes import verdict_changes
from rag_evaluator.results.conclusion import judged_by
from rag_evaluator.results.judgement import explained, numbers_of
from rag_evaluator.results.rows import JudgementCounts
from rag_evaluator.results.run import Run
from rag_evaluator.results.summary import Audit, verdict_figures
from rag_evaluator.statistics.formulas import Scale
from rag_evaluator.statistics.intervals import mean_interval


def test_details_hold_each_statement_with_what_decided() -> None:
    score = scored("faithfulness", BY_BOTH, Judge(BOOKS)).scores["faithfulness"][0]
    written, asked, verified = score.judgements
    assert [written["prompt"], asked["prompt"]] == ["statement_generator_prompt", "nli_statement_prompt"]
    assert asked["copied"] is True
    assert "copied" not in written
    assert asked["input"]["statements"] == [RIVER, BOOKS]
    assert verified["prompt"] == "verifier"
    assert verified["input"] == {
        "context": {"column": "retrieved_contexts", "items": 2, "joined": "\n"},
        "statements": {"judgement": 0, "key": "statements"},
    }
    by_judge = {"decided_by": "judge", "reason": "0, says the judge"}
    assert verified["response"] == {
        "sentences": [
            {
                "statement": BORN,
                "verdict": 1,
                "probability": 0.9,
                "contexts": [0],
                "piece": 0,
                "decided_by": "verifier",
            },
            {"statement": RIVER, "verdict": 0, "probability": 0.6, "contexts": [1], "piece": 1, **by_judge},
            {
                "statement": BOOKS,
                "verdict": 1,
                "probability": 0.3,
                "contexts": [0],
                "piece": 0,
                "decided_by": "judge",
                "reason": "1, says the judge",
            },
        ],
        "pieces": 2,
    }
    assert list(verified["confidence"]) == [0.9, 0.4, 0.3]


def test_each_statement_counts_once_where_judge_and_verifier_spoke_of_it() -> None:
    score = scored("faithfulness", {**BY_BOTH, "audit": 1}, Judge(BOOKS)).scores["faithfulness"][0]
    record = {"metric": "faithfulness", **score.to_json()}
    assert [(verdict.statement, verdict.value) for verdict in numbers_of(record)] == [(BORN, 1), (RIVER, 0), (BOOKS, 1)]
    assert [verdict.says() for verdict in explained([record])] == [
        f"supported · {BORN}",
        f"not supported · {RIVER} · 0, says the judge",
        f"supported · {BOOKS} · 1, says the judge",
    ]


def test_the_places_of_contexts_are_those_of_the_row() -> None:
    score = scored("noise_sensitivity", BY_VERIFIER).scores["noise_sensitivity"][0]
    verified = [judgement for judgement in score.judgements if judgement["prompt"] == "verifier"]
    places = [judgement["response"]["sentences"][0]["contexts"] for judgement in verified]
    assert places == [[0], [0], [1], [1], []]
    assert verified[2]["input"]["context"] == {"column": "retrieved_contexts", "item": 1}
    assert verified[4]["input"]["context"] == {"column": "reference"}


def many(judge: Judge, count: int = 4, **options: Any) -> Results:
    """Rows of different contexts; the verifier is sure of BORN and RIVER, and in doubt of BOOKS."""
    rows = [{**ROW, "retrieved_contexts": [f"{FIRST} {number}", SECOND]} for number in range(count)]
    known = KnownVerifier({("in May", BORN): 0.9, ("river Om", RIVER): 0.8, ("in May", BOOKS): 0.5})
    settings = {"metrics": ["faithfulness"], "metric_options": {"faithfulness": {"verdicts": "cascade", **options}}}
    return RAGEvaluator(settings, judge, verifier=known).evaluate(rows)


def test_the_summary_counts_who_decided_and_how_often_both_agree() -> None:
    supported = [(f"{FIRST} {number}", BORN) for number in range(3)]
    figures = many(Partly(*supported), audit=1).summary()["faithfulness"]["verdicts"]
    agreement = figures.pop("agreement")
    assert figures == {"statements": 12, "by_judge": 4, "audited": 8}
    assert agreement["mean"] == 3 / 8
    assert 0 < agreement["ci_low"] < 3 / 8 < agreement["ci_high"] < 1


def test_the_interval_of_the_agreement_is_that_of_scores_with_rows_and_clusters_as_units() -> None:
    def agreement(rows: list[Audit], clusters: list[str | None] | None = None) -> tuple[float, float, float]:
        figures = verdict_figures(JudgementCounts(0, 0, 5, 0, 5, 3), rows, clusters, 0.95)["verdicts"]["agreement"]
        return figures["mean"], figures["ci_low"], figures["ci_high"]

    def expected(clusters: list[str]) -> tuple[Any, Any, Any]:
        estimate = mean_interval([1, 1, 0, 1, 0], Scale(), 0.95, clusters)
        return estimate.mean, estimate.ci_low, estimate.ci_high

    rows = [Audit(0, 3, 2), Audit(2, 1, 1), Audit(3, 1, 0)]
    assert agreement(rows) == expected(["r0", "r0", "r0", "r2", "r3"])
    assert agreement(rows, ["a", "a", "b", "b"]) == expected(["a", "a", "a", "b", "b"])
    assert agreement(rows, ["a", None, None, "b"]) == expected(["a", "a", "a", "r2", "b"])


def test_a_verifier_alone_has_no_agreement_and_a_judge_alone_no_counts() -> None:
    assert scored("faithfulness", BY_VERIFIER).summary()["faithfulness"]["verdicts"] == {
        "statements": 3,
        "by_judge": 0,
        "audited": 0,
    }
    assert "verdicts" not in scored("faithfulness", {"verdicts": "judge"}).summary()["faithfulness"]
    assert "verdicts" not in scored("groundedness", {"mode": "mean"}).summary()["groundedness"]


def test_the_report_says_who_decided_in_one_sentence() -> None:
    def note(results: Results) -> str:
        row = results.summary()["faithfulness"]
        (sentence,) = (text for text in line("faithfulness", row, Scale()).notes if "verifier" in text)
        return sentence

    assert note(scored("faithfulness", BY_VERIFIER)) == "the verifier decided about 3 of 3 statements"
    start = "the verifier decided about 8 of 12 statements, the judge about 4 of which the verifier was in doubt"
    assert note(many(Judge(), audit=0)) == start
    audited = note(many(Judge(BORN, RIVER), audit=1))
    assert audited.startswith(f"{start}; audit: the judge agrees with the verifier on 1.00 [")
    assert audited.endswith("] of 8 statements")


def test_a_saved_run_has_the_counts_of_its_details(tmp_path: Path) -> None:
    results = many(Judge(BORN), audit=0.5)
    results.write(tmp_path / "run")
    run = Run(tmp_path / "run")
    assert run.summary["faithfulness"]["verdicts"] == results.summary()["faithfulness"]["verdicts"]
    assert judged_by(run.manifest, ["faithfulness"], ()) == ", according to this judge and this verifier"


def record(metric: str, *args: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """A score with the columns of its row, as changes are found in."""
    score = scored(metric, *args).scores[metric][0]
    return [({"metric": metric, **score.to_json()}, ROW)]


def test_a_comparison_with_a_judges_run_says_what_differs_and_an_audit_is_no_difference() -> None:
    judged = record("faithfulness", {}, Judge(BORN))
    both = record("faithfulness", {**BY_BOTH, "audit": 1}, Judge(BOOKS))
    says = [change.says() for change in verdict_changes(judged, both, "better")]
    assert says == [f"the claim “{BOOKS}” is supported now"]


@pytest.mark.parametrize("metric", ["faithfulness", "context_recall", "factual_correctness", "noise_sensitivity"])
def test_equal_verdicts_of_judge_and_verifier_are_no_change(metric: str) -> None:
    judged = record(metric, {}, Judge(*JUDGED))
    verified = record(metric, BY_VERIFIER, Judge(), KnownVerifier(CERTAIN, other=0.0))
    doubtful = record(metric, BY_BOTH, Judge(*JUDGED), KnownVerifier({}, other=0.5))
    assert verdict_changes(judged, verified, "worse") == verdict_changes(judged, doubtful, "worse") == ()


@pytest.mark.parametrize(
    ("metric", "lost"),
    [
        ("faithfulness", {BORN, RIVER, BOOKS}),
        ("context_recall", {BORN, RIVER}),
        ("noise_sensitivity", {BORN, RIVER, BOOKS}),
    ],
)
def test_other_verdicts_of_a_verifier_are_changes(metric: str, lost: set[str]) -> None:
    judged = record(metric, {}, Judge(*JUDGED))
    verified = record(metric, BY_VERIFIER, Judge(), KnownVerifier({}, other=0.0))
    assert {change.about for change in verdict_changes(judged, verified, "worse")} == lost
