"""`python -m benchmarks.equal_systems`: how often a comparison says *shown* of two equal systems; writes a page.

Two systems with the same true means are compared in 8 metrics, by the rule of `compare`: the p-value of the printed
interval, Holm over the 8. The formulas are those of `rag_evaluator.statistics`.
"""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from rag_evaluator.statistics.formulas import TIE, Array, Scale, Units, difference_p
from rag_evaluator.statistics.paired import holm, is_shown

PAGE = Path("benchmarks/equal_systems.md")
METRICS, LEVEL, SEED, MOST = 8, 0.95, 0, 0.06
NUMBERS = (10, 30, 100, 300)
BATCH = 200_000  # differences in memory at once
JUDGED, CONTINUOUS = Scale(), Scale(kind="continuous")
Draw = Callable[[np.random.Generator, tuple[int, int]], Array]  # differences of (data sets, rows)

HEADER = """# Two equal systems

Written by `python -m benchmarks.equal_systems`: two systems with equal true means are compared in {metrics} metrics,
{repetitions:,} simulated comparisons a cell, seed {seed}, numpy {numpy}. "shown" is the share of comparisons that say
of at least one metric that it differs, by the rule of `compare` (Holm over the metrics); at most {most:g} is the limit.
"alone" is the share in which one given metric has an interval that excludes 0. n is the number of rows. A share of 0.05
has a simulation error of {error:.3f}.

| differences | n | shown | alone |
|---|---|---|---|
"""


def verdicts(chance: float) -> Draw:
    """Two verdicts of 0 or 1 with the same chance, given independently."""
    return lambda rng, size: (rng.random(size) < chance).astype(float) - (rng.random(size) < chance)


def mostly_ties(change: float) -> Draw:
    """Both systems have the same score but in some rows, which change in either direction."""
    return lambda rng, size: rng.choice([-1.0, 0.0, 1.0], p=[change / 2, 1 - change, change / 2], size=size)


def shares_of_statements(count: int) -> Draw:
    """Shares of a few statements that are supported; rows differ in how hard they are."""

    def draw(rng: np.random.Generator, size: tuple[int, int]) -> Array:
        hard = rng.beta(2, 1, size)
        return (rng.binomial(count, hard) - rng.binomial(count, hard)) / count

    return draw


def skewed(rng: np.random.Generator, size: tuple[int, int]) -> Array:
    """-1 in 10 % of the rows, +1/9 in the others: no mean difference, and far from symmetric."""
    return np.where(rng.random(size) < 0.1, -1.0, 1 / 9)


def narrow(rng: np.random.Generator, size: tuple[int, int]) -> Array:
    """Continuous scores, as of embeddings."""
    return np.clip(rng.normal(0.0, 0.05, size), -1, 1)


CELLS: Mapping[str, tuple[Draw, Scale]] = {
    "verdicts, half of them 1": (verdicts(0.5), JUDGED),
    "verdicts, nine in ten 1": (verdicts(0.9), JUDGED),
    "rare changes, 5 % of rows": (mostly_ties(0.05), JUDGED),
    "changes in 30 % of rows": (mostly_ties(0.3), JUDGED),
    "shares of 4 statements": (shares_of_statements(4), JUDGED),
    "skewed: -1 in 10 %, +1/9 else": (skewed, JUDGED),
    "narrow continuous scores": (narrow, CONTINUOUS),
}


def main() -> None:
    """Simulate all cells and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.equal_systems", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=PAGE)
    options = parser.parse_args()
    error = float(np.sqrt(0.05 * 0.95 / options.repetitions))
    about = {"repetitions": options.repetitions, "seed": SEED, "numpy": np.__version__, "error": error}
    lines = [
        f"| {name} | {n} | {shown:.3f}{' (above the limit)' if shown > MOST else ''} | {alone:.3f} |"
        for name, (draw, scale) in CELLS.items()
        for n in NUMBERS
        for shown, alone in [simulate(draw, scale, n, options.repetitions)]
    ]
    options.out.write_text(HEADER.format(metrics=METRICS, most=MOST, **about) + "\n".join(lines) + "\n", "utf-8")


def simulate(draw: Draw, scale: Scale, n: int, repetitions: int) -> tuple[float, float]:
    """The share of comparisons that show any difference, and of single metrics whose interval excludes 0."""
    rng = np.random.default_rng([SEED, n])
    size = max(1, BATCH // n)
    count = repetitions * METRICS
    parts = [p_values(draw(rng, (min(size, count - at), n)), scale) for at in range(0, count, size)]
    by_comparison = np.concatenate(parts).reshape(repetitions, METRICS)
    shown = [any(is_shown(p, LEVEL) for p in holm(row)) for row in by_comparison.tolist()]
    return float(np.mean(shown)), float(np.mean(by_comparison <= 1 - LEVEL))


def p_values(differences: Array, scale: Scale) -> Array:
    """Of each data set. `differences`: (data sets, rows)."""
    shares = np.full(differences.shape, 1 / differences.shape[-1])
    at = (np.abs(differences)[:, None, :] <= TIE).astype(float)
    return difference_p(Units(shares, differences, at), scale)


if __name__ == "__main__":
    main()
