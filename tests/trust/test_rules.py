"""Rules on scores: parsed, checked against the worse end of the interval, and what they say when they fail."""

import re
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import ConfigError
from rag_evaluator.comparison.gate_verdicts import Measured, check_rules
from rag_evaluator.statistics import Rule, Scale, difference_interval, mean_interval, parse_limit, parse_rule

CI = (Path(__file__).parents[2] / "docs" / "ci.md").read_text("utf-8")
JUDGED = Scale()
LOWER = Scale(better="lower")
COSINE = Scale(-1, 1, "continuous")


def verdict(text: str, values: list[float], scale: Scale = JUDGED) -> Any:
    measured = {"m": Measured(scale, mean_interval(values, scale), 1.0)}
    (checked,) = check_rules([parse_rule(text)], measured)
    return checked


def not_worse(differences: list[float], margin: float, scale: Scale = JUDGED) -> Any:
    differing = {"m": Measured(scale, difference_interval(differences, scale), 1.0)}
    (checked,) = check_rules([Rule("m", "not worse", margin)], {}, differing)
    return checked


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("faithfulness >= 0.8", Rule("faithfulness", "min", 0.8)),
        ("faithfulness>=.8", Rule("faithfulness", "min", 0.8)),
        (" mean:noise_sensitivity <= 2e-1 ", Rule("noise_sensitivity", "max", 0.2, of_mean=True)),
        ("factual_correctness(mode=f1) >= 0.5", Rule("factual_correctness(mode=f1)", "min", 0.5)),
    ],
)
def test_a_rule_is_a_metric_a_sign_and_a_number(text: str, rule: Rule) -> None:
    assert parse_rule(text) == rule
    assert parse_rule(str(rule)) == rule


@pytest.mark.parametrize(
    "text", ["", "faithfulness", "faithfulness > 0.8", "faithfulness >= high", ">= 0.8", "f >= nan"]
)
def test_a_text_that_is_no_rule_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError, match=r"such as 'faithfulness >= 0.8'"):
        parse_rule(text)


def test_a_limit_of_the_command_line_is_a_metric_and_a_number() -> None:
    assert parse_limit("--min", "min", "mean:faithfulness=0.8") == Rule("faithfulness", "min", 0.8, of_mean=True)
    assert parse_limit("--max", "max", "rouge_score(mode=fmeasure)=1") == Rule("rouge_score(mode=fmeasure)", "max", 1.0)
    with pytest.raises(ConfigError, match="--min faithfulness: expected METRIC=NUMBER"):
        parse_limit("--min", "min", "faithfulness")


@pytest.mark.parametrize(
    ("text", "values", "scale", "passed"),
    [
        ("m >= 0.8", [1.0] * 30, JUDGED, True),  # lower end 0.87
        ("m >= 0.8", [1.0] * 25 + [0.0] * 5, JUDGED, False),  # mean 0.83, lower end 0.66
        ("mean:m >= 0.8", [1.0] * 25 + [0.0] * 5, JUDGED, True),
        ("m <= 0.2", [0.0] * 30, LOWER, True),
        ("m <= 0.2", [0.0] * 25 + [1.0] * 5, LOWER, False),
        ("mean:m <= 0.2", [0.0] * 25 + [1.0] * 5, LOWER, True),
        ("mean:m >= 0.3", [0.1, 0.2, 0.3, 0.4, 0.5], JUDGED, True),  # 0.30000000000000004 or less is no failure
        ("m >= 0.5", [0.6, 0.61, 0.62], COSINE, True),
        ("m >= 0.5", [], JUDGED, False),
        ("m >= 0.5", [1.0], JUDGED, False),  # one row says nothing: its interval is the whole range
    ],
)
def test_a_rule_is_about_the_worse_end_unless_it_says_mean(
    text: str, values: list[float], scale: Scale, passed: bool
) -> None:
    assert verdict(text, values, scale).passed is passed


FEWEST = re.findall(r"^\| `?(.+?)`? \| (\d+) \|$", CI, flags=re.MULTILINE)
assert len(FEWEST) == 5


@pytest.mark.parametrize("line", FEWEST)
def test_the_docs_name_the_fewest_rows_that_can_pass(line: tuple[str, str]) -> None:
    text = line[0]
    rows = int(line[1])
    for count, passes in ((rows, True), (rows - 1, False)):
        if text.startswith("not worse by "):
            assert not_worse([0.0] * count, float(text.removeprefix("not worse by "))).passed is passes
        else:
            assert verdict(text.replace("faithfulness", "m"), [1.0] * count).passed is passes
