"""The scores that changed most between two runs, with what was said about them on both sides."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from rag_evaluator.dataset.keys import value_of
from rag_evaluator.results.aligned import Aligned
from rag_evaluator.results.comparison import ChangedScore, Direction
from rag_evaluator.results.matching import QUESTION
from rag_evaluator.results.reasons import SaidVerdict, said, telling
from rag_evaluator.trust.comparison import Paired
from rag_evaluator.trust.scale import TIE

SHOWN = 5  # of each direction
Place = tuple[Paired, int, Direction]  # which score changed: pair, place of the key, how


def changed_scores(
    a: Aligned, b: Aligned, pairs: Sequence[Paired], differing: Collection[str]
) -> Iterator[ChangedScore]:
    """First those that became worse, then those that became better, then those that one side has not; largest first.

    A row stands once in each direction.

    Args:
        differing: metrics that differ by the test; they come before the others.
    """
    chosen = list(_largest(pairs, a.keys, differing))
    said_by = [_said(side, chosen) for side in (a, b)]
    for (pair, at, direction), said_a, said_b in zip(chosen, *said_by, strict=True):
        question = value_of(a.run.samples[a.rows(at)[0]], QUESTION)
        yield ChangedScore(
            run=b.run.name,
            metric=pair.metric,
            key=a.keys[at],
            question=question if isinstance(question, str) else None,
            direction=direction,
            a=_or_none(pair.a[at]),
            b=_or_none(pair.b[at]),
            reasons_a=telling(said_a, said_b),
            reasons_b=telling(said_b, said_a),
            row_a=next(iter(a.rows(at)), None),
            row_b=next(iter(b.rows(at)), None),
        )


def _largest(pairs: Sequence[Paired], keys: Sequence[str], differing: Collection[str]) -> Iterator[Place]:
    """The largest changes, as shares of the metric's range: of each row the first."""
    found: dict[Direction, list[tuple[bool, float, str, int, int]]] = {"worse": [], "better": [], "missing": []}
    for number, pair in enumerate(pairs):
        is_open = pair.metric not in differing
        gains = (pair.b - pair.a) * (1 if pair.scale.better == "higher" else -1)
        for at in np.flatnonzero(np.abs(gains) > TIE).tolist():
            direction: Direction = "better" if gains[at] > 0 else "worse"
            found[direction].append((is_open, -abs(gains[at]) / pair.scale.width, keys[at], number, at))
        for at in np.flatnonzero(np.isnan(pair.a) != np.isnan(pair.b)).tolist():
            found["missing"].append((is_open, 0.0, keys[at], number, at))
    for direction, changes in found.items():
        of_rows = dict[int, int]()
        for _, _, _, number, at in sorted(changes):
            of_rows.setdefault(at, number)
        for at, number in list(of_rows.items())[:SHOWN]:
            yield pairs[number], at, direction


def _said(side: Aligned, chosen: Sequence[Place]) -> list[list[SaidVerdict]]:
    """What was said about each of these scores on one side."""
    cells = [[(row, pair.metric) for row in side.rows(at)] for pair, at, _ in chosen]
    details = side.run.details({cell for row in cells for cell in row})
    return [[line for cell in row for record in details.get(cell, ()) for line in said(record)] for row in cells]


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
