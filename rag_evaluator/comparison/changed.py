"""Which rows changed most between two runs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rag_evaluator.dataset import value_of
from rag_evaluator.results import (
    DIRECTIONS,
    Aligned,
    ChangedScore,
    Direction,
    Record,
    ScorePair,
    own_name,
    row_name,
    verdict_changes,
)
from rag_evaluator.statistics import TIE, Paired

SHOWN = 5  # of each direction


class _Change(NamedTuple):
    """A score that changed; of two the lower one comes first.

    Attributes:
        is_aside: whether it goes another way than a difference that is shown.
        less: the change as a share of the metric's range, below 0; 0 where one side has no score.
        at: the place of its key.
    """

    is_aside: bool
    less: float
    at: int
    direction: Direction
    scores: ScorePair


def changed_scores(a: Aligned, b: Aligned, pairs: Sequence[Paired], words: Mapping[str, str]) -> Iterator[ChangedScore]:
    """First rows that became worse, then better, then those of no known direction, then those that one side lacks.

    A row stands once: in the direction of its largest change, as a share of the metric's range; in that direction with
    the largest change of a metric whose difference is shown, else of any. In the same way the rows are ordered.

    Args:
        words: metric -> `better`, `worse` or `differs` where its difference is shown.
    """
    by_row: dict[int, list[_Change]] = {}
    for change in _changes(pairs, words):
        by_row.setdefault(change.at, []).append(change)
    rows = sorted(map(_in_order, by_row.values()), key=lambda changes: (changes[0][:2], a.keys[changes[0].at]))
    chosen: list[list[_Change]] = []
    for direction in DIRECTIONS:
        chosen += [changes for changes in rows if changes[0].direction == direction][:SHOWN]
    firsts = [changes[0] for changes in chosen]
    for changes, *said in zip(chosen, _records(a, firsts), _records(b, firsts), strict=True):
        yield _changed_score(a, b, changes, *said)


def _changes(pairs: Sequence[Paired], words: Mapping[str, str]) -> Iterator[_Change]:
    for pair in pairs:
        gains = (pair.b - pair.a) * (1 if pair.scale.better == "higher" else -1)
        is_missing = np.isnan(pair.a) != np.isnan(pair.b)
        for at in np.flatnonzero((np.abs(gains) > TIE) | is_missing).tolist():
            a, b = (None if np.isnan(side[at]) else float(side[at]) for side in (pair.a, pair.b))
            if is_missing[at]:
                direction: Direction = "missing"
                is_shown = words[pair.metric] in DIRECTIONS
            else:
                direction = "differs" if not pair.scale.is_directed else "better" if gains[at] > 0 else "worse"
                is_shown = words[pair.metric] == direction
            share = 0.0 if is_missing[at] else float(abs(gains[at]) / pair.scale.width)
            yield _Change(not is_shown, -share, at, direction, ScorePair(pair.metric, a, b))


def _in_order(changes: Sequence[_Change]) -> list[_Change]:
    """The changes of a row: those in the direction of the largest one first."""
    largest = min(changes, key=lambda change: (change.less, list(DIRECTIONS).index(change.direction)))
    return sorted(changes, key=lambda change: (change.direction != largest.direction, change[:2]))


def _changed_score(
    a: Aligned, b: Aligned, changes: Sequence[_Change], records_a: list[Record], records_b: list[Record]
) -> ChangedScore:
    """A row with its changes, of which the first one is shown."""
    first, *others = changes
    at = first.at
    scores = first.scores
    direction = first.direction
    place = a.rows(at)[0]
    sample = a.run.samples[place]
    question = sample.asked
    reasons = [record["reason"] for record in (records_a if scores.a is None else records_b) if record.get("reason")]
    is_missing = direction == "missing"
    (response_a, contexts_a), (response_b, contexts_b) = (_texts(side, at) for side in (a, b))
    return ChangedScore(
        run=b.run.name,
        metric=scores.metric,
        key=a.keys[at],
        question=question if isinstance(question, str) else None,
        direction=direction,
        a=scores.a,
        b=scores.b,
        also=tuple(other.scores for other in others),
        verdicts=() if is_missing else verdict_changes(records_a, records_b, direction == "worse"),
        reason=str(reasons[0]) if is_missing and reasons else "",
        response_a=response_a,
        response_b=response_b,
        contexts_a=contexts_a,
        contexts_b=contexts_b,
        row_a=place,
        name=row_name(place, sample.row),
        lines_differ=not own_name(sample.row) and b.rows(at)[0] != place,
    )


def _records(side: Aligned, changes: Sequence[_Change]) -> list[list[Record]]:
    """What was recorded of these scores on one side."""
    cells = [[(row, change.scores.metric) for row in side.rows(change.at)] for change in changes]
    details = side.run.records({cell for of_change in cells for cell in of_change})
    return [[record for cell in of_change for record in details.get(cell, ())] for of_change in cells]


def _texts(side: Aligned, at: int) -> tuple[str | None, tuple[str, ...]]:
    """Response and contexts of the only row with a key; nothing where there are several."""
    if len(rows := side.rows(at)) != 1:
        return None, ()
    response, contexts = (value_of(side.run.samples[rows[0]], name) for name in ("response", "retrieved_contexts"))
    texts = tuple(map(str, contexts)) if isinstance(contexts, list) else ()
    return response if isinstance(response, str) else None, texts
