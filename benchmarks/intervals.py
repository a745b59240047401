"""`python -m benchmarks.intervals`: coverage and width of intervals by simulation; writes benchmarks/intervals.md.

Each cell draws data sets whose true mean is known, computes their intervals by the formulas of `rag_evaluator.trust`,
and counts how many contain the true mean. The same is done for Student's t.
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from rag_evaluator.trust.formulas import Array, Bounds, difference_bounds, mean_bounds
from rag_evaluator.trust.scale import Scale

PAGE = Path("benchmarks/intervals.md")
NUMBERS = (10, 30, 100, 1000)
LEVEL, SEED, ICC = 0.95, 0, 0.3
BATCH = 500_000  # scores in memory at once
JUDGED, CONTINUOUS = Scale(), Scale(kind="continuous")

COLUMNS = ("scores", "n", "coverage", "width", "coverage of t", "width of t", "width ratio", "limits kept")
HEADER = """# Intervals

Written by `python -m benchmarks.intervals`: coverage (the share of intervals that contain the true mean) and mean width
of 95 % intervals over {repetitions:,} simulated data sets a cell, seed {seed}, numpy {numpy}. The formulas are those
that runs use (`rag_evaluator/trust/formulas.py`). "t" is Student's t cut to the range; for clusters and weights it has
their usual robust variance and n - 1 degrees of freedom. n is the number of rows; for clusters it is the number of
clusters, and two rows of one cluster have a correlation (ICC) of {icc}.

Limits: for judged scores and for clusters a coverage of at least 0.93 (0.92 with n = 10), for continuous scores at
least that of t. Width for judged scores at most 1.4 times that of t where t covers 0.94 and n is at least 100, for
continuous scores at most 1.1 times. Weights have no limits. A coverage of 0.95 has a simulation error of 0.002.
"""
NOT_REACHED = """
Coverage below 0.93 (0.92 with n = 10), whether or not there is a limit:

{low}
Continuous scores with a rare value far from the others: many small data sets do not contain that value, and look like
narrow scores without it. Only an interval that is always wide enough for such a value covers more. The pseudo-rows of
judged scores would give that, but also two to five times the width of t to narrow scores that have no such value; the
limit is 1.1. Of a metric of your own that is often exactly 0 or 1, say that it is judged.

Weights that differ by a factor of ten: 30 rows say as much as about 12 rows of equal weight, and t is made for
scores that are less skewed than these.
"""

Draw = Callable[[np.random.Generator, Array], Array]


class Cell(NamedTuple):
    """Data sets of one kind.

    Attributes:
        name: how the scores are drawn.
        truth: their true mean.
        draw: scores, one for each weight; of clusters their means, the weight being the number of rows.
    """

    name: str
    truth: float
    draw: Draw


class Part(NamedTuple):
    """Cells of one table.

    Attributes:
        title: of the table.
        scale, bounds: kind of the scores, and the formula.
        weights: weights of the units, (repetitions, n); of clusters their numbers of rows.
        cells: rows of the table.
        required: whether coverage and width have limits.
    """

    title: str
    scale: Scale
    bounds: Callable[[Array, Array, Scale, float], Bounds]
    weights: Callable[[np.random.Generator, tuple[int, int]], Array]
    cells: tuple[Cell, ...]
    required: bool = True


class Figures(NamedTuple):
    """Share of intervals that contain the true mean, and their mean width; the same of Student's t."""

    coverage: float
    width: float
    t_coverage: float
    t_width: float


def bernoulli(share: float) -> Cell:
    return Cell(f"Bernoulli {share}", share, lambda rng, weights: (rng.random(weights.shape) < share).astype(float))


def among(name: str, values: tuple[float, ...], shares: tuple[float, ...]) -> Cell:
    """Few values with given shares."""
    cuts, array = np.cumsum(shares)[:-1], np.array(values)
    truth = float(np.dot(values, shares))
    return Cell(name, truth, lambda rng, weights: array[np.searchsorted(cuts, rng.random(weights.shape), side="right")])


def beta(a: float, b: float) -> Cell:
    return Cell(f"Beta({a:g}, {b:g})", a / (a + b), lambda rng, weights: rng.beta(a, b, weights.shape))


def normal(mean: float, deviation: float) -> Cell:
    return Cell(f"normal({mean}, {deviation})", mean, lambda rng, weights: rng.normal(mean, deviation, weights.shape))


def sometimes(name: str, share: float, value: float, other: Cell) -> Cell:
    """A value with a share, else what another cell draws."""
    truth = share * value + (1 - share) * other.truth
    return Cell(name, truth, lambda rng, w: np.where(rng.random(w.shape) < share, value, other.draw(rng, w)))


def clustered_bernoulli(share: float) -> Cell:
    """Each cluster has a share of its own, from the Beta distribution that makes the correlation of two rows ICC."""
    a, b = share * (1 / ICC - 1), (1 - share) * (1 / ICC - 1)

    def draw(rng: np.random.Generator, rows: Array) -> Array:
        return rng.binomial(rows.astype(int), rng.beta(a, b, rows.shape)) / rows

    return Cell(f"Bernoulli {share}", share, draw)


def clustered_normal(mean: float, deviation: float) -> Cell:
    def draw(rng: np.random.Generator, rows: Array) -> Array:
        spread = np.sqrt(ICC + (1 - ICC) / rows)  # of a cluster's mean
        return mean + deviation * spread * rng.standard_normal(rows.shape)

    return Cell(f"normal({mean}, {deviation})", mean, draw)


def difference(name: str, first: Cell, second: Cell) -> Cell:
    """Scores of two systems that do not depend on each other."""
    return Cell(name, first.truth - second.truth, lambda rng, w: first.draw(rng, w) - second.draw(rng, w))


def ones(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return np.ones(shape)


def one_to_nine(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.integers(1, 10, shape).astype(float)


def ten_times(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """A fifth of the rows weighs ten times as much as the others."""
    return np.where(rng.random(shape) < 0.2, 10.0, 1.0)


THREE = (0.0, 0.5, 1.0)
CHANGES = (-1.0, 0.0, 1.0)
PARTS = (
    Part("Means of judged scores", JUDGED, mean_bounds, ones, (
        bernoulli(0.5),
        bernoulli(0.9),
        bernoulli(0.98),
        among("0/0.5/1 with 0.1/0.2/0.7", THREE, (0.1, 0.2, 0.7)),
        among("0/0.5/1 with 0.02/0.03/0.95", THREE, (0.02, 0.03, 0.95)),
    )),
    Part("Means of continuous scores", CONTINUOUS, mean_bounds, ones, (
        beta(2, 5),
        beta(42.5, 7.5),
        sometimes("5 % zeros, else Beta(90, 10)", 0.05, 0.0, beta(90, 10)),
    )),
    Part("Differences of judged scores", JUDGED, difference_bounds, ones, (
        difference("independent: Bernoulli 0.8 minus Bernoulli 0.7", bernoulli(0.8), bernoulli(0.7)),
        among("mostly ties: 2 % of -1, 3 % of +1", CHANGES, (0.02, 0.95, 0.03)),
        among("rare changes: 0.5 % of -1, 1.5 % of +1", CHANGES, (0.005, 0.98, 0.015)),
    )),
    Part("Differences of continuous scores", CONTINUOUS, difference_bounds, ones, (
        normal(0.02, 0.15),
        normal(0.01, 0.05),
        sometimes("5 % of +1, else normal(0, 0.05)", 0.05, 1.0, normal(0, 0.05)),
    )),
    Part("Clusters of 1 to 9 rows: means of judged scores", JUDGED, mean_bounds, one_to_nine, (
        clustered_bernoulli(0.5),
        clustered_bernoulli(0.9),
        clustered_bernoulli(0.98),
    )),
    Part("Clusters of 1 to 9 rows: means of continuous scores", CONTINUOUS, mean_bounds, one_to_nine, (
        clustered_normal(0.5, 0.1),
    )),
    Part("Clusters of 1 to 9 rows: differences of judged scores", JUDGED, difference_bounds, one_to_nine, (
        difference("Bernoulli 0.8 minus Bernoulli 0.7", clustered_bernoulli(0.8), clustered_bernoulli(0.7)),
    )),
    Part("Clusters of 1 to 9 rows: differences of continuous scores", CONTINUOUS, difference_bounds, one_to_nine, (
        clustered_normal(0.02, 0.15),
    )),
    Part("Weights 10 (20 % of rows) and 1: means of judged scores", JUDGED, mean_bounds, ten_times, (
        bernoulli(0.5),
        bernoulli(0.9),
        bernoulli(0.98),
    ), False),
    Part("Weights 10 (20 % of rows) and 1: means of continuous scores", CONTINUOUS, mean_bounds, ten_times, (
        beta(2, 5),
    ), False),
)  # fmt: skip


def simulate(part: Part, cell: Cell, n: int, repetitions: int) -> Figures:
    """Coverage and width, from a generator that depends on the cell and n only."""
    place = PARTS.index(part), part.cells.index(cell), n
    rng = np.random.default_rng((SEED, *place))
    hits, widths = np.zeros(2), np.zeros(2)
    for size in _batches(repetitions, n):
        weights = part.weights(rng, (size, n))
        shares, values = weights / weights.sum(axis=-1, keepdims=True), cell.draw(rng, weights)
        ours = part.bounds(shares, values, part.scale, LEVEL)
        for which, (low, high) in enumerate((ours[:2], student_t(shares, values, part))):
            hits[which] += np.sum((low <= cell.truth + 1e-12) & (cell.truth - 1e-12 <= high))
            widths[which] += np.sum(high - low)
    return Figures(hits[0] / repetitions, widths[0] / repetitions, hits[1] / repetitions, widths[1] / repetitions)


def student_t(shares: Array, values: Array, part: Part) -> tuple[Array, Array]:
    """The usual t interval, cut to the range; of clusters with the variance of Liang and Zeger times n/(n-1)."""
    n = values.shape[-1]
    mean = np.sum(shares * values, axis=-1)
    variance = n / (n - 1) * np.sum((shares * (values - mean[..., None])) ** 2, axis=-1)
    half = stats.t.ppf((1 + LEVEL) / 2, n - 1) * np.sqrt(variance)
    lowest, highest = (part.scale.low, part.scale.high) if part.bounds is mean_bounds else (-1.0, 1.0)
    return np.maximum(mean - half, lowest), np.minimum(mean + half, highest)


def faults(part: Part, n: int, figures: Figures) -> list[str]:
    """Limits that are not kept."""
    ratio, least = figures.width / figures.t_width, 0.92 if n == 10 else 0.93
    if part.scale.kind == "judged":
        limit = 1.4 if n >= 100 and figures.t_coverage >= 0.94 else np.inf
    else:
        limit = 1.1
        least = figures.t_coverage if part.weights is ones else least
    return ([f"coverage below {least:.3f}"] if figures.coverage < least else []) + (
        [f"width above {limit} times t"] if ratio > limit else []
    )


def render(results: dict[tuple[Part, Cell, int], Figures], repetitions: int) -> str:
    """The page, every cell in it."""
    text = HEADER.format(repetitions=repetitions, seed=SEED, numpy=np.__version__, icc=ICC)
    for part in PARTS:
        text += f"\n## {part.title}\n\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"
        for (which, cell, n), figures in results.items():
            text += _line(part, cell, n, figures) if which is part else ""
    missed = [key for key, figures in results.items() if key[0].required and faults(key[0], key[2], figures)]
    text += f"\n## What is not reached\n\nLimits not kept: {len(missed)} of {len(results)} cells.\n"
    low = [
        f"- {part.title}: {cell.name}, n = {n}: {figures.coverage:.3f}, Student's t {figures.t_coverage:.3f}\n"
        for (part, cell, n), figures in results.items()
        if figures.coverage < (0.92 if n == 10 else 0.93)
    ]
    return text + NOT_REACHED.format(low="".join(low))


def _line(part: Part, cell: Cell, n: int, figures: Figures) -> str:
    found = ("; ".join(faults(part, n, figures)) or "yes") if part.required else ""
    numbers = f"{figures.coverage:.3f} | {figures.width:.4f} | {figures.t_coverage:.3f} | {figures.t_width:.4f}"
    return f"| {cell.name} | {n} | {numbers} | {figures.width / figures.t_width:.2f} | {found} |\n"


def main() -> None:
    """Simulate every cell and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.intervals", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=10_000, help="data sets a cell (default 10,000)")
    options = parser.parse_args()
    results: dict[tuple[Part, Cell, int], Figures] = {}
    for part in PARTS:
        for cell in part.cells:
            for n in NUMBERS:
                results[part, cell, n] = simulate(part, cell, n, options.repetitions)
                print(part.title, _line(part, cell, n, results[part, cell, n]), end="")
    PAGE.write_text(render(results, options.repetitions), encoding="utf-8")


def _batches(repetitions: int, n: int) -> Iterator[int]:
    most = max(BATCH // n, 1)
    while repetitions > 0:
        yield min(most, repetitions)
        repetitions -= most


if __name__ == "__main__":
    main()
