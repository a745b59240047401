"""What became of each row of a baseline in another run, for one metric: scored by both, by one, by none."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rag_evaluator.results.aligned import Aligned
from rag_evaluator.trust.permutation import Floats

NAMED, LETTERS = 3, 40  # keys in a sentence, and letters of each


class Count(NamedTuple):
    """The rows of one key that count the same: those of the baseline and of the run, and how many have a score."""

    rows_a: int
    scored_a: int
    rows_b: int
    scored_b: int

    @property
    def compared(self) -> int:
        return min(self.scored_a, self.scored_b)

    @property
    def lost(self) -> int:
        """Rows that the baseline scored and the run did not, or does not have."""
        return max(0, self.scored_a - self.scored_b)

    @property
    def gained(self) -> int:
        """Rows without a score in the baseline only."""
        return max(0, min(self.scored_b, self.rows_a) - self.scored_a)

    @property
    def neither(self) -> int:
        return self.rows_a - self.compared - self.lost - self.gained

    @property
    def further(self) -> int:
        """Rows without a score that the run has beside those of the baseline."""
        return max(0, self.rows_b - self.scored_b - self.lost - self.neither)


@dataclass(frozen=True)
class Accounted:
    """All rows of a baseline and of another run, for one metric.

    Attributes:
        coverage: of the weight of all rows of both runs the share of those that both scored, in [0, 1]. A row that only
            the run has counts as much as a row of the baseline does on average.
        lost: keys of rows that the baseline scored and the run did not; a key once for each such row.
        neither: keys of rows that none of them scored.
        gained: keys of rows that only the run scored.
        further: rows of the run that the baseline does not have; those that share a key with it only if not scored.
        without: rows of the baseline that have no key.
        held, missed: by key, the weight of the run's scored rows, and that of the rows it lost.
    """

    coverage: float
    lost: Sequence[str]
    neither: Sequence[str]
    gained: Sequence[str]
    further: int
    without: int
    held: Floats
    missed: Floats

    def filled(self, scores: Floats, value: float) -> Floats:
        """The run's scores by key, with a value in each row that it lost."""
        total = self.held + self.missed
        known = np.where(np.isnan(scores), 0.0, scores)
        mixed = (known * self.held + value * self.missed) / np.where(total > 0, total, 1.0)
        return np.where(self.missed > 0, mixed, scores)

    def sentences(self) -> Iterator[str]:
        """What is missing, without those that count as failures."""
        if self.neither:
            yield f"{_rows(self.neither)} without a score in both runs"
        if self.gained:
            yield f"{_rows(self.gained)} without a score in the baseline only"
        if self.without:
            yield f"{self.without} rows of the baseline have no key"
        if self.further:
            yield f"{self.further} rows of the run have no partner"


def account(a: Aligned, b: Aligned, metric: str) -> Accounted:
    """The rows of a baseline, aligned with all of its keys, and of another run."""
    counts = [_counts(a, b, metric, place) for place in range(len(a.keys))]
    rows = [
        (key, weight, count) for key, of_key in zip(a.keys, counts, strict=True) for weight, count in of_key.items()
    ]
    known = a.matched.places
    extra = sum(len(places) for key, places in b.matched.places.items() if key not in known) + b.matched.without
    further = extra + sum(count.further for _, _, count in rows)
    total = math.fsum(a.weights) * (1 + further / len(a.weights))
    compared = math.fsum(weight * count.compared for _, weight, count in rows)
    return Accounted(
        coverage=compared / total if total else 0.0,
        lost=[key for key, _, count in rows for _ in range(count.lost)],
        neither=[key for key, _, count in rows for _ in range(count.neither)],
        gained=[key for key, _, count in rows for _ in range(count.gained)],
        further=further,
        without=a.matched.without,
        held=_by_key(counts, "scored_b"),
        missed=_by_key(counts, "lost"),
    )


def _counts(a: Aligned, b: Aligned, metric: str, place: int) -> Mapping[float, Count]:
    """Weight -> the rows of a key that have it."""
    found: dict[float, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for at, side in ((0, a), (2, b)):
        scores = side.run.scores[metric]
        for row in side.rows(place):
            count = found[side.weights[row]]
            count[at] += 1
            count[at + 1] += scores[row] == scores[row]
    return {weight: Count(*count) for weight, count in found.items()}


def _by_key(counts: Sequence[Mapping[float, Count]], name: str) -> Floats:
    return np.array([math.fsum(weight * getattr(count, name) for weight, count in each.items()) for each in counts])


def _rows(keys: Sequence[str]) -> str:
    return f"{len(keys)} row{'' if len(keys) == 1 else 's'} ({named(keys)})"


def named(keys: Sequence[str]) -> str:
    """The first keys, each once."""
    each = list(dict.fromkeys(keys))
    shown = [key if len(key) <= LETTERS else key[: LETTERS - 1] + "…" for key in each[:NAMED]]
    return ", ".join(shown) + (", …" if len(each) > NAMED else "")
