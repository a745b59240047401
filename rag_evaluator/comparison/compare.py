"""`compare`: what runs over the same questions differ in, and how sure that is."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from rag_evaluator.comparison.saved_scores import read_scores, scales_for
from rag_evaluator.dataset.columns import value_of
from rag_evaluator.errors import ConfigError, ResultsError
from rag_evaluator.features.certify.certification import labelled_differences
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.results.aligned import (
    QUESTION,
    Aligned,
    align,
    column_of,
    common_metrics,
    groups_of,
    keys_of,
    match,
    paired,
    row_match,
    weights_of,
)
from rag_evaluator.results.caveats import caveats, equal_rows
from rag_evaluator.results.certificate import own_standing
from rag_evaluator.results.comparison import ChangedScore, ComparedMetric, Comparison, Direction, JudgeStanding, word
from rag_evaluator.results.judgement import JudgedVerdict, explained, few_lines
from rag_evaluator.results.run import ScoredRows
from rag_evaluator.statistics.bootstrap import Floats
from rag_evaluator.statistics.formulas import TIE
from rag_evaluator.statistics.intervals import tie_warning
from rag_evaluator.statistics.paired import EFFECT, Paired, compare_scores

LEVEL = 0.95


@ACTIVITY.phase("comparing runs")
def compare(
    baseline: Any,
    *others: Any,
    on: str | None = None,
    effect: float = EFFECT,
    cluster: str | None = None,
    group_by: Sequence[str] | None = None,
) -> Comparison:
    """What other runs differ in from a baseline, row by row, and how sure that is.

    Args:
        baseline, others: each a results folder, `Results`, a file or a frame with scores from elsewhere (such as that
            of ragas' `to_pandas`).
        on: the column by which rows are matched; None takes `id` if every row has its own, else the question. Several
            answers to one question are averaged; the question counts as often as the baseline has answers to it.
        effect: a difference worth finding, in units of the metrics: tells how many rows would find it.
        cluster: a column; rows with the same value depend on each other. None takes that of the baseline's
            configuration.
        group_by: columns; the figures are given for the rows of each of their values, too. None as for `cluster`.

    Where the baseline's configuration has a `weight`, means, intervals and tests are weighted.

    Raises `RagEvaluatorError` where there is nothing to compare, saying what to do.
    """
    if not others:
        raise ConfigError("compare: expected two runs or more, received one.")
    if not effect > 0:
        raise ConfigError(f"effect is {effect}: expected a difference above 0.")
    not_scores = [column for column in (on, cluster, *(group_by or ())) if column is not None]
    runs = _named_apart([read_scores(source, place, not_scores) for place, source in enumerate((baseline, *others))])
    on, matched = match(runs, on)
    first, *rest = align(runs, matched, runs[0].config.get("weight"))
    common = {side.run.name: common_metrics(first, side, on) for side in rest}
    scales, remarks = scales_for(list(dict.fromkeys(metric for metrics in common.values() for metric in metrics)), runs)
    pairs = [(side, paired(first, side, metric, scales[metric])) for side in rest for metric in common[side.run.name]]
    config = runs[0].config
    cluster = cluster or config.get("cluster")
    columns = (config.get("group_by") or ()) if group_by is None else group_by
    clusters = column_of(first, cluster) if cluster else None
    weights = weights_of(first)
    table = _Table(pairs, len(first.keys), clusters, weights, effect, config.get("ci_level") or LEVEL)
    lines = table.lines()
    differing = {side.run.name: _differing(lines, side.run.name) for side in rest}
    warnings = (caveats(first.run, side.run, (first.matched, side.matched), on, common[side.run.name]) for side in rest)
    return Comparison(
        runs=tuple(run.name for run in runs),
        on=on,
        effect=effect,
        caveats=(
            *dict.fromkeys(chain.from_iterable(warnings)),
            *_equal(runs, cluster or on),
            *_tied(first.run, table, lines),
            *remarks,
        ),
        matches=tuple(row_match(first, side) for side in rest),
        metrics=tuple(lines),
        groups=tuple(
            line
            for column in columns
            for value, places in groups_of(first, column).items()
            for line in table.lines(places, group_by=column, group=value)
        ),
        changed=tuple(
            change
            for side in rest
            for change in changed_scores(
                first, side, [pair for owner, pair in pairs if owner is side], differing[side.run.name]
            )
        ),
        labels=tuple(
            line
            for side in rest
            for line in labelled_differences(first, side, table.level, cluster, config.get("weight"))
        ),
        judges=tuple(line for run in runs for line in _standings(run, {pair.metric for _, pair in pairs})),
    )


def _standings(run: ScoredRows, metrics: Collection[str]) -> Iterator[JudgeStanding]:
    """What the certificate of a run says of the judge of these metrics."""
    try:
        by_metric = own_standing(run)
    except ResultsError as error:
        yield JudgeStanding(run.name, None, str(error))
        return
    yield from (JudgeStanding(run.name, metric, words) for metric, words in by_metric.items() if metric in metrics)


def _differing(lines: Sequence[ComparedMetric], run: str) -> set[str]:
    """The metrics in which a run differs from the baseline by the test."""
    return {line.figures.metric for line in lines if line.run == run and word(line.figures) != "open"}


@dataclass(frozen=True)
class _Table:
    """The pairs that are compared, and how."""

    pairs: Sequence[tuple[Aligned, Paired]]
    count: int
    clusters: Sequence[str | None] | None
    weights: Floats | None
    effect: float
    level: float

    def lines(self, places: Sequence[int] | None = None, **group: str) -> list[ComparedMetric]:
        """Every pair over all rows, tested; or over the rows of a group, described."""
        chosen = list(range(self.count) if places is None else places)
        rows = compare_scores(
            [replace(pair, a=pair.a[chosen], b=pair.b[chosen]) for _, pair in self.pairs],
            None if self.clusters is None else [self.clusters[place] for place in chosen],
            None if self.weights is None else self.weights[chosen],
            self.effect,
            self.level,
            tested=places is None,
        )
        return [ComparedMetric(side.run.name, row, **group) for (side, _), row in zip(self.pairs, rows, strict=True)]


def _equal(runs: Sequence[ScoredRows], column: str) -> list[str]:
    """A sentence for each run of which rows are equal that do not share what is in a column."""
    lines = (equal_rows(run, keys_of(run.samples, column)) for run in runs)
    return [f"{sentence}." for sentence in lines if sentence is not None]


def _tied(baseline: ScoredRows, table: _Table, lines: Sequence[ComparedMetric]) -> list[str]:
    """A sentence for each run and metric whose scores pile up where Student's t made the interval."""
    warnings = (
        (f"{name}, {pair.metric}", tie_warning(scores, pair.scale, line.figures.difference, table.weights))
        for (side, pair), line in zip(table.pairs, lines, strict=True)
        for name, scores in ((baseline.name, pair.a), (side.run.name, pair.b))
    )
    return list(dict.fromkeys(f"{where}: {warning}." for where, warning in warnings if warning is not None))


def _named_apart(runs: Sequence[ScoredRows]) -> list[ScoredRows]:
    """The runs under names that differ: a run may be compared with itself."""
    names: list[str] = []
    for run in runs:
        number, name = 1, run.name
        while name in names:
            number += 1
            name = f"{run.name} ({number})"
        names.append(name)
    return [run.named(name) for run, name in zip(runs, names, strict=True)]


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
    said_by = [_judgements(side, chosen) for side in (a, b)]
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
            reasons_a=few_lines(said_a, said_b),
            reasons_b=few_lines(said_b, said_a),
            row_a=next(iter(a.rows(at)), None),
            row_b=next(iter(b.rows(at)), None),
        )


def _largest(pairs: Sequence[Paired], keys: Sequence[str], differing: Collection[str]) -> Iterator[Place]:
    """The largest changes, as shares of the metric's range: of each row the first."""
    by_direction: dict[Direction, list[tuple[bool, float, str, int, int]]] = {"worse": [], "better": [], "missing": []}
    for number, pair in enumerate(pairs):
        is_open = pair.metric not in differing
        gains = (pair.b - pair.a) * (1 if pair.scale.better == "higher" else -1)
        for at in np.flatnonzero(np.abs(gains) > TIE).tolist():
            direction: Direction = "better" if gains[at] > 0 else "worse"
            by_direction[direction].append((is_open, -abs(gains[at]) / pair.scale.width, keys[at], number, at))
        for at in np.flatnonzero(np.isnan(pair.a) != np.isnan(pair.b)).tolist():
            by_direction["missing"].append((is_open, 0.0, keys[at], number, at))
    for direction, changes in by_direction.items():
        of_rows = dict[int, int]()
        for _, _, _, number, at in sorted(changes):
            of_rows.setdefault(at, number)
        for at, number in list(of_rows.items())[:SHOWN]:
            yield pairs[number], at, direction


def _judgements(side: Aligned, chosen: Sequence[Place]) -> list[list[JudgedVerdict]]:
    """What was said about each of these scores on one side."""
    cells = [[(row, pair.metric) for row in side.rows(at)] for pair, at, _ in chosen]
    details = side.run.records({cell for row in cells for cell in row})
    return [explained(record for cell in row for record in details.get(cell, ())) for row in cells]


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
