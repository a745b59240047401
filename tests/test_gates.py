"""Gates that must fail and gates that must pass: each through the command, on files."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from aliases import Capture

from rag_evaluator import gate
from rag_evaluator.cli.main import main

PASSED = 0
FAILED = 1
REFUSED = 2
N = 300
MARGIN = ["--not-worse-than", "BASE", "--margin", "0.02"]
MIN = ["--min", "faithfulness=0.8"]
WORSE = ["--fail-if-worse", "BASE"]
Values = Sequence[float | None]
Rows = dict[str, Sequence[Any]]


def table(values: Values, metric: str = "faithfulness", **columns: Sequence[Any]) -> Rows:
    return {"user_input": [f"Q{place}" for place in range(len(values))], metric: values, **columns}


def good(count: int = N) -> list[float | None]:
    return [1.0] * count


def without(rows: int, count: int = N) -> list[float | None]:
    """The last scores are missing."""
    return [*good(count - rows), *[None] * rows]


def repeated(values: Values, answers: int, **columns: Sequence[Any]) -> Rows:
    """Several answers to each question, one after the other."""
    return table(values, **columns) | {"user_input": [f"Q{place // answers}" for place in range(len(values))]}


def reversed_(rows: Rows) -> Rows:
    return {name: list(reversed(column)) for name, column in rows.items()}


@dataclass(frozen=True)
class Case:
    """A gate.

    Attributes:
        code: of the command; `said` is a part of what it prints.
    """

    rules: Sequence[str]
    run: Rows
    base: Rows | None = None
    code: int = FAILED
    said: str = ""


FALLEN = [*good(N - 60), *[0.0] * 60]
NOT_FIRST = [1.0, 0.0] * N  # of two answers a question the second fell
CUT = repeated([1.0, *[None] * 9] * N, 10)
PARTED = repeated(good(), 2, part=["a", "b"] * (N // 2))
QUESTIONS = table(good(600), id=[f"i{place}" for place in range(600)])

UNSETTLED = ["--fail-if-worse", "BASE"]
WRONG = {1, 2, 4, 5, 6, 7, 8}
THREE = table([float(row != 3) for row in range(16)], bleu=[0.5] * 16, rouge=[0.5] * 16)
SIMILAR = table([float(row not in WRONG) for row in range(16)], bleu=[0.5, 0.4] * 8, rouge=[0.4, 0.5] * 8)

CASES: dict[str, Case] = {
    "one of two answers fell": Case(MARGIN, repeated(NOT_FIRST, 2), repeated([1.0] * 2 * N, 2)),
    "answers to one question in two clusters": Case(
        [*MARGIN, "--cluster", "part"],
        PARTED,
        PARTED,
        code=REFUSED,
        said="differ in 'part' ('a', 'b')",
    ),
    "nine of ten answers missing": Case(MARGIN, CUT, repeated(good(10 * N), 10), said="coverage is 0.100"),
    "rows of the baseline without a key": Case(
        MARGIN,
        table(good()),
        {"user_input": [*table(good())["user_input"], *[""] * 100], "faithfulness": good(N + 100)},
        said="100 rows of the baseline have no key",
    ),
    "further rows that fail": Case(
        MARGIN, table([*good(), *[0.0] * 100]), table(good()), said="100 rows of the run have no partner"
    ),
    "rows left out against a margin of 0.02": Case(
        MARGIN, table(good(476)), table(good(500)), said="24 rows scored in the baseline and not in this run"
    ),
    "missing rows of a metric of which lower is better": Case(
        MARGIN,
        table([*[0.0] * 476, *[None] * 24], "noise_sensitivity"),
        table([0.0] * 500, "noise_sensitivity"),
        said="counted as 1",
    ),
    "a metric that only the baseline has": Case(
        MARGIN, table(good()), table(good(), noise_sensitivity=[0.0] * N), said="has no scores of noise_sensitivity"
    ),
    "hallucination rose, its direction unknown": Case(
        MARGIN,
        table([0.9] * N, "hallucination"),
        table([0.1] * N, "hallucination"),
        code=REFUSED,
        said="--better hallucination=lower",
    ),
    "hallucination rose, lower is better": Case(
        [*MARGIN, "--better", "hallucination=lower"],
        table([0.9, *[0.8] * (N - 1)], "hallucination"),
        table([0.1] * N, "hallucination"),
    ),
    "infinite scores": Case(MIN, table([math.inf, *good(N - 1)]), code=REFUSED, said="'faithfulness' is 'inf'"),
    "ids that belong to other questions": Case(
        MARGIN,
        {**QUESTIONS, "id": [f"i{(place + 1) % 600}" for place in range(600)]},
        QUESTIONS,
        said="600 of 600 rows that were matched by 'id' have other questions",
    ),
    "a run that lost one score in twenty, which count as wrong in the test, too": Case(
        WORSE, table(without(19, 400)), table(good(400)), said="worse is shown; 19 rows scored in the baseline and not"
    ),
    "rows that the baseline alone lost do not hide a drop": Case(
        WORSE, table([*[0.0] * 12, *good(288)]), table(without(12)), said="worse is shown"
    ),
    "a run that lost its scores": Case(WORSE, table(without(10, 40)), table(good(40)), said="coverage is 0.750"),
    "a real drop": Case(MARGIN, table(FALLEN), table(good())),
    "all scores missing": Case(
        [*MIN, "--min-coverage", "0.5"], table([1.0, *[None] * (N - 1)]), said="coverage is 0.003"
    ),
    "too few perfect rows": Case(MIN, table(good(10)), said="not settled"),
    "equal to its baseline": Case(MARGIN, table(good()), table(good()), code=PASSED),
    "several answers, file reversed": Case(
        MARGIN, reversed_(repeated(NOT_FIRST, 2)), repeated(NOT_FIRST, 2), code=PASSED
    ),
    "one missing row, within the margin": Case(
        [*MARGIN[:-1], "0.05"],
        table(without(1)),
        table(good()),
        code=PASSED,
        said="1 row scored in the baseline and not in this run",
    ),
    "rows missing in both": Case(MARGIN, table(without(3)), table(without(3)), code=PASSED),
    "rows missing in the baseline only": Case(MARGIN, table(good()), table(without(3)), code=PASSED),
    "better: no drop is left": Case(WORSE, table(good()), table(FALLEN), code=PASSED, said="and any drop is ruled out"),
    "worse by its own interval, not after correction": Case(
        UNSETTLED, SIMILAR, THREE, code=PASSED, said="Not settled after correction: faithfulness: diff"
    ),
    "the same with an exit code of its own": Case([*UNSETTLED, "--fail-if-not-settled"], SIMILAR, THREE, code=3),
    "a perfect run": Case(MIN, table(good(30)), code=PASSED),
}


def called(case: Case, folder: Path) -> int:
    run = folder / "run.csv"
    base = folder / "base.csv"
    pd.DataFrame(case.run).to_csv(run, index=False)
    pd.DataFrame(case.base or {}).to_csv(base, index=False)
    return main(["gate", str(run), *[str(base) if word == "BASE" else word for word in case.rules]])


def judged(seed: int, count: int, third: bool = False) -> Rows:
    """Scores of a judge that is right by chance; `third`: every third answer is made worse."""
    drawn = np.random.default_rng(seed).choice([0.5, 0.75, 1.0, 1.0], (3, count))
    drawn[:, ::3] *= not third
    names = ("faithfulness", "context_recall", "answer_accuracy")
    return {**table(good(count)), **{name: list(map(float, row)) for name, row in zip(names, drawn, strict=True)}}


@pytest.mark.parametrize("count", [20, 40, 100])
def test_an_equal_run_is_green_and_one_with_a_third_of_its_answers_made_worse_is_red(
    count: int, tmp_path: Path, capsys: Capture
) -> None:
    base = judged(count, count)
    assert called(Case(WORSE, base, base), tmp_path) == PASSED
    assert "worse is not shown, and a drop beyond 0." in capsys.readouterr().out
    assert called(Case(WORSE, judged(count, count, third=True), base), tmp_path) == FAILED
    assert "worse is shown" in capsys.readouterr().out
    assert called(Case(WORSE, base, judged(count, count, third=True)), tmp_path) == PASSED, "better is green"


def test_of_two_equal_systems_at_most_6_percent_are_red() -> None:
    pairs = [(judged(seed, 40), judged(1000 + seed, 40)) for seed in range(150)]
    red = sum(not gate(pd.DataFrame(run), fail_if_worse=pd.DataFrame(base)).passed for run, base in pairs)
    assert red <= 0.06 * len(pairs)


def test_a_failure_is_named_once_and_a_file_of_verdicts_names_no_folder(tmp_path: Path, capsys: Capture) -> None:
    junit = tmp_path / "gate.xml"
    assert called(Case([*MIN, "--junit", str(junit)], table([*good(20), *[0.0] * 4])), tmp_path) == FAILED
    printed = capsys.readouterr().out
    assert printed.count("faithfulness:") == 1
    assert "not settled" in printed
    assert str(tmp_path) not in junit.read_text()


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_gates_pass_fail_or_are_refused(case: Case, tmp_path: Path, capsys: Capture) -> None:
    code = called(case, tmp_path)
    printed = capsys.readouterr()
    assert (code, case.said in printed.out + printed.err) == (case.code, True), printed
