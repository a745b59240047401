"""Krippendorff's alpha: the published example, and small tables by hand."""

import numpy as np
import pytest

from rag_evaluator.features.certify.krippendorff import krippendorff_alpha

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


def test_the_published_example_has_the_published_alpha() -> None:
    result = krippendorff_alpha(PUBLISHED)
    assert result == {
        "alpha": pytest.approx(0.815, abs=5e-4),
        "units": 11,
        "ratings": 40,
        "reason": None,
    }  # unit 12 has one rating
    assert krippendorff_alpha(np.array(PUBLISHED) ** 2) == result  # only the order of grades counts


@pytest.mark.parametrize(
    ("ratings", "expected"),
    [
        # 4 of 10 units differ; of the 20 ratings 14 are 0 and 6 are 1: the nominal alpha, 1 - 19 * 4 / (14 * 6)
        (BINARY, 1 - 19 * 4 / 84),
        # rows (1, 1), (2, 3), mean ranks 1.5, 1.5, 3, 4: squared differences 2 * 1.5^2 + 2 * 2.5^2 + 1 = 18; in rows 1
        ([[1, 2], [1, 3]], 1 - 3 * 1 / 18),
    ],
)
def test_small_tables_by_hand(ratings: list[list[float]], expected: float) -> None:
    assert krippendorff_alpha(ratings)["alpha"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1, NAN], [NAN, 2]], "no row has two ratings"),
        ([[], []], "no row has two ratings"),
        ([[1, 1], [1, 1]], "all ratings are equal"),
    ],
)
def test_where_alpha_is_not_defined_a_reason_says_so(ratings: list[list[float]], reason: str) -> None:
    result = krippendorff_alpha(ratings)
    assert (result["alpha"], result["reason"]) == (None, reason)
