"""The distributions of scores as a report counts them, worked out by hand."""

import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs

import numpy as np
import pytest
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st
from report.made_files import NONE, made_run

from rag_evaluator.report import figures_html
from rag_evaluator.results import Run
from rag_evaluator.statistics import Scale

COSINE = Scale(-1.0, 1.0, "continuous")


class Bar(NamedTuple):
    """What the table of a distribution says of scores, and which scores its link chooses."""

    scores: str
    count: int
    low: float
    high: float


@pytest.fixture(scope="module", autouse=True)
def _without_charts() -> Iterator[None]:
    """The tables have the figures of the charts, which take a second in each process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "vl_convert", None)
        yield


def bars(values: Sequence[float], scale: Scale) -> list[Bar]:
    with tempfile.TemporaryDirectory() as folder:
        page = BeautifulSoup(
            figures_html(Run(made_run(Path(folder) / "run", {"m": values}, {"m": scale}))), "html.parser"
        )
    links = page.select("td a[href*=min], th a[href*=min]")
    queries = [parse_qs(str(link["href"]).removeprefix("#")) for link in links]
    counts = [int(link.find_parent("tr").select("td.number")[-1].get_text()) for link in links]  # type: ignore[union-attr]
    return [
        Bar(link.get_text(), count, float(query["min"][0]), float(query["max"][0]))
        for link, count, query in zip(links, counts, queries, strict=True)
    ]


@pytest.mark.parametrize(
    ("values", "scale", "expected"),
    [
        ([0, 1, 1, 0, 1], Scale(), {"0": 2, "1": 3}),
        ([1, 5, 5, 3], Scale(1.0, 5.0), {"1": 1, "3": 1, "5": 2}),
        ([0.9999999999, 1.0, 0.5], Scale(), {"0.5": 1, "1": 2}),  # ragas adds 1e-10 somewhere
        ([-0.5, 0.5], COSINE, {"-0.5": 1, "0.5": 1}),
        ([NONE, 1.0], Scale(), {"1": 1}),
        ([NONE, NONE], Scale(), {}),
    ],
)
def test_scores_of_few_values_have_a_bar_for_each_value(
    values: list[float], scale: Scale, expected: dict[str, int]
) -> None:
    assert {bar.scores: bar.count for bar in bars(values, scale)} == expected


def test_continuous_scores_have_bars_of_one_width_over_the_range() -> None:
    made = bars(np.linspace(0.005, 0.995, 100).tolist(), Scale())
    assert [bar.count for bar in made] == [5] * 20
    assert [bar.scores for bar in made] == [f"{place / 20:.2f} – {(place + 1) / 20:.2f}" for place in range(20)]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.floats(-1, 1, width=16), st.just(NONE), st.sampled_from([0.0, 0.3, 0.1 + 0.2, 1.0000000000000002])
        ),
        min_size=1,
    ),
    st.sampled_from([Scale(-1.0, 1.0), COSINE]),
)
def test_each_score_lies_in_the_one_bin_that_counts_it(values: list[float], scale: Scale) -> None:
    made = bars(values, scale)
    seen = [value for value in values if not math.isnan(value)]
    assert sum(bar.count for bar in made) == len(seen)
    for bar in made:
        assert sum(bar.low <= value <= bar.high for value in seen) == bar.count  # what a click shows
