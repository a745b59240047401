"""The sentences of a certificate: figures made by hand, and what a statistician would sign."""

from pathlib import Path
from typing import Any

import pytest

from rag_evaluator.features.certify.conclusion import certify_conclusion

JUDGED = {"judge": {"model": "/models/qwen"}}
TOY = {"judge": {"model": "demo"}}
FOLDER = Path("results/demo")


def area(value: float, low: float, high: float, level: float = 0.95) -> Any:
    return {"value": value, "ci_low": low, "ci_high": high, "ci_level": level}


def part(word: str, reason: str, auc: Any = None, labels: int = 60, **more: Any) -> dict[str, Any]:
    """What `certificate.json` has of a metric, as far as sentences need it."""
    binary = {"binary": {"auc": auc}} if auc else {}
    verdict = {"word": word, "reason": reason}
    return {"judge": "ab12", "compared": labels, "chosen": "drawn", "verdict": verdict, **binary, **more}


ROWS_AS_PEOPLE = "it ranks an accepted row above a rejected one in"
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "useful": (
        part("useful", "AUC 0.910 [0.840, 0.960]", area(0.91, 0.84, 0.96)),
        JUDGED,
        f"The judge is useful for faithfulness: {ROWS_AS_PEOPLE} 91 % [84, 96] of pairs, by 60 labels.",
    ),
    "just below useful: the low end is not rounded to 70": (
        part("better than chance, quality not settled", "AUC 0.800 [0.696, 0.880]", area(0.8, 0.696, 0.88)),
        JUDGED,
        "The judge is better than chance for faithfulness, quality not settled: "
        f"{ROWS_AS_PEOPLE} 80.0 % [69.6, 88.0] of pairs, by 60 labels.",
    ),
    "worse than chance": (
        part("worse than chance", "AUC 0.310 [0.200, 0.450]", area(0.31, 0.2, 0.45)),
        JUDGED,
        f"The judge is worse than chance for faithfulness: {ROWS_AS_PEOPLE} 31 % [20, 45] of pairs, by 60 labels.",
    ),
    "not shown": (
        part("not shown", "AUC 0.550 [0.400, 0.690]", area(0.55, 0.4, 0.69), 30),
        JUDGED,
        f"Not shown for faithfulness: that the judge is better than chance. {ROWS_AS_PEOPLE.capitalize()} 55 % "
        "[40, 69] of pairs, by 30 labels.",
    ),
    "all scores equal": (
        part("not shown", "all scores are equal", area(0.5, 0.35, 0.65)),
        TOY,
        "Not shown for faithfulness: that the toy judge is better than chance. All scores are equal.",
    ),
    "too few labels": (
        part("too few labels", "12 labels, 20 are needed, 5 of them of the rarer class", labels=12),
        JUDGED,
        "Too few labels for faithfulness: 12 labels, 20 are needed, 5 of them of the rarer class.",
    ),
    "nobody knows how rows were chosen": (
        part("useful", "AUC 0.910 [0.840, 0.960]", area(0.91, 0.84, 0.96), chosen="unknown"),
        JUDGED,
        f"The judge is useful for faithfulness: {ROWS_AS_PEOPLE} 91 % [84, 96] of pairs, by 60 labels (nobody knows "
        "how these rows were chosen).",
    ),
    "figures at another level than the verdict": (
        part("better than chance, quality not settled", "AUC 0.800 [0.660, 0.880]",
             area(0.8, 0.71, 0.85, 0.8)),
        JUDGED,
        "The judge is better than chance for faithfulness, quality not settled: AUC 0.800 [0.660, 0.880], "
        "by 60 labels.",
    ),
    "grades": (
        part("useful", "concordance 0.880 [0.800, 0.930]",
             graded={"concordance": area(0.88, 0.8, 0.93)}),
        JUDGED,
        "The judge is useful for faithfulness: it ranks the better one of two rows with different labels higher in "
        "88 % [80, 93] of pairs, by 60 labels.",
    ),
    "labels of statements": (
        part("useful", "statements: AUC 0.910 [0.840, 0.960]",
             statements={"labels": 210, "rows": 40, "binary": {"auc": area(0.91, 0.84, 0.96)}}),
        JUDGED,
        "The judge is useful for faithfulness: it ranks a statement that people accept above one that they reject in "
        "91 % [84, 96] of pairs, by 210 labels of statements in 40 rows.",
    ),
}  # fmt: skip


def conclusion(parts: dict[str, Any], config: Any = JUDGED, rows: int = 500) -> Any:
    return certify_conclusion({"rows": rows, "metrics": parts}, config, FOLDER)


@pytest.mark.parametrize("case", CASES)
def test_the_sentence_is_the_one_that_a_statistician_would_sign(case: str) -> None:
    figures, config, expected = CASES[case]
    assert conclusion({"faithfulness": figures}, config).sentences == [expected]


@pytest.mark.parametrize(
    ("word", "labels", "blank", "expected"),
    [
        ("too few labels", 15, 15, "Fill in the 15 rows that are blank, then give the same command."),
        ("not shown", 45, 5, "Fill in the 5 rows that are blank, then give the same command."),
        ("too few labels", 19, 1, "Fill in the row that is blank, then give the same command."),
        ("not shown", 46, 4, None),  # people were not sure of them
        ("useful", 30, 15, None),
    ],
)
def test_drawn_rows_that_are_blank_are_filled_in_before_others_are_drawn(
    word: str, labels: int, blank: int, expected: str | None
) -> None:
    figures = part(word, "AUC 0.550 [0.400, 0.690]", area(0.55, 0.4, 0.69), labels, blank=blank)
    said = conclusion({"faithfulness": {**figures, "labels": labels}})
    assert said.sentences[1:] == ([] if expected is None else [expected])
    assert bool(said.next) == (expected is None)


@pytest.mark.parametrize(
    ("word", "labels", "rows", "expected"),
    [
        ("useful", 60, 500, "rag-evaluator compare BASELINE results/demo"),
        ("not shown", 60, 500, "rag-evaluator certify sheet results/demo --size 120 --out to_label_120.xlsx"),
        ("too few labels", 12, 500, "rag-evaluator certify sheet results/demo --size 100 --out to_label_100.xlsx"),
        ("not shown", 60, 80, "rag-evaluator certify sheet results/demo --size 80 --out to_label_80.xlsx"),
        ("too few labels", 12, 15, "rag-evaluator view results/demo"),  # a sheet needs 20 rows
        ("not shown", 60, 60, "rag-evaluator view results/demo"),  # all rows have a label
        ("weak", 300, 500, "rag-evaluator view results/demo"),  # more labels do not make it useful
        ("worse than chance", 60, 500, "rag-evaluator view results/demo"),
    ],
)
def test_the_next_command_is_more_labels_only_where_they_may_settle_it(
    word: str, labels: int, rows: int, expected: str
) -> None:
    figures = part(word, "AUC 0.550 [0.400, 0.690]", area(0.55, 0.4, 0.69), labels)
    assert conclusion({"faithfulness": figures}, rows=rows).next == expected
