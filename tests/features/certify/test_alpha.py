"""Krippendorff's alpha: the published example, and small tables by hand."""

import math
from pathlib import Path
from typing import Any

import pytest
from labelled_runs import scored_run

from rag_evaluator import certify

NAN = math.nan
# Krippendorff 2011, "Computing Krippendorff's alpha-reliability", part C: four observers, twelve units, missing values
PUBLISHED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]
MORE = 20  # rows that one annotator alone has labelled, so that there are enough labels: they do not count in alpha


def alpha_of(folder: Path, ratings: list[list[float]], high: int = 1) -> dict[str, Any]:
    """The alpha of labels from 0, or from 1 where they are grades, by one column for each annotator."""
    names = [f"m.{place}" for place in range(len(ratings))]
    rows = [[("" if math.isnan(value) else value) for value in row] for row in zip(*ratings, strict=True)]
    rows += [[1 + place % high if high > 1 else place % 2, *[""] * (len(ratings) - 1)] for place in range(MORE)]
    scale = (0, 1) if high == 1 else (1, high)
    run = scored_run(folder, [scale[place % 2] for place in range(len(rows))], [None] * len(rows), scale=scale)
    lines = [["row", *names], *([number, *row] for number, row in enumerate(rows))]
    (folder / "l.csv").write_text("\n".join(",".join(map(str, line)) for line in lines))
    grades = [f"m=1..{high}"] if high > 1 else []
    found: dict[str, Any] = certify(run, folder / "l.csv", scale=grades).certificate["metrics"]["m"]["annotator_alpha"]
    return found


def test_the_published_example_has_the_published_alpha(tmp_path: Path) -> None:
    result = alpha_of(tmp_path / "a", PUBLISHED, high=5)
    assert result == {
        "level": "ordinal",
        "alpha": pytest.approx(0.815, abs=5e-4),
        "units": 11,
        "ratings": 40,
        "reason": None,
    }  # unit 12 has one rating
    squares = [[value**2 for value in row] for row in PUBLISHED]
    assert alpha_of(tmp_path / "b", squares, high=25) == result  # only the order of grades counts


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [([[1, NAN], [NAN, 0]], "no row has two ratings"), ([[1, 1], [1, 1]], "all ratings are equal")],
)
def test_where_alpha_is_not_defined_a_reason_says_so(tmp_path: Path, ratings: list[list[float]], reason: str) -> None:
    result = alpha_of(tmp_path / "run", ratings)
    assert (result["alpha"], result["reason"]) == (None, reason)
