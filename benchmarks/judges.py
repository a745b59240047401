"""`python -m benchmarks.judges`: whether the intervals of `rag_evaluator.statistics.ranking` hold together.

Seven judges of known AUC, two of them equal, score rows of clusters of six; a tenth of the scores is missing. Coverage:
the share of data sets in which the intervals of all differences hold the true ones, of all judges together. Called
different: the share in which the interval of the two equal judges does not hold 0.
"""

import argparse
import math
from collections.abc import Mapping

import numpy as np

from benchmarks.report import table
from rag_evaluator.statistics import Array, rank_areas
from rag_evaluator.statistics.ranking import Ranking

AREAS: Mapping[str, float] = {"a": 0.95, "b": 0.85, "c": 0.6, "d": 0.5, "inverse": 0.05, "one": 0.75, "other": 0.75}
SIZES = (120, 240)
SHARES = (0.1, 0.3, 0.5)
CLUSTER = 6
MISSING = 0.1
COMMON = 0.2  # share of a score's variance that its cluster has
SHARED = 0.3  # and that all judges have: some rows are harder for all
DRAWS = 2_000  # of the quantile, as there are many data sets


def made(rng: np.random.Generator, size: int, share: float) -> tuple[dict[str, Array], Array, Array]:
    """Scores, labels and clusters; a binormal score of AUC A is further by sqrt(2) z(A) where the label is 1."""
    from scipy.special import ndtri

    clusters = np.arange(size) // CLUSTER
    labels = (rng.random(size) >= share).astype(float)
    hard = rng.standard_normal(size) * math.sqrt(SHARED)
    scores = {}
    for name, area in AREAS.items():
        common = rng.standard_normal(clusters.max() + 1)[clusters] * math.sqrt(COMMON)
        own = rng.standard_normal(size) * math.sqrt(1 - SHARED - COMMON)
        values = math.sqrt(2) * ndtri(area) * labels + hard + common + own
        scores[name] = np.where(rng.random(size) < MISSING, np.nan, values)
    return scores, labels, clusters


def truth(name: str) -> float:
    """The AUC where pairs with a missing score count half."""
    return 0.5 + (AREAS[name] - 0.5) * (1 - MISSING) ** 2


def holds(ranking: Ranking) -> tuple[bool, bool]:
    """Whether all intervals hold the true differences, and whether that of the equal judges holds 0."""
    within = {
        pair: area.ci_low is not None and area.ci_high is not None
        and area.ci_low <= truth(pair[0]) - truth(pair[1]) <= area.ci_high
        for pair, area in ranking.differences.items()
    }  # fmt: skip
    return all(within.values()), within["one", "other"]


def simulated(size: int, share: float, seeds: int) -> tuple[int, int, int]:
    """Data sets with intervals, those in which all hold, those in which the equal judges are called different."""
    counted = np.zeros(3, dtype=int)
    for seed in range(seeds):
        scores, labels, clusters = made(np.random.default_rng([seed, size, round(100 * share)]), size, share)
        if len(np.unique(labels)) < 2:
            continue
        ranking = rank_areas(scores, labels, clusters.tolist(), draws=DRAWS)
        if ranking.quantile is not None:
            covered, equal = holds(ranking)
            counted += (1, covered, not equal)
    data, covered, different = counted.tolist()
    return data, covered, different


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judges", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    seeds = parser.parse_args().seeds
    lines = []
    for size in SIZES:
        for share in SHARES:
            data, covered, different = simulated(size, share, seeds)
            lines.append([str(size), f"{share:g}", str(data), f"{covered / data:.3f}", f"{different / data:.3f}"])
    print(table(("rows", "negatives", "data sets", "coverage", "equal called different"), lines))


if __name__ == "__main__":
    main()
