"""The comparison of runs as HTML: caveats, paired differences, groups, labels, the rows that changed most."""

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from rag_evaluator.files.atomic import folder_names
from rag_evaluator.report.charts import ChartPoint, chart, chart_labels, dots, dumbbells, unlabelled
from rag_evaluator.report.pages import number, render, signed
from rag_evaluator.results.comparison import (
    ChangedScore,
    ComparedMetric,
    Comparison,
    LabelDifference,
    verdict_words,
    word,
)
from rag_evaluator.statistics.paired import MetricComparison

GROUPS = 40  # in a chart


def comparison_html(comparison: Comparison) -> str:
    """A comparison as a fragment of a page; rows that changed lead to `#row=N`, the row of the baseline."""
    baseline, *compared = comparison.runs
    names = folder_names(comparison.runs)
    pairs = [_pair(comparison, run, names[run]) for run in compared]
    return render(
        "comparison.html",
        baseline=names[baseline],
        pairs=pairs,
        comparison=comparison,
        word=word,
        verdict=verdict_words,
    )


def _pair(comparison: Comparison, run: str, name: str) -> dict[str, Any]:
    """A run against the baseline. Any: see `comparison.html`."""
    lines = [line.figures for line in comparison.metrics if line.run == run]
    changed: dict[str, list[ChangedScore]] = {}
    for change in comparison.changed:
        if change.run == run:
            changed.setdefault(change.direction, []).append(change)
    groups: dict[str, list[ComparedMetric]] = {}
    for line in comparison.groups:
        if line.run == run:
            groups.setdefault(line.group_by or "", []).append(line)
    return {
        "name": name,
        "match": next((match for match in comparison.matches if match.run == run), None),
        "charts": list(_charts(lines)),
        "lines": lines,
        "groups": {column: (of_column, _group_charts(of_column)) for column, of_column in groups.items()},
        "labels": [(line, _by_labels(line)) for line in comparison.labels if line.run == run],
        "changed": changed,
    }


def _charts(lines: Sequence[MetricComparison]) -> Iterator[Markup]:
    """One chart for the metrics of each range: the means of both, and beside them their differences."""
    by_range: dict[tuple[float, float], list[MetricComparison]] = {}
    for line in lines:
        if line.mean_a is not None:
            by_range.setdefault((line.scale.low, line.scale.high), []).append(line)
    labels = chart_labels([line.metric for line in lines])
    for ends, group in by_range.items():
        names = chart_labels([line.metric for line in group])
        means = [_means(name, line) for name, line in zip(names, group, strict=True)]
        changes = [_dot(name, line) for name, line in zip(names, group, strict=True)]
        difference = unlabelled(dots(changes, _around_zero(changes), zero=True, step=22))
        label = "Means of both runs for each metric, and their paired differences with intervals"
        sides = {"Means": dumbbells(means, ends, labels), "Paired difference with interval": difference}
        parts = [{**side, "title": {"text": title}} for title, side in sides.items()]
        yield chart({"hconcat": parts, "spacing": 26}, label)


def _means(name: str, line: MetricComparison) -> tuple[ChartPoint, ChartPoint]:
    description = f"{line.metric}: {number(line.mean_a)} in the baseline, {number(line.mean_b)} in this run"
    return ChartPoint(name, line.mean_a, None, None, description), ChartPoint(
        name, line.mean_b, None, None, description
    )


def _dot(name: str, line: MetricComparison) -> ChartPoint:
    difference = line.difference
    shown = _with_ends(difference.mean, difference.ci_low, difference.ci_high)
    description = f"{name}: {shown}, {difference.n} rows"
    return ChartPoint(name, difference.mean, difference.ci_low, difference.ci_high, description)


def _around_zero(changes: Sequence[ChartPoint]) -> tuple[float, float]:
    most = max((abs(end) for dot in changes for end in (dot.low, dot.high, dot.value) if end is not None), default=0)
    return -(most or 1) * 1.05, (most or 1) * 1.05


def _with_ends(mean: float | None, low: float | None, high: float | None) -> str:
    return signed(mean, 3) + ("" if low is None else f" [{signed(low, 3)}, {signed(high, 3)}]")


def _group_charts(lines: Sequence[ComparedMetric]) -> dict[str, Markup]:
    """The differences within the groups of a column: a chart for each metric."""
    names = list(dict.fromkeys(line.group or "" for line in lines))[:GROUPS]
    labels = dict(zip(names, chart_labels(names), strict=True))
    panels: dict[str, list[ChartPoint]] = {}
    for line in lines:
        if line.group in labels:
            panels.setdefault(line.figures.metric, []).append(_dot(labels[line.group], line.figures))
    return {
        metric: chart(dots(rows, _around_zero(rows), zero=True), f"Paired differences by group: {metric}")
        for metric, rows in panels.items()
    }


def _by_labels(line: LabelDifference) -> str:
    """What people's labels say of the difference in a metric."""
    figures = line.figures
    if figures is None or figures.label_mean is None:
        return line.reason or (figures.ci_method if figures else "")
    only = f"; {figures.labels_only}" if figures.labels_only else ""
    return _with_ends(figures.label_mean, figures.ci_low, figures.ci_high) + only
