"""The sentences of a certificate, and the next command: what a statistician would sign."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from labelled_runs import exact_rows, fill, graded_run, scored_run

from rag_evaluator import Certification, certify, label_sheet


def separated(accepted: int, rejected: int, wrong: int) -> tuple[list[int], list[int]]:
    """Scores that are the labels, but for the first `wrong` rows of each class; and the labels."""
    labels = [1] * accepted + [0] * rejected
    right = [place >= wrong for count in (accepted, rejected) for place in range(count)]
    return [label if same else 1 - label for label, same in zip(labels, right, strict=True)], labels


def judged(folder: Path, scores: Sequence[int], labels: Sequence[int | None], **config: Any) -> Path:
    """A run of answer_rubric with these scores."""
    rows = [
        {**row, "answer": "yes" if score else "no", "human": label}
        for row, score, label in zip(exact_rows(len(scores)), scores, labels, strict=True)
    ]
    return graded_run(folder, rows, **config)


def percent(made: Certification, metric: str, figure: str = "auc", digits: int = 0) -> str:
    """The share of pairs behind the sentence, as it is printed."""
    figures = made.certificate["metrics"][metric]["graded" if figure == "concordance" else "binary"][figure]
    share, low, high = (f"{100 * figures[name]:.{digits}f}" for name in ("value", "ci_low", "ci_high"))
    return f"{share} % [{low}, {high}] of pairs"


PAIRS = "ranks an accepted row above a rejected one in"
JUDGED: dict[str, tuple[tuple[int, int, int], str]] = {
    "useful": (
        (30, 30, 3),
        f"The judge is useful for answer_rubric, but not shown to beat counting words: it {PAIRS} {{}}, by 60 labels.",
    ),
    "worse than chance": (
        (30, 30, 22),
        f"The judge is worse than chance for answer_rubric: it {PAIRS} {{}}, by 60 labels.",
    ),
    "weak": (
        (400, 400, 160),
        f"The judge is weak for answer_rubric, better than chance but not useful: it {PAIRS} {{}}, by 800 labels.",
    ),
    "not shown": (
        (30, 30, 14),
        f"Not shown for answer_rubric: that the judge is better than chance. It {PAIRS} {{}}, by 60 labels; about "
        "1,200 labels like these would settle it.",
    ),
    "too few labels": (
        (27, 3, 0),
        "Too few labels for answer_rubric: 30 labels, 3 of the rarer class; 20 are needed, 5 of the rarer class.",
    ),
    "all labels equal": (
        (40, 0, 2),
        "Not shown for answer_rubric: that the judge is better than chance. People gave every row the same label; draw "
        "rows with other scores.",
    ),
}


@pytest.mark.parametrize(("rows", "sentence"), JUDGED.values(), ids=JUDGED)
def test_the_sentence_is_the_one_that_a_statistician_would_sign(
    rows: tuple[int, int, int], sentence: str, tmp_path: Path
) -> None:
    made = certify(judged(tmp_path / "run", *separated(*rows)), label={"answer_rubric": "human"})
    expected = sentence.format(percent(made, "answer_rubric")) if "{}" in sentence else sentence
    assert made.conclusion.sentences[0] == expected


def test_an_end_just_below_the_limit_is_not_rounded_to_it(tmp_path: Path) -> None:
    made = certify(scored_run(tmp_path / "run", *separated(50, 50, 10)), label={"m": "human"})
    assert made.conclusion.sentences == [
        "The scores are better than chance for m, quality not settled: they rank an accepted row above a rejected one "
        "in 80.0 % [69.7, 87.1] of pairs, by 100 labels; about 110 labels like these would settle it."
    ]


def test_of_rows_that_nobody_drew_it_is_said_and_of_another_level_the_verdict_s_interval(tmp_path: Path) -> None:
    scores, labels = separated(30, 30, 3)
    some = certify(scored_run(tmp_path / "some", [*scores, 1], [*labels, None]), label={"m": "human"})
    assert some.conclusion.sentences[0].endswith("of pairs, by 60 labels (nobody knows how these rows were chosen).")
    other = certify(scored_run(tmp_path / "other", scores, labels, ci_level=0.8), label={"m": "human"})
    reason = other.certificate["metrics"]["m"]["verdict"]["reason"]
    assert other.conclusion.sentences == [f"The scores are useful for m: {reason}, by 60 labels."]
    auc = other.certificate["metrics"]["m"]["binary"]["auc"]
    assert f"[{auc['ci_low']:.3f}, " not in reason


def test_grades_are_said_by_pairs_with_different_labels(tmp_path: Path) -> None:
    grades = [1.0, 2.0, 3.0, 4.0, 5.0] * 8
    made = certify(scored_run(tmp_path / "run", grades, grades, scale=(1, 5)), label={"m": "human"}, scale=["m=1..5"])
    assert made.conclusion.sentences == [
        "The scores are useful for m: they rank the better one of two rows with different labels higher in "
        f"{percent(made, 'm', 'concordance')}, by 40 labels."
    ]


@pytest.mark.parametrize(
    ("blank", "expected"),
    [
        (15, "Fill in the 15 rows that are blank, then give the same command."),
        (1, None),  # people were not sure of it
    ],
)
def test_drawn_rows_that_are_blank_are_filled_in_before_others_are_drawn(
    blank: int, expected: str | None, tmp_path: Path
) -> None:
    run = judged(tmp_path / "run", *separated(40, 40, 18))
    record = label_sheet(run, tmp_path / "s.xlsx", size=40)
    words: list[Any] = ["yes" if row % 2 else "no" for row in range(80)]
    for row in record.rows[:blank]:
        words[row] = None
    said = certify(run, fill(tmp_path / "s.xlsx", words), out=tmp_path / "c.json").conclusion
    assert said.sentences[2:] == ([] if expected is None else [expected])
    assert bool(said.next) == (expected is None)


@pytest.mark.parametrize(
    ("rows", "more", "expected"),
    [
        ((30, 30, 3), 0, "compare BASELINE {}"),
        ((30, 30, 14), 440, "certify sheet {} --size 120 --out to_label_120.xlsx"),
        ((27, 3, 0), 440, "certify sheet {} --size 100 --out to_label_100.xlsx"),
        ((30, 30, 14), 20, "certify sheet {} --size 80 --out to_label_80.xlsx"),
        ((30, 30, 14), 0, "view {}"),  # all rows have a label
        ((400, 400, 160), 0, "view {}"),  # more labels do not make it useful
        ((30, 30, 22), 0, "view {}"),
    ],
)
def test_the_next_command_is_more_labels_only_where_they_may_settle_it(
    rows: tuple[int, int, int], more: int, expected: str, tmp_path: Path
) -> None:
    scores, labels = separated(*rows)
    run = scored_run(tmp_path / "run", [*scores, *[1] * more], [*labels, *[None] * more])
    said = certify(run, label={"m": "human"}, out=tmp_path / "c.json").conclusion.next
    assert said == f"rag-evaluator {expected.format(run)}"
