"""`compare`: what runs over the same questions differ in, and how sure that is; `write_report` of runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import ceil, inf
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from rag_evaluator.dataset import READ
from rag_evaluator.errors import ConfigError
from rag_evaluator.files import ACTIVITY, check_replaceable
from rag_evaluator.metrics import METRICS, canonical_name
from rag_evaluator.results import (
    Aligned,
    ComparedMetric,
    Comparison,
    KeptLabels,
    LabelDifference,
    ScoredRows,
    align,
    caveats,
    common_metrics,
    conclude_comparison,
    decisions_of,
    doubts_of,
    groups_of,
    kept_labels,
    keys_of,
    paired,
    repeated_rows,
    row_match,
    unit_of,
    word,
)
from rag_evaluator.run import note_rewritten
from rag_evaluator.statistics import (
    ALPHA,
    EFFECT,
    MOST_ROWS,
    POWER,
    TIE,
    Array,
    Estimate,
    LabelMean,
    MetricComparison,
    Paired,
    Scale,
    compare_scores,
    holm,
    interval_p_value,
    label_difference,
    tie_warning,
    with_clusters,
)
from rag_evaluator.tasks import REPORT, open_run

from .changed import changed_scores
from .refused import refusal_difference
from .saved_scores import read_scores, scales_for

LEVEL = 0.95


@ACTIVITY.phase("comparing runs")
def compare(
    baseline: Any,
    *others: Any,
    on: str | None = None,
    effect: float = EFFECT,
    cluster: str | None = None,
    group_by: Sequence[str] | None = None,
    margin: float | Mapping[str, float] | None = None,
    better: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare other runs with a baseline, row by row, and say how sure each difference is.

    Args:
        baseline, others: each a results folder, `Results`, a file or a frame with scores from elsewhere (such as that
            of ragas' `to_pandas`).
        on: the column by which rows are matched; None takes `id` if every row has its own, else the question. Several
            answers to one question are averaged; the question counts as often as the baseline has answers to it.
        effect: a difference worth finding, in units of the metrics: tells how many rows would find it.
        cluster: a column; rows with the same value depend on each other. None takes that of the configurations, which
            must not differ.
        margin: a difference that does not matter, in units of the metrics, or metric -> margin; say it before you see
            the figures. A metric whose interval lies inside is called equal.
        group_by: columns; the figures are given for the rows of each of their values, too. None takes those of the
            baseline's configuration.
        better: metric -> `higher` or `lower`, for metrics of which nobody has said it.

    Raises `RagEvaluatorError` where there is nothing to compare, saying what to do.
    """
    if not others:
        raise ConfigError("compare: expected two runs or more, received one.")
    if not effect > 0:
        raise ConfigError(f"effect is {effect}: expected a difference above 0.")
    margins = _margins(margin)
    not_scores = [column for column in (on, cluster, *(group_by or ())) if column is not None]
    runs = _named_apart([read_scores(source, place, not_scores) for place, source in enumerate((baseline, *others))])
    following = () if on is None else ("--on", on)
    on, (first, *rest), cluster, clusters, weights, clustered = align(runs, on, cluster)
    common = {side.run.name: common_metrics(first, side, on) for side in rest}
    metrics = list(dict.fromkeys(chain.from_iterable(common.values())))
    scales, remarks = scales_for(metrics, runs, better)
    pairs = [(side, paired(first, side, metric, scales[metric])) for side in rest for metric in common[side.run.name]]
    if unknown := [name for name in margins if name and name not in scales]:
        raise ConfigError(f"margin: '{unknown[0]}' is not compared here. Compared: {', '.join(scales)}.")
    config = runs[0].config
    columns = (config.get("group_by") or ()) if group_by is None else group_by
    level = config.get("ci_level") or LEVEL

    def compared(places: Sequence[int], **group: str) -> list[ComparedMetric]:
        """Every pair over all rows, tested; or over the rows of a group, described."""
        rows = compare_scores(
            [replace(pair, a=pair.a[places], b=pair.b[places]) for _, pair in pairs],
            None if clusters is None else [clusters[place] for place in places],
            None if weights is None else weights[places],
            effect,
            level,
            tested=not group,
            margins={metric: margin for metric in metrics if (margin := margins.get(metric, margins.get("")))},
        )
        return [ComparedMetric(side.run.name, row, **group) for (side, _), row in zip(pairs, rows, strict=True)]

    lines = compared(range(len(first.keys)))
    refusals = [
        line
        for side in rest
        for line in refusal_difference(
            first, side, [pair for owner, pair in pairs if owner is side], clusters, weights, level
        )
    ]
    labels = adjusted([line for side in rest for line in labelled_differences(first, side, level, clusters)])
    warnings = [sentence for side in rest for sentence in caveats(first, side, on, common[side.run.name])]
    equal = (repeated_rows(run.samples, keys_of(run.samples, cluster or on), f" of {run.name}") for run in runs)
    changed = tuple(
        change
        for side in rest
        for change in changed_scores(
            first,
            side,
            [pair for owner, pair in pairs if owner is side],
            {line.figures.metric: word(line.figures) for line in lines if line.run == side.run.name},
        )
    )
    names = tuple(run.name for run in runs)
    meanings = {metric: METRICS[metric].about for metric in metrics if metric in METRICS and METRICS[metric].about}
    return Comparison(
        runs=names,
        on=on,
        effect=effect,
        caveats=(
            *(f"{run.name}: {doubt}" for run in runs for doubt in doubts_of(run, metrics)),
            *(
                f"{run.name}, {metric}, by labels: {kept.counting}."
                for run in runs
                for metric, kept in kept_labels(run).items()
                if kept.counting and metric in metrics
            ),
            *dict.fromkeys(warnings),
            *clustered,
            *(f"{words}." for words in equal if words),
            *_tied(first.run, pairs, lines),
            *remarks,
        ),
        matches=tuple(row_match(first, side) for side in rest),
        metrics=tuple(lines),
        groups=tuple(
            line
            for column in columns
            for value, places in groups_of(first, column).items()
            for line in compared(places, group_by=column, group=value)
        ),
        changed=changed,
        labels=labels,
        conclusion=conclude_comparison(first, rest, lines, effect, level, labels, following, refusals),
        decisions=tuple(decisions_of(first, rest, lines, changed, meanings, labels, on)),
        refusals=tuple(refusals),
    )


def _margins(margin: float | Mapping[str, float] | None) -> dict[str, float]:
    """Metric -> margin; under an empty name that of all others. Raises `ConfigError` for one that is not above 0."""
    margins = {} if margin is None else dict(margin) if isinstance(margin, Mapping) else {"": margin}
    for name, number in margins.items():
        if not 0 < number < inf:
            raise ConfigError(f"margin{f' of {name}' if name else ''} is {number}: expected a difference above 0.")
    return {canonical_name(name) or name: number for name, number in margins.items()}


def _tied(baseline: ScoredRows, pairs: Sequence[tuple[Aligned, Paired]], lines: Sequence[ComparedMetric]) -> list[str]:
    """Return a sentence for each run and metric whose scores pile up where Student's t made the interval."""
    warnings = (
        (f"{name}, {pair.metric}", tie_warning(scores, pair.scale, line.figures.difference))
        for (side, pair), line in zip(pairs, lines, strict=True)
        for name, scores in ((baseline.name, pair.a), (side.run.name, pair.b))
    )
    return list(dict.fromkeys(f"{where}: {warning}." for where, warning in warnings if warning is not None))


def _named_apart(runs: Sequence[ScoredRows]) -> list[ScoredRows]:
    """The runs under names that differ: a run may be compared with itself."""
    names = [run.name for run in runs]
    before = [names[:place].count(name) for place, name in enumerate(names)]
    return [run.named(f"{run.name} ({n + 1})") if n else run for run, n in zip(runs, before, strict=True)]


def adjusted(labels: Sequence[LabelDifference]) -> tuple[LabelDifference, ...]:
    """Differences by labels with p-values that hold for all of them together."""
    p_values = holm([None if line.tested is None else line.tested.p for line in labels])
    return tuple(
        replace(line, tested=None if line.tested is None else replace(line.tested, p_holm=p))
        for line, p in zip(labels, p_values, strict=True)
    )


def labelled_differences(
    a: Aligned, b: Aligned, level: float, clusters: Sequence[str | None] | None
) -> Iterator[LabelDifference]:
    """For each metric with labels in both runs the mean label of the second minus that of the first.

    Rows whose key is there twice in a run are left out. `clusters`: of each key.
    """
    first = kept_labels(a.run)
    second = kept_labels(b.run)
    places = [place for place in range(len(a.keys)) if len(a.rows(place)) == len(b.rows(place)) == 1]
    rows = [[side.rows(place)[0] for place in places] for side in (a, b)]
    labels = None if clusters is None else [clusters[place] for place in places]
    samples = [[run.samples[row] for row in own] for run, own in zip((a.run, b.run), rows, strict=True)]
    units = list(map(unit_of, samples[0], labels or [None] * len(places)))
    for metric in (metric for metric in first if metric in second):
        reads = METRICS[metric].reads if metric in METRICS else tuple(READ)
        digests = ([sample.digest_of(reads) for sample in side] for side in samples)
        equal = [place for place, pair in enumerate(zip(*digests, strict=True)) if pair[0] == pair[1]]
        yield difference_of(b.run.name, metric, (first[metric], second[metric]), rows, units, level, labels, equal)


def difference_of(
    run: str,
    metric: str,
    pair: tuple[KeptLabels, KeptLabels],
    rows: Sequence[Sequence[int]],
    units: Sequence[str],
    level: float,
    clusters: Sequence[str | None] | None,
    equal: Sequence[int],
) -> LabelDifference:
    """The line of a metric. `equal`: places of the rows whose texts are equal, so that their labels should be."""
    a, b = pair
    first, second = (np.array([of.labels[row] for row in own], np.float64) for of, own in zip(pair, rows, strict=True))
    gains = second - first
    reason = _reason(a, b)
    both = int(np.count_nonzero(~np.isnan(gains)))
    if reason:
        return LabelDifference(run, metric, both, None, reason)
    first, second = (np.array([of.scores[row] for row in own], np.float64) for of, own in zip(pair, rows, strict=True))
    changes = second - first
    wide = Scale(a.low - a.high, a.high - a.low, better=a.better)
    drawn, drawn_rows = (a, rows[0]) if a.draw is not None else (b, rows[1])
    noise = [place for place in equal if abs(gains[place]) > TIE]
    gains[noise] = 0.0
    design: dict[str, Any] = {}
    if drawn.probabilities is not None and drawn.strata is not None and drawn.drawn is not None:
        design = {
            "probabilities": np.array([drawn.probabilities[row] for row in drawn_rows]),
            "strata": [drawn.strata[row] for row in drawn_rows],
            "drawn": [drawn.drawn[row] for row in drawn_rows],
        }
        gains = np.where(design["drawn"], gains, np.nan)

    def estimate_at(level: float) -> LabelMean:
        estimate = label_difference(changes, gains, wide, **design, level=level, units=units)
        return with_clusters(estimate, changes, gains, wide, clusters, design.get("probabilities"))

    figures = estimate_at(level)
    tested = _as_line(metric, figures, gains, wide, interval_p_value(estimate_at))
    return LabelDifference(run, metric, both, figures, None, tested, tuple(rows[0][place] for place in noise))


def _as_line(metric: str, figures: LabelMean, gains: Array, scale: Scale, p: float | None) -> MetricComparison | None:
    """A difference by labels as the line of a table, of which p after Holm is not known yet; None without an estimate.

    Labels that a difference like this needs: the interval is as wide as the root of their number, and for a power of
    0.8 (z(0.8) + z(0.95)) / z(level) times as far from 0 as its half width, with z(level) of its own level.
    """
    mean = figures.label_mean
    low = figures.ci_low
    high = figures.ci_high
    if mean is None or low is None or high is None:
        return None
    power, alpha, level = map(NormalDist().inv_cdf, (POWER, 1 - ALPHA / 2, (1 + figures.ci_level) / 2))
    further = (power + alpha) / level
    mean = mean if abs(mean) > TIE else 0.0
    needed = figures.labels * (further * (high - low) / 2 / mean) ** 2 if mean else inf
    wins, losses = (int(np.count_nonzero(sign * gains > TIE)) for sign in (1, -1))
    return MetricComparison(
        metric=metric,
        scale=scale,
        difference=Estimate(figures.labels, mean, None, None, None, low, high, figures.ci_level, figures.ci_method),
        p=p,
        wins=wins if scale.better == "higher" else losses,
        ties=figures.labels - wins - losses,
        losses=losses if scale.better == "higher" else wins,
        rows_needed=ceil(needed) if needed <= MOST_ROWS else None,
    )


def _reason(a: KeptLabels, b: KeptLabels) -> str | None:
    """Why the labels of two runs say nothing of their difference; None if they do."""
    if (a.low, a.high, a.better) != (b.low, b.high, b.better):
        return f"labels go from {a.low:g} to {a.high:g} in one run, from {b.low:g} to {b.high:g} in the other"
    if a.draw is not None and b.draw is not None and (a.like or a.draw) != (b.like or b.draw):
        return "their rows were drawn separately: draw the rows of one run again for the other"
    if "unknown" in (a.chosen, b.chosen):
        return "how the labelled rows were chosen is not known"
    return None


def write_report(
    *runs: str | Path,
    out: str | Path | None = None,
    on: str | None = None,
    force: bool = False,
    title: str | None = None,
    group_by: Sequence[str] | None = None,
) -> Path:
    """Write the report of finished runs: figures, a table of the rows, and all that the judge said of each row.

    Args:
        runs: results folders; of several the baseline first, with which the others are compared.
        out: the file. None: `report.html` in the folder of the run; of several runs in the current folder.
        on: the column by which rows of several runs belong together, see `compare`.
        force: replace a file that is there and is no report.
        title: of the page; None: the names of the runs.
        group_by: columns by whose values several runs are compared, too; None: those of the baseline.

    Returns:
        The file. It needs no other file and no network.

    Raises `RagEvaluatorError` for results that are not there, not finished or have no row in common, before it is
    written.
    """
    from rag_evaluator.report import MARK, write_document

    if not runs:
        raise ConfigError("report: expected a results folder, received none.")
    folders = [Path(run).expanduser() for run in runs]
    for folder in folders:
        open_run(folder)
    default = folders[0] / REPORT
    path = Path(out).expanduser() if out is not None else default if len(folders) == 1 else Path(REPORT)
    if path != default or len(folders) > 1:
        check_replaceable(path, MARK, force, folders)
    if len(folders) > 1:
        write_document(folders, path, compare(*folders, on=on, group_by=group_by), title, group_by)
    elif group_by:
        raise ConfigError("--group-by: expected two runs or more. For one run, set group_by in its configuration.")
    else:
        write_document(folders, path, title=title)
    if path == default and len(folders) == 1:
        note_rewritten(folders[0], [REPORT])
    return path
