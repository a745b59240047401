"""The sentences of a gate: figures made by hand, and what a statistician would sign."""

from dataclasses import replace

import pytest

from rag_evaluator.comparison import GateVerdicts
from rag_evaluator.comparison.gate_verdicts import Measured, check_rules
from rag_evaluator.statistics import Estimate, Rule, Scale, parse_limit, parse_rule

LOWER = Scale(better="lower")
JUDGE = ", according to this judge"


def measured(
    mean: float | None,
    low: float | None = None,
    high: float | None = None,
    rows: int = 60,
    scale: Scale | None = None,
    coverage: float = 1.0,
) -> Measured:
    estimate = Estimate(rows, mean, mean, None, None, low, high, 0.95, "made by hand")
    return Measured(scale or Scale(), estimate, coverage)


FAITHFUL = measured(0.86, 0.81, 0.9)
ONE = ["faithfulness >= 0.8"]
CASES: dict[
    str, tuple[list[str], list[Measured], list[str]]
] = {  # rules, what was measured, how sentences begin and end
    "all rules are kept: the closest has the worse end next to its number": (
        [*ONE, "context_recall >= 0.5", "mean:noise_sensitivity <= 0.2"],
        [FAITHFUL, measured(0.7, 0.6, 0.8), measured(0.1, 0.0, 0.3, scale=LOWER)],
        ["Passed: all 3 rules; the closest is faithfulness: 0.86 [0.81, 0.90] in 60 rows... at least 0.8" + JUDGE],
    ),
    "the whole interval breaks the rule": (
        ONE,
        [measured(0.42, 0.17, 0.71)],
        ["Failed: faithfulness: 0.42 [0.17, 0.71] in 60 rows...the whole interval breaks it"],
    ),
    "the interval is on both sides": (
        ONE,
        [measured(0.85, 0.75, 0.92)],
        ["Failed: faithfulness: 0.85 [0.75, 0.92] in 60 rows...not settled: the interval is on both sides of it"],
    ),
    "an end next to the number is not rounded to it": (
        ONE,
        [measured(0.9, 0.7996, 0.95)],
        ["Failed: faithfulness: 0.9000 [0.7996, 0.9500]...not settled: the interval is on both sides of it"],
    ),
    "too few rows have a score": (
        ONE,
        [measured(0.9, 0.85, 0.95, coverage=0.35)],
        ["Failed: faithfulness: coverage is 0.350, below 0.95: ..., according to this judge"],
    ),
    "some of several": (
        [*ONE, "context_recall >= 0.5", "answer_relevancy >= 0.5"],
        [measured(0.42, 0.17, 0.71), measured(0.55, 0.45, 0.65), FAITHFUL],
        [
            "Failed: 2 of 3 rules, according to this judge; 1 of them not settled...",
            "faithfulness: 0.42 [0.17, 0.71]...the whole interval breaks it",
            "context_recall: 0.55 [0.45, 0.65]...not settled: the interval is on both sides of it",
        ],
    ),
}


FALLEN = {
    "exact_match": ((-0.38, -0.67, -0.03), 0.103),
    "rouge_score": ((-0.2, -0.4, -0.01), 0.103),
    "chrf_score": ((0.0, -0.1, 0.1), 0.9),
}


def fits(sentence: str, expected: str) -> bool:
    begin, _, end = expected.partition("...")
    return sentence.startswith(begin) and sentence.endswith(f"{end}.")


@pytest.mark.parametrize("case", CASES)
def test_the_sentences_are_those_that_a_statistician_would_sign(case: str) -> None:
    rules, figures, expected = CASES[case]
    parsed = list(map(parse_rule, rules))
    verdicts = check_rules(parsed, dict(zip((rule.metric for rule in parsed), figures, strict=True)))
    sentences = GateVerdicts(verdicts, JUDGE).conclusion.sentences
    assert all(map(fits, sentences, expected)) and len(sentences) == len(expected), sentences


def test_the_first_sentence_names_every_metric_that_is_worse_by_its_own_interval_and_the_next_what_metrics_cost() -> (
    None
):
    figures = {name: replace(measured(*ends, rows=16), p_holm=p) for name, (ends, p) in FALLEN.items()}
    verdicts = GateVerdicts(check_rules([Rule(name, "worse", 0.0) for name in figures], {}, figures))
    assert verdicts.passed
    assert [verdict.to_json()["state"] for verdict in verdicts] == [*["not settled after correction"] * 2, "passed"]
    assert verdicts.not_settled == verdicts[:2]
    assert verdicts.conclusion.sentences == [
        "Not settled after correction: exact_match: difference -0.38 [-0.67, -0.03] in 16 rows, its own interval is "
        "worse, p (Holm) is 0.103; rouge_score: difference -0.20 [-0.40, -0.01] in 16 rows, its own interval is worse, "
        "p (Holm) is 0.103.",
        "More metrics make a fall harder to show: Holm corrects 3 tests here, so the smallest p must be at most "
        "0.017, and that of a metric alone at most 0.05.",
    ]
    figures["chrf_score"] = replace(measured(-0.5, -0.6, -0.4), p_holm=0.001)
    failed = GateVerdicts(check_rules([Rule(name, "worse", 0.0) for name in figures], {}, figures)).conclusion
    names = "exact_match, rouge_score and chrf_score"
    assert failed.sentences[0] == f"Failed: 1 of 3 rules; the interval of {names} each is worse."


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        (
            (-0.01, -0.08, 0.06),
            "difference -0.01 [-0.08, 0.06] in 60 rows, the rule allows at most 0.05 worse; not settled: the interval "
            "is on both sides of it.",
        ),
        (
            (-0.2, -0.3, -0.1),
            "difference -0.20 [-0.30, -0.10] in 60 rows, the rule allows at most 0.05 worse; the whole interval "
            "breaks it.",
        ),
        (
            (0.0, -0.04, 0.04),
            "difference 0.00 [-0.04, 0.04] in 60 rows, the rule allows at most 0.05 worse.",
        ),
    ],
    ids=["not settled", "worse", "kept"],
)
def test_a_margin_is_about_the_difference_from_the_baseline(figures: tuple[float, float, float], expected: str) -> None:
    rule = parse_limit("--margin", "not worse", "faithfulness=0.05")
    verdicts = check_rules([rule], {}, {"faithfulness": measured(*figures)})
    word = "Passed" if verdicts[0].passed else "Failed"
    assert GateVerdicts(verdicts).conclusion.sentences == [f"{word}: faithfulness: {expected}"]
