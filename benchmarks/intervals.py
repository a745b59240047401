"""`python -m benchmarks.intervals`: coverage and width of intervals by simulation; writes benchmarks/intervals.md.

Each cell draws data sets whose true mean is known, computes their intervals by the formulas of
`rag_evaluator.statistics`, and counts how many contain the true mean. The same is done for Student's t.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from rag_evaluator import METRICS
from rag_evaluator.statistics import TIE, Array, Scale
from rag_evaluator.statistics.formulas import Bounds, Units, difference_bounds, mean_bounds, mean_points

PAGE = Path("benchmarks/intervals.md")
NUMBERS = (10, 30, 100, 1000)
FEW = (10, 20, 30, 50, 100)
LEVEL = 0.95
SEED = 0
ICC = 0.3
BATCH = 500_000  # scores in memory at once
JUDGED = Scale()
CONTINUOUS = Scale(kind="continuous")
RELEVANCY = METRICS["answer_relevancy"].scale
ROUGE = METRICS["rouge_score"].scale

COLUMNS = (
    *("scores", "n", "coverage", "width", "coverage of t", "width of t", "width ratio"),
    *("excludes 0", "t excludes 0", "limits kept"),
)
HEADER = """# Intervals

Written by `python -m benchmarks.intervals`: coverage (the share of intervals that contain the true mean) and mean width
of 95 % intervals over {repetitions:,} simulated data sets a cell, seed {seed}, numpy {numpy}. The formulas are those
that runs use (`statistics/formulas.py`). "t" is Student's t cut to the range; for clusters and weights it has
their usual robust variance and n - 1 degrees of freedom. n is the number of rows; for clusters it is the number of
clusters, and two rows of one cluster have a correlation (ICC) of {icc}.

Limits, each a number: coverage at least 0.93 (0.92 with n = 10), but with weights of 10 and 1, which have no limits.
Width at most 1.4 times that of t for judged scores where t covers 0.94 and n is at least 100; at most 1.1 times for
continuous scores without atoms; at most 1.3 times from n = 20 for judged scores that are rarely at an end. Named
exceptions: narrow judged scores, width 1.9 with n = 20 and 30; answer_correctness of which 3 to 10 % have F1 = 0,
coverage 0.89. Differences of scores with statements, and of -1 in 10 % and +1/9 else: coverage at least 0.95 and, for a
gain of 0.1 with 15 statements, an interval that excludes 0 in at least 0.39 of the data sets with n = 20 and 0.82 with
n = 30. "excludes 0" is the share of intervals of
differences that do. A coverage of 0.95 has a simulation error of {error:.3f}.
"""
NOT_REACHED = """
Coverage below 0.93 (0.92 with n = 10), whether or not there is a limit:

{low}
Scores of answer_correctness that are narrow but for some with F1 = 0: no row is exactly at an end, so that the
pseudo-rows have their least weight, and many data sets of 20 or 30 rows hold none or one of the rare
scores. Student's t covers less.

Differences of -1 in 10 % of the rows and +1/9 in the others have the mean 0: with 100 rows the pseudo-pairs, of which
the weight follows the most common difference, add little to Student's t, which covers as often.

Weights that differ by a factor of ten: 30 rows say as much as about 12 rows of equal weight, and t is made for
scores that are less skewed than these. A continuous metric without atoms whose scores pile up at a value all the
same is covered as t covers it: of a metric of your own that is often exactly 0 or 1, say that it is judged.
"""

Draw = Callable[[np.random.Generator, Array], Array]


class Cell(NamedTuple):
    """Data sets of one kind.

    Attributes:
        name: how the scores are drawn.
        truth: their true mean.
        draw: scores, one for each weight; of clusters, whose weights are their numbers of rows, those of the rows on
            one more axis, NaN where a cluster has no more rows.
        limits: what differs from the limits of the part.
    """

    name: str
    truth: float
    draw: Draw
    limits: "Limits | None" = None


@dataclass(frozen=True, eq=False)
class Limits:
    """What a cell must keep.

    Attributes:
        coverage: n -> least coverage, for this n and those above it.
        width: n -> greatest ratio to the width of t, likewise.
        power: n -> least share of intervals that exclude 0, for this n only.
        is_near: whether width has its limit only where t covers 0.94.
    """

    coverage: Mapping[int, float] = field(default_factory=lambda: {10: 0.92, 20: 0.93})
    width: Mapping[int, float] = field(default_factory=dict)
    power: Mapping[int, float] = field(default_factory=dict)
    is_near: bool = False


AS_T = Limits(width={10: 1.1})
COVERED = Limits()
PILED = Limits(width={100: 1.4}, is_near=True)
RARELY = Limits(width={20: 1.3})
NARROW = Limits(width={20: 1.9, 50: 1.3})
NO_F1 = Limits(coverage={20: 0.89}, width={20: 1.3})
STATEMENTS = Limits(coverage={20: 0.95})
RARE_FALLS = Limits(coverage={10: 0.95})
GAIN = Limits(coverage={20: 0.95}, power={20: 0.39, 30: 0.82})


class Part(NamedTuple):
    """Cells of one table.

    Attributes:
        title: of the table.
        scale, bounds: kind of the scores, and the formula.
        weights: weights of the units, (repetitions, n); of clusters their numbers of rows.
        cells: rows of the table.
        limits: of all cells that have none of their own; None: there are none.
        numbers: of units.
    """

    title: str
    scale: Scale
    bounds: Callable[[Units, Scale, float], Bounds]
    weights: Callable[[np.random.Generator, tuple[int, int]], Array]
    cells: tuple[Cell, ...]
    limits: Limits | None = PILED
    numbers: tuple[int, ...] = NUMBERS


class Figures(NamedTuple):
    """Share of intervals that contain the true mean, mean width, share that exclude 0; the same of Student's t."""

    coverage: float
    width: float
    power: float
    t_coverage: float
    t_width: float
    t_power: float


def bernoulli(share: float) -> Cell:
    return Cell(f"Bernoulli {share}", share, lambda rng, weights: (rng.random(weights.shape) < share).astype(float))


def among(name: str, values: tuple[float, ...], shares: tuple[float, ...], limits: Limits | None = None) -> Cell:
    """Few values with given shares."""
    cuts = np.cumsum(shares)[:-1]
    array = np.array(values)
    truth = float(np.dot(values, shares))
    draw: Draw = lambda rng, w: array[np.searchsorted(cuts, rng.random(w.shape), side="right")]  # noqa: E731
    return Cell(name, truth, draw, limits)


def beta(a: float, b: float) -> Cell:
    return Cell(f"Beta({a:g}, {b:g})", a / (a + b), lambda rng, weights: rng.beta(a, b, weights.shape))


def normal(mean: float, deviation: float, limits: Limits | None = None) -> Cell:
    draw: Draw = lambda rng, weights: rng.normal(mean, deviation, weights.shape)  # noqa: E731
    return Cell(f"normal({mean}, {deviation})", mean, draw, limits)


def sometimes(name: str, share: float, value: float, other: Cell) -> Cell:
    """A value with a share, else what another cell draws."""
    truth = share * value + (1 - share) * other.truth
    return Cell(name, truth, lambda rng, w: np.where(rng.random(w.shape) < share, value, other.draw(rng, w)))


def statements(count: int, share: float, icc: float = 0.0, limits: Limits | None = None) -> Cell:
    """Shares of statements that are supported; with `icc` the probability differs between rows."""

    def draw(rng: np.random.Generator, weights: Array) -> Array:
        own = rng.beta(share * (1 / icc - 1), (1 - share) * (1 / icc - 1), weights.shape) if icc else share
        return rng.binomial(count, own, weights.shape) / count

    return Cell(f"{count} statements, {share:g} supported" + f", ICC {icc:g}" * bool(icc), share, draw, limits)


def correctness(share: float, limits: Limits | None = None) -> Cell:
    """Three quarters F1 and one quarter cosine, F1 being 0 in a share of the rows."""

    def draw(rng: np.random.Generator, weights: Array) -> Array:
        f1 = np.where(rng.random(weights.shape) < share, 0.0, rng.beta(16, 4, weights.shape))
        return 0.75 * f1 + 0.25 * rng.normal(0.85, 0.05, weights.shape)

    truth = 0.75 * (1 - share) * 0.8 + 0.25 * 0.85
    return Cell(f"answer_correctness, F1 = 0 in {share:.0%}", truth, draw, limits)


def atoms(zeros: float, ones: float, other: Cell) -> Cell:
    """Exact zeros and ones with their shares, else what another cell draws."""

    def draw(rng: np.random.Generator, weights: Array) -> Array:
        chance = rng.random(weights.shape)
        return np.where(chance < zeros, 0.0, np.where(chance > 1 - ones, 1.0, other.draw(rng, weights)))

    name = f"{zeros:.0%} zeros, {ones:.0%} ones, else {other.name}" if ones else f"{zeros:.0%} zeros, else {other.name}"
    return Cell(name, ones + (1 - zeros - ones) * other.truth, draw)


def members(rows: Array) -> Array:
    """1 for each row of a cluster, NaN for what it has less than the largest may have. *Shape:* (..., clusters, 9)."""
    return np.where(np.arange(9) < rows[..., None], 1.0, np.nan)


def clustered_bernoulli(share: float) -> Cell:
    """Each cluster has a share of its own, from the Beta distribution that makes the correlation of two rows ICC."""
    a = share * (1 / ICC - 1)
    b = (1 - share) * (1 / ICC - 1)

    def draw(rng: np.random.Generator, rows: Array) -> Array:
        there = members(rows)
        return there * (rng.random(there.shape) < rng.beta(a, b, rows.shape)[..., None])

    return Cell(f"Bernoulli {share}", share, draw)


def clustered_normal(mean: float, deviation: float) -> Cell:
    def draw(rng: np.random.Generator, rows: Array) -> Array:
        there = members(rows)
        own = np.sqrt(ICC) * rng.standard_normal(rows.shape)[..., None]
        return there * (mean + deviation * (own + np.sqrt(1 - ICC) * rng.standard_normal(there.shape)))

    return Cell(f"normal({mean}, {deviation})", mean, draw)


def clustered_atoms(zeros: float, other: Cell) -> Cell:
    """Zeros that rows of a cluster share as in `clustered_bernoulli`, else what another cell of clusters draws."""
    zero = clustered_bernoulli(zeros)
    draw: Draw = lambda rng, rows: np.where(zero.draw(rng, rows) == 1, 0.0, other.draw(rng, rows))  # noqa: E731
    return Cell(f"{zeros:.0%} zeros, else {other.name}", (1 - zeros) * other.truth, draw)


def difference(name: str, first: Cell, second: Cell, limits: Limits | None = None) -> Cell:
    """Scores of two systems that do not depend on each other."""
    return Cell(name, first.truth - second.truth, lambda rng, w: first.draw(rng, w) - second.draw(rng, w), limits)


def ones(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return np.ones(shape)


def one_to_nine(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.integers(1, 10, shape).astype(float)


def ten_times(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """A fifth of the rows weighs ten times as much as the others."""
    return np.where(rng.random(shape) < 0.2, 10.0, 1.0)


ZEROS = (0.0, 0.03, 0.05, 0.1, 0.3)
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
    ), AS_T),
    Part("Means of answer_relevancy", RELEVANCY, mean_bounds, ones, tuple(
        atoms(zeros, 0.0, other) for other in (beta(90, 10), normal(0.7, 0.1)) for zeros in ZEROS
    ), COVERED, FEW),
    Part("Means of string metrics", ROUGE, mean_bounds, ones, tuple(
        atoms(zeros, ones_, other)
        for other in (beta(2, 5), beta(30, 70))
        for zeros, ones_ in ((0.0, 0.0), (0.03, 0.0), (0.05, 0.05), (0.1, 0.1), (0.3, 0.1), (0.0, 0.9))
    ), COVERED, FEW),
    Part("Means of judged scores that are rarely at an end", JUDGED, mean_bounds, ones, (
        statements(15, 0.8),
        statements(15, 0.9),
        statements(15, 0.8, 0.2),
        statements(30, 0.8),
        statements(30, 0.9),
        among("rubric, half 3 and half 4", (0.5, 0.75), (0.5, 0.5)),
        normal(0.85, 0.05, NARROW),
        normal(0.85, 0.025, NARROW),
        correctness(0.0),
        *(correctness(share, NO_F1) for share in (0.03, 0.05, 0.1)),
    ), RARELY, FEW),
    Part("Means of judged scores that are mostly one value", JUDGED, mean_bounds, ones, (
        among("rubric, 95 % 3 and 5 % 4", (0.5, 0.75), (0.95, 0.05)),
        among("rubric, 95 % 3 and 5 % 5", (0.5, 1.0), (0.95, 0.05)),
        among("rubric, 90 % 3, 5 % 2, 5 % 1", (0.0, 0.25, 0.5), (0.05, 0.05, 0.9)),
    ), COVERED, FEW),
    Part("Differences of judged scores", JUDGED, difference_bounds, ones, (
        difference("independent: Bernoulli 0.8 minus Bernoulli 0.7", bernoulli(0.8), bernoulli(0.7)),
        among("mostly ties: 2 % of -1, 3 % of +1", CHANGES, (0.02, 0.95, 0.03)),
        among("rare changes: 0.5 % of -1, 1.5 % of +1", CHANGES, (0.005, 0.98, 0.015)),
    )),
    Part("Differences of continuous scores", CONTINUOUS, difference_bounds, ones, (
        normal(0.02, 0.15),
        normal(0.01, 0.05),
    ), AS_T),
    Part("Differences of scores with statements", JUDGED, difference_bounds, ones, (
        difference("15 statements, 0.9 minus 0.8", statements(15, 0.9), statements(15, 0.8), GAIN),
        difference("15 statements, 0.8 minus 0.8", statements(15, 0.8), statements(15, 0.8)),
        difference("30 statements, 0.8 minus 0.8", statements(30, 0.8), statements(30, 0.8)),
        among("difference: -1 in 10 %, else +1/9", (-1.0, 1 / 9), (0.1, 0.9), RARE_FALLS),
    ), STATEMENTS, FEW),
    Part("Differences of answer_relevancy", RELEVANCY, difference_bounds, ones, (
        sometimes("3 % fall by 0.9, else normal(0, 0.005)", 0.03, -0.9, normal(0, 0.005)),
        sometimes("5 % of +1, else normal(0, 0.05)", 0.05, 1.0, normal(0, 0.05)),
        normal(0.01, 0.05),
    ), COVERED, FEW),
    Part("Clusters of 1 to 9 rows: means of judged scores", JUDGED, mean_bounds, one_to_nine, (
        clustered_bernoulli(0.5),
        clustered_bernoulli(0.9),
        clustered_bernoulli(0.98),
    )),
    Part("Clusters of 1 to 9 rows: means of continuous scores", CONTINUOUS, mean_bounds, one_to_nine, (
        clustered_normal(0.5, 0.1),
    ), AS_T),
    Part("Clusters of 1 to 9 rows: means of answer_relevancy", RELEVANCY, mean_bounds, one_to_nine, tuple(
        clustered_atoms(zeros, other)
        for other in (clustered_normal(0.9, 0.03), clustered_normal(0.7, 0.1))
        for zeros in (0.03, 0.1, 0.3)
    ), COVERED, (10, 20, 30, 100)),
    Part("Clusters of 1 to 9 rows: differences of judged scores", JUDGED, difference_bounds, one_to_nine, (
        difference("Bernoulli 0.8 minus Bernoulli 0.7", clustered_bernoulli(0.8), clustered_bernoulli(0.7)),
    )),
    Part("Clusters of 1 to 9 rows: differences of continuous scores", CONTINUOUS, difference_bounds, one_to_nine, (
        clustered_normal(0.02, 0.15),
    ), AS_T),
    Part("Weights 10 (20 % of rows) and 1: means of judged scores", JUDGED, mean_bounds, ten_times, (
        bernoulli(0.5),
        bernoulli(0.9),
        bernoulli(0.98),
    ), None),
    Part("Weights 10 (20 % of rows) and 1: means of continuous scores", CONTINUOUS, mean_bounds, ten_times, (
        beta(2, 5),
    ), None),
    Part("Weights 10 (20 % of rows) and 1: means of answer_relevancy", RELEVANCY, mean_bounds, ten_times, tuple(
        atoms(zeros, 0.0, normal(0.7, 0.1)) for zeros in (0.03, 0.1, 0.3)
    ), None),
)  # fmt: skip


def simulate(part: Part, cell: Cell, n: int, repetitions: int) -> Figures:
    """Coverage, width and power, from a generator that depends on the cell and n only."""
    place = PARTS.index(part), part.cells.index(cell), n
    rng = np.random.default_rng((SEED, *place))
    sums = np.zeros((2, 3))
    for size in _batches(repetitions, n):
        weights = part.weights(rng, (size, n))
        units = units_of(part, weights, cell.draw(rng, weights))
        for which, (low, high) in enumerate((part.bounds(units, part.scale, LEVEL)[:2], student_t(units, part))):
            hit = (low <= cell.truth + 1e-12) & (cell.truth - 1e-12 <= high)
            sums[which] += np.sum(hit), np.sum(high - low), np.sum((low > 0) | (high < 0))
    return Figures(*(sums.ravel() / repetitions))


def units_of(part: Part, weights: Array, scores: Array) -> Units:
    """What runs make of rows, or of clusters with their rows on the last axis."""
    ends = (part.scale.low, part.scale.high) if part.bounds is mean_bounds else (-part.scale.width, part.scale.width)
    rows = np.clip(scores if scores.ndim > weights.ndim else scores[..., None], *ends)
    points = np.array(mean_points(part.scale) if part.bounds is mean_bounds else (0.0,))
    near = np.abs(rows[..., None, :, :] - points[:, None, None]) <= TIE
    count = np.sum(~np.isnan(rows), axis=-1)
    return Units(
        weights / weights.sum(axis=-1, keepdims=True),
        np.nansum(rows, axis=-1) / count,
        near.sum(axis=-1) / count[..., None, :],
    )


def student_t(units: Units, part: Part) -> tuple[Array, Array]:
    """The usual t interval, cut to the range; of clusters with the variance of Liang and Zeger times n/(n-1)."""
    shares = units.shares
    values = units.values
    n = values.shape[-1]
    scale = part.scale
    mean = np.sum(shares * values, axis=-1)
    variance = n / (n - 1) * np.sum((shares * (values - mean[..., None])) ** 2, axis=-1)
    half = stats.t.ppf((1 + LEVEL) / 2, n - 1) * np.sqrt(variance)
    ends = (scale.low, scale.high) if part.bounds is mean_bounds else (-scale.width, scale.width)
    return np.maximum(mean - half, ends[0]), np.minimum(mean + half, ends[1])


def faults(part: Part, cell: Cell, n: int, figures: Figures) -> list[str]:
    """Limits that are not kept."""
    limits = cell.limits or part.limits
    if limits is None:
        return []
    least = _at(limits.coverage, n)
    most = _at(limits.width, n)
    power = limits.power.get(n, 0.0)
    has_width = most is not None and (not limits.is_near or figures.t_coverage >= 0.94)
    return [
        *([f"FAIL: coverage below {least}"] if least is not None and figures.coverage < least else []),
        *([f"FAIL: width above {most} times t"] if has_width and figures.width > (most or 0) * figures.t_width else []),
        *([f"FAIL: power below {power}"] if figures.power < power else []),
    ]


def _at(limits: Mapping[int, float], n: int) -> float | None:
    """The limit of the largest number of units that is not above n."""
    return limits[max(number for number in limits if number <= n)] if any(number <= n for number in limits) else None


def render(results: dict[tuple[Part, Cell, int], Figures], repetitions: int) -> str:
    """The page, every cell in it."""
    text = HEADER.format(
        repetitions=repetitions, seed=SEED, numpy=np.__version__, icc=ICC, error=(0.95 * 0.05 / repetitions) ** 0.5
    )
    for part in PARTS:
        text += f"\n## {part.title}\n\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"
        for (which, cell, n), figures in results.items():
            text += _line(part, cell, n, figures) if which is part else ""
    missed = [key for key, figures in results.items() if faults(*key, figures)]
    text += f"\n## What is not reached\n\nLimits not kept: {len(missed)} of {len(results)} cells.\n"
    low = [
        f"- {part.title}: {cell.name}, n = {n}: {figures.coverage:.3f}, Student's t {figures.t_coverage:.3f}\n"
        for (part, cell, n), figures in results.items()
        if figures.coverage < (0.92 if n == 10 else 0.93)
    ]
    return text + NOT_REACHED.format(low="".join(low))


def _line(part: Part, cell: Cell, n: int, figures: Figures) -> str:
    kept = "" if (cell.limits or part.limits) is None else "; ".join(faults(part, cell, n, figures)) or "yes"
    numbers = f"{figures.coverage:.3f} | {figures.width:.4f} | {figures.t_coverage:.3f} | {figures.t_width:.4f}"
    power = f"{figures.power:.3f} | {figures.t_power:.3f}" if part.bounds is difference_bounds else " | "
    return f"| {cell.name} | {n} | {numbers} | {figures.width / figures.t_width:.2f} | {power} | {kept} |\n"


def main() -> None:
    """Simulate every cell and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.intervals", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=4_000, help="data sets a cell (default 4,000)")
    options = parser.parse_args()
    results: dict[tuple[Part, Cell, int], Figures] = {}
    for part in PARTS:
        for cell in part.cells:
            for n in part.numbers:
                results[part, cell, n] = simulate(part, cell, n, options.repetitions)
                print(part.title, _line(part, cell, n, results[part, cell, n]), end="")
    PAGE.write_text(render(results, options.repetitions), encoding="utf-8")
    if failed := sum(bool(faults(*key, figures)) for key, figures in results.items()):
        raise SystemExit(f"FAIL: {failed} of {len(results)} cells do not keep their limits")


def _batches(repetitions: int, n: int) -> Iterator[int]:
    most = max(BATCH // n, 1)
    while repetitions > 0:
        yield min(most, repetitions)
        repetitions -= most


if __name__ == "__main__":
    main()
