"""`gate`: rules on runs, in Python."""

import math
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

import rag_evaluator
from rag_evaluator import RAGEvaluator, RagEvaluatorError, Results
from rag_evaluator.statistics import Rule

ROWS = 30


def run_of(values: list[float], metric: str = "faithfulness", **columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"user_input": [f"Q{place}" for place in range(len(values))], metric: values, **columns})


def passed(*arguments: Any, **options: Any) -> list[bool]:
    return [verdict.passed for verdict in rag_evaluator.gate(*arguments, **options)]


def exact(right: int, of: int = ROWS) -> Results:
    rows = [{"response": "yes" if place < right else "no", "reference": "yes", "id": place} for place in range(of)]
    return RAGEvaluator({"metrics": ["exact_match"]}).evaluate(rows)


def test_verdicts_are_true_where_all_rules_are_kept() -> None:
    assert rag_evaluator.gate(exact(ROWS), "exact_match >= 0.8")
    verdicts = rag_evaluator.gate(exact(25), ["exact_match >= 0.8", "mean:exact_match >= 0.8"])
    assert not verdicts
    assert [verdict.passed for verdict in verdicts] == [False, True]


def test_rows_without_a_score_break_a_rule() -> None:
    run = run_of([1.0] * 8 + [math.nan] * 2)
    assert passed(run, ["mean:faithfulness >= 0.5"]) == [False]  # 0.95 unless another number is given
    assert passed(run, ["mean:faithfulness >= 0.5"], min_coverage=0.8) == [True]


def test_rows_of_one_document_are_not_so_many_as_they_look() -> None:
    values = [1.0] * 190 + [0.5] * 10
    documents = [f"document {place // 20}" for place in range(200)]
    assert passed(run_of(values), ["faithfulness >= 0.95"]) == [True]
    assert passed(run_of(values, document=documents), ["faithfulness >= 0.95"], cluster="document") == [False]


def test_requirements_of_the_run_are_checked_with_the_rules_given_and_each_rule_once() -> None:
    run = exact(25)
    required = replace(run, manifest={**run.manifest, "config": {"require": ["ExactMatch >= 0.8"]}})
    assert passed(required) == [False]
    assert passed(required, ["exact_match >= 0.8", "mean:exact_match >= 0.8"]) == [False, True]


def test_a_baseline_of_another_judge_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    base = exact(ROWS)
    signatures = {"exact_match": base.signatures["exact_match"] + "|judge:another"}
    rag_evaluator.gate(exact(ROWS), not_worse_than=base, margin=0.5)
    assert caplog.messages == []
    changed = replace(base, manifest={**base.manifest, "signatures": signatures})
    rag_evaluator.gate(exact(ROWS), not_worse_than=changed, margin=0.5)
    assert "judged differently (judge: judge another / absent), so judges are compared" in caplog.text


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "no rule to check"),
    ({"rules": ["faithfullness >= 0.5"]}, "no scores of 'faithfullness'.* Did you mean 'faithfulness'"),
    ({"rules": ["noise_sensitivity >= 0.5"]}, "lower is better: give a maximum"),
    ({"rules": ["faithfulness <= 0.5"]}, "higher is better: give a minimum"),
    ({"rules": ["faithfulness >= 80"]}, "expected a number from 0 to 1"),
    ({"margin": 0.02}, "a margin belongs to --not-worse-than"),
    ({"not_worse_than": "a", "fail_if_worse": "b"}, "expected one baseline"),
    ({"not_worse_than": run_of([0.5] * 5)}, "a baseline needs a margin"),
    ({"not_worse_than": run_of([0.5] * 5), "margin": {"bleu": 0.1}}, "no scores of 'bleu_score'"),
    ({"not_worse_than": run_of([0.5] * 5), "margin": -0.1}, "expected a margin from 0 to 1"),
    ({"not_worse_than": run_of([0.5] * 5, "chrf"), "margin": 0.1}, "no metric in common"),
    ({"not_worse_than": "results/nowhere", "margin": 0.1}, "no such folder"),
    ({"rules": ["faithfulness >= 0.1"], "min_coverage": 95}, "minimum of coverage is 95"),
    ({"rules": [Rule("faithfulness", "min", 0.5)], "cluster": "document"}, "no row has something in 'document'"),
]


@pytest.mark.parametrize(("options", "said"), BAD, ids=[said for _, said in BAD])
def test_a_rule_that_cannot_be_checked_is_an_error_in_one_line(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RagEvaluatorError, match=said) as error:
        rag_evaluator.gate(run_of([0.5] * 5, noise_sensitivity=[0.1] * 5), **options)
    assert "\n" not in str(error.value)


def test_a_rule_on_continuous_scores_that_pile_up_at_an_end_is_kept_with_a_warning() -> None:
    tied = run_of([1.0] * 5 + [0.9, 0.95] * 20, "semantic_similarity")
    apart = run_of([0.9, 0.95] * 20 + [0.91] * 5, "semantic_similarity")
    (verdict,) = rag_evaluator.gate(tied, "semantic_similarity >= 0.8")
    assert verdict.passed
    assert verdict.measured.notes
    assert "of 45 scores 5 are exactly 1: Student's t" in verdict.reason
    assert "exactly" not in rag_evaluator.gate(apart, "semantic_similarity >= 0.8")[0].reason
    (worse,) = rag_evaluator.gate(apart, not_worse_than=tied, margin=0.2)
    assert worse.passed
    assert "run 1: of 45 scores 5 are exactly 1: Student's t" in worse.reason
