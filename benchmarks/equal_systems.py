"""`python -m benchmarks.equal_systems`: how often *shown* is said of equal systems, and of others; writes a page.

Two systems are compared in 8 metrics by the rule of `compare`: `difference_p`, Holm over the 8. The formulas are those
of `rag_evaluator.statistics`.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from rag_evaluator.statistics import ALPHA, TIE, Array, Scale, holm, is_shown
from rag_evaluator.statistics.formulas import Units, difference_bounds, difference_p

PAGE = Path("benchmarks/equal_systems.md")
METRICS = 8
SEED = 0
MOST = 0.06
NUMBERS = (10, 20, 30, 50, 100, 300)
OF_POWER = (30, 100, 300)
BATCH = 200_000  # differences in memory at once
JUDGED = Scale()
CONTINUOUS = Scale(kind="continuous")
ATOM = Scale(kind="continuous", atoms=(0.0,))
Draw = Callable[[np.random.Generator, tuple[int, int]], Array]  # differences of (data sets, rows)

PAGE_TEXT = """# Two equal systems

Written by `python -m benchmarks.equal_systems`: {repetitions:,} simulated comparisons a cell, seed {seed}, numpy
{numpy}. A share of 0.05 has a simulation error of {error:.3f}.

Two systems with equal true means are compared in {metrics} metrics. n is the number of rows. The first number of a
cell is the share of comparisons that say of at least one metric that it differs, in either direction, by the rule of
`compare` (Holm over the metrics). It shall be at most {most:g}; a number above that is bold. The second is the share in
which one given metric has p of at most {alpha:g}.

*A tenth falls*: a tenth of the rows has the worst difference, -1, and the others gain m = 1/9 each: exactly, with a
spread of 5 %, uniformly from 0 to 2m, or 0.25 in some and 0 in the others. *A twentieth falls*: m = 1/19.

{false}

## What the rule costs

The share of comparisons that find a true difference in one given metric: with the test of the interval alone, then with
both tests of `difference_p`. *First of 8*: p of at most {first:g}, which Holm asks of the smallest of {metrics}.

{power}

Where rows gain a little and none falls, the second test waits for so many rows that a fall would have been drawn: with
{metrics} metrics about 50 where all rows gain 0.11, about 100 where they gain 0.05.

## What was tried

1. One row at the worst difference, added to the rows and pseudo-pairs of Student's t. With weight 1 *shown* is said in
   0.11 of comparisons at n = 40 and in 0.12 at n = 80. Weight 1.4 keeps the limit, but 30 rows find a difference of
   0.15 with a spread of 0.3 in 0.15 of cases; the test of the interval alone finds it in 0.75.
2. The larger p of two tests, Student's t with the pseudo-pairs and Student's t with that row: the same power.
3. The larger p of Student's t with the pseudo-pairs and of a likelihood ratio with 0.4 of that row: 0.52 of cases. This
   one is used. With 0.3 of the row the shares come near the limit (0.055 at n = 47).
"""


def verdicts(chance: float, other: float | None = None) -> Draw:
    """Two verdicts of 0 or 1 with the same chance, or with two, given independently."""
    second = chance if other is None else other
    return lambda rng, size: (rng.random(size) < second).astype(float) - (rng.random(size) < chance)


def mostly_ties(up: float, down: float) -> Draw:
    """Both systems have the same score but in some rows, which change by 1."""
    return lambda rng, size: rng.choice([-1.0, 0.0, 1.0], p=[down, 1 - up - down, up], size=size)


def shares_of_statements(count: int, gain: float = 0.0) -> Draw:
    """Shares of a few statements that are supported; rows differ in how hard they are."""

    def draw(rng: np.random.Generator, size: tuple[int, int]) -> Array:
        hard = rng.beta(2, 1, size)
        return (rng.binomial(count, np.clip(hard + gain, 0, 1)) - rng.binomial(count, hard)) / count

    return draw


def continuous(mean: float, spread: float) -> Draw:
    """Continuous scores, as of embeddings."""
    return lambda rng, size: np.clip(rng.normal(mean, spread, size), -1, 1)


GAINS: Mapping[str, Callable[[np.random.Generator, tuple[int, int], float], Array]] = {
    "all by m": lambda rng, size, m: np.full(size, m),
    "by m ± 5 %": lambda rng, size, m: rng.uniform(0.95 * m, 1.05 * m, size),
    "by 0 to 2m": lambda rng, size, m: rng.uniform(0, 2 * m, size),
    "by 0 or 0.25": lambda rng, size, m: rng.choice([0, 0.25], p=[1 - m / 0.25, m / 0.25], size=size),
}


def falls(share: float, gains: str) -> Draw:
    """-1 in a share of the rows, and gains in the others that make the mean 0."""
    mean = share / (1 - share)
    return lambda rng, size: np.where(rng.random(size) < share, -1.0, GAINS[gains](rng, size, mean))


CELLS: Mapping[str, tuple[Draw, Scale]] = {
    "verdicts, half of them 1": (verdicts(0.5), JUDGED),
    "verdicts, nine in ten 1": (verdicts(0.9), JUDGED),
    "rare changes, 5 % of rows": (mostly_ties(0.025, 0.025), JUDGED),
    "changes in 30 % of rows": (mostly_ties(0.15, 0.15), JUDGED),
    "shares of 4 statements": (shares_of_statements(4), JUDGED),
    "narrow continuous scores": (continuous(0.0, 0.05), CONTINUOUS),
    **{
        f"a {part} falls, others gain {gains}, {kind}": (falls(share, gains), scale)
        for part, share in (("tenth", 0.1), ("twentieth", 0.05))
        for gains in GAINS
        for kind, scale in (("judged", JUDGED), ("continuous", CONTINUOUS), ("continuous with atom 0", ATOM))
    },
}
DIFFERENT: Mapping[str, tuple[Draw, Scale]] = {
    "verdicts, 0.6 against 0.8": (verdicts(0.6, 0.8), JUDGED),
    "verdicts, 0.7 against 0.8": (verdicts(0.7, 0.8), JUDGED),
    "better in 12 %, worse in 2 %": (mostly_ties(0.12, 0.02), JUDGED),
    "shares of 4 statements, each likelier by 0.1": (shares_of_statements(4, 0.1), JUDGED),
    "shares of 4 statements, each likelier by 0.15": (shares_of_statements(4, 0.15), JUDGED),
    "continuous, 0.15 with a spread of 0.3": (continuous(0.15, 0.3), CONTINUOUS),
    "continuous, 0.05 with a spread of 0.3": (continuous(0.05, 0.3), CONTINUOUS),
    "continuous, 0.05 with a spread of 0.1": (continuous(0.05, 0.1), CONTINUOUS),
}


def main() -> None:
    """Simulate all cells and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.equal_systems", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5_000)
    parser.add_argument("--out", type=Path, default=PAGE)
    options = parser.parse_args()
    text = PAGE_TEXT.format(
        repetitions=options.repetitions,
        seed=SEED,
        numpy=np.__version__,
        metrics=METRICS,
        most=MOST,
        alpha=ALPHA,
        first=ALPHA / METRICS,
        error=float(np.sqrt(0.05 * 0.95 / options.repetitions)),
        false="\n".join(false_claims(options.repetitions)),
        power="\n".join(powers(options.repetitions)),
    )
    options.out.write_text(text, "utf-8")


def false_claims(repetitions: int) -> Iterator[str]:
    """The table of equal systems."""
    yield "| differences |" + "".join(f" n = {n} |" for n in NUMBERS)
    yield "|---" * (1 + len(NUMBERS)) + "|"
    for name, (draw, scale) in CELLS.items():
        cells = [simulate(draw, scale, n, repetitions) for n in NUMBERS]
        shares = (
            f"**{shown:.3f}**, {alone:.3f}" if shown > MOST else f"{shown:.3f}, {alone:.3f}" for shown, alone in cells
        )
        yield f"| {name} | {' | '.join(shares)} |"


def powers(repetitions: int) -> Iterator[str]:
    """The table of systems that differ."""
    yield "| differences | n | alone: interval | both | first of 8: interval | both |"
    yield "|---|---|---|---|---|---|"
    for name, (draw, scale) in DIFFERENT.items():
        for n in OF_POWER:
            units = units_of(draw(np.random.default_rng([SEED, n]), (repetitions, n)))
            p = difference_p(units, scale)
            shares = list[str]()
            for limit in (ALPHA, ALPHA / METRICS):
                low, high, _ = difference_bounds(units, scale, 1 - limit)
                shares += f"{np.mean((low > 0) | (high < 0)):.2f}", f"{np.mean(p <= limit):.2f}"
            yield f"| {name} | {n} | {' | '.join(shares)} |"


def simulate(draw: Draw, scale: Scale, n: int, repetitions: int) -> tuple[float, float]:
    """The share of comparisons that show any difference, and of single metrics whose p is at most `ALPHA`."""
    rng = np.random.default_rng([SEED, n])
    size = max(1, BATCH // n)
    count = repetitions * METRICS
    parts = [difference_p(units_of(draw(rng, (min(size, count - at), n))), scale) for at in range(0, count, size)]
    by_comparison = np.concatenate(parts).reshape(repetitions, METRICS)
    shown = [any(map(is_shown, holm(row))) for row in by_comparison.tolist()]
    return float(np.mean(shown)), float(np.mean(by_comparison <= ALPHA))


def units_of(differences: Array) -> Units:
    """The rows of each data set. `differences`: (data sets, rows)."""
    at = (np.abs(differences)[:, None, :] <= TIE).astype(float)
    return Units(np.full(differences.shape, 1 / differences.shape[-1]), differences, at)


if __name__ == "__main__":
    main()
