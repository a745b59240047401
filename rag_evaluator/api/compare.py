"""`compare`: what runs over the same questions differ in, and how sure that is."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from rag_evaluator.api.saved_scores import read_scores, scales_for
from rag_evaluator.errors import ConfigError, ResultsError
from rag_evaluator.labels.difference import labelled_differences
from rag_evaluator.progress import ACTIVITY
from rag_evaluator.results.aligned import (
    Aligned,
    align,
    column_of,
    common_metrics,
    groups_of,
    paired,
    row_match,
    weights_of,
)
from rag_evaluator.results.caveats import caveats, equal_rows
from rag_evaluator.results.certificate import own_standing
from rag_evaluator.results.changes import changed_scores
from rag_evaluator.results.comparison import ComparedMetric, Comparison, JudgeStanding, word
from rag_evaluator.results.matching import keys_of, match
from rag_evaluator.results.saved import SavedScores
from rag_evaluator.trust.comparison import EFFECT, Paired, compare_scores
from rag_evaluator.trust.intervals import tie_warning
from rag_evaluator.trust.permutation import Floats

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
    given = [column for column in (on, cluster, *(group_by or ())) if column is not None]
    runs = _named_apart([read_scores(source, place, given) for place, source in enumerate((baseline, *others))])
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


def _standings(run: SavedScores, metrics: Collection[str]) -> Iterator[JudgeStanding]:
    """What the certificate of a run says of the judge of these metrics."""
    try:
        found = own_standing(run.folder)
    except ResultsError as error:
        yield JudgeStanding(run.name, None, str(error))
        return
    yield from (JudgeStanding(run.name, metric, words) for metric, words in found.items() if metric in metrics)


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


def _equal(runs: Sequence[SavedScores], column: str) -> list[str]:
    """A sentence for each run of which rows are equal that do not share what is in a column."""
    found = (equal_rows(run, keys_of(run.samples, column)) for run in runs)
    return [f"{sentence}." for sentence in found if sentence is not None]


def _tied(baseline: SavedScores, table: _Table, lines: Sequence[ComparedMetric]) -> list[str]:
    """A sentence for each run and metric whose scores pile up where Student's t made the interval."""
    found = (
        (f"{name}, {pair.metric}", tie_warning(scores, pair.scale, line.figures.difference, table.weights))
        for (side, pair), line in zip(table.pairs, lines, strict=True)
        for name, scores in ((baseline.name, pair.a), (side.run.name, pair.b))
    )
    return list(dict.fromkeys(f"{where}: {warning}." for where, warning in found if warning is not None))


def _named_apart(runs: Sequence[SavedScores]) -> list[SavedScores]:
    """The runs under names that differ: a run may be compared with itself."""
    names: list[str] = []
    for run in runs:
        number, name = 1, run.name
        while name in names:
            number += 1
            name = f"{run.name} ({number})"
        names.append(name)
    return [replace(run, name=name) for run, name in zip(runs, names, strict=True)]
