"""Krippendorff's alpha: the published example, and small tables by hand."""

import numpy as np
import pytest

from rag_evaluator.features.certify import Measure, krippendorff_alpha

NAN = float("nan")
# Krippendorff 2011, "Computing Krippendorff's alpha-reliability", part C: four observers, twelve units, missing values
PUBLISHED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]
# the same paper, part B: two observers, ten units, without missing values; alpha = 0.095
BINARY = [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]


@pytest.mark.parametrize(("measure", "expected"), [("nominal", 0.743), ("ordinal", 0.815)])
def test_the_published_example_has_the_published_alpha(measure: Measure, expected: float) -> None:
    result = krippendorff_alpha(PUBLISHED, measure)
    assert result.alpha == pytest.approx(expected, abs=5e-4)
    assert (result.units, result.ratings, result.reason) == (11, 40, None)  # unit 12 has one rating


@pytest.mark.parametrize("measure", ["nominal", "ordinal"])
def test_two_categories_have_the_published_alpha_whatever_the_measure(measure: Measure) -> None:
    # 4 of 10 units differ; of the 20 ratings 14 are 0 and 6 are 1: 1 - 19 * 4 / (14 * 6) = 0.0952
    assert krippendorff_alpha(BINARY, measure).alpha == pytest.approx(1 - 19 * 4 / 84)


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        # rows (1, 1), (2, 3): 1 pair of 6 differs in a row; all pairs of 1, 1, 2, 3: 5 differ
        ("nominal", 1 - 3 * 1 / 5),
        # mean ranks 1.5, 1.5, 3, 4: squared differences 2 * 1.5^2 + 2 * 2.5^2 + 1 = 18; in rows 1
        ("ordinal", 1 - 3 * 1 / 18),
    ],
)
def test_a_small_table_by_hand(measure: Measure, expected: float) -> None:
    assert krippendorff_alpha([[1, 2], [1, 3]], measure).alpha == pytest.approx(expected)


def test_numbers_of_the_categories_do_not_matter() -> None:
    moved = np.array(PUBLISHED) ** 2
    for measure in ("nominal", "ordinal"):
        assert krippendorff_alpha(moved, measure).alpha == krippendorff_alpha(PUBLISHED, measure).alpha


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1, NAN], [NAN, 2]], "no row has two ratings"),
        ([[1, 2, 3]], "no row has two ratings"),
        ([[1, 1], [1, 1]], "all ratings are equal"),
        ([[], []], "no row has two ratings"),
    ],
)
def test_where_alpha_is_not_defined_a_reason_says_so(ratings: list[list[float]], reason: str) -> None:
    result = krippendorff_alpha(ratings)
    assert (result.alpha, result.reason) == (None, reason)
