"""The simulation computes what runs compute, and its page has every cell."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.intervals import PARTS, Cell, Part, units_of
from rag_evaluator.statistics import difference_interval, mean_interval

PAGE = Path(__file__).parent.parent.parent / "benchmarks" / "intervals.md"
CELLS = [pytest.param(part, cell, id=f"{part.title}: {cell.name}") for part in PARTS for cell in part.cells]


@pytest.mark.parametrize(("part", "cell"), CELLS)
def test_many_data_sets_at_once_have_the_intervals_of_each_alone(part: Part, cell: Cell) -> None:
    rng = np.random.default_rng(0)
    weights = part.weights(rng, (20, 10))
    values = cell.draw(rng, weights)
    bounds = part.bounds(units_of(part, weights, values), part.scale, 0.95)
    function = mean_interval if part.bounds.__name__ == "mean_bounds" else difference_interval
    for low, high, scores, masses in zip(bounds.low, bounds.high, values, weights, strict=True):
        if values.ndim > weights.ndim:
            rows = scores.ravel()
            labels = np.repeat(np.arange(10), scores.shape[-1])
            shares = None
        else:
            alone = function(scores, part.scale, weights=masses)
            assert (alone.ci_low, alone.ci_high) == pytest.approx((low, high), abs=1e-9)
            rows = np.repeat(scores, 3)
            labels = np.repeat(np.arange(10), 3)
            shares = np.repeat(masses, 3)
        clustered = function(rows, part.scale, clusters=list(labels), weights=shares)
        assert (clustered.ci_low, clustered.ci_high) == pytest.approx((low, high), abs=1e-9)
