"""The comparison of runs as HTML: caveats, paired differences, groups, labels, the rows that changed most."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from rag_evaluator.files.atomic import folder_names
from rag_evaluator.report.charts import ChartPoint, chart, chart_labels, dots, dumbbells, unlabelled
from rag_evaluator.report.pages import number, render, signed
from rag_evaluator.results.comparison import ChangedScore, ComparedMetric, Comparison, LabelDifference, RowMatch, word
from rag_evaluator.statistics.formulas import Estimate
from rag_evaluator.statistics.paired import MetricComparison

GROUPS = 40  # in a chart


@dataclass(frozen=True)
class DifferenceLine:
    """A metric as the table shows it. `word`: whether the run is better, `better`, `worse` or `open`."""

    metric: str
    lower_is_better: bool
    mean_a: str
    mean_b: str
    difference: str
    interval: str
    why_no_interval: str
    p: str
    p_holm: str
    counts: str
    only: str
    finds: str
    needed: str
    word: str

    @property
    def differs(self) -> bool:
        return any(sign in self.difference for sign in "+−")


@dataclass(frozen=True)
class RunPair:
    """A run against the baseline."""

    name: str
    match: RowMatch | None
    charts: Sequence[Markup]
    differences: Sequence[DifferenceLine]
    groups: Mapping[str, "GroupDifferences"]
    labels: Sequence["LabelLine"]
    changed: Mapping[str, Sequence[ChangedScore]]


@dataclass(frozen=True)
class GroupDifferences:
    """The differences within the groups of a column: a chart for each metric, and rows of a table."""

    charts: Mapping[str, Markup]
    rows: Sequence[tuple[str, DifferenceLine]]


@dataclass(frozen=True)
class LabelLine:
    """What people's labels say of the difference in a metric."""

    metric: str
    both: int
    shown: str


def comparison_html(comparison: Comparison) -> str:
    """A comparison as a fragment of a page; rows that changed lead to `#row=N`, the row of the baseline."""
    baseline, *compared = comparison.runs
    names = folder_names(comparison.runs)
    pairs = [_pair(comparison, run, names[run]) for run in compared]
    return render("comparison.html", baseline=names[baseline], pairs=pairs, comparison=comparison)


def _pair(comparison: Comparison, run: str, name: str) -> RunPair:
    lines = [line.figures for line in comparison.metrics if line.run == run]
    changed: dict[str, list[ChangedScore]] = {}
    for change in comparison.changed:
        if change.run == run:
            changed.setdefault(change.direction, []).append(change)
    return RunPair(
        name=name,
        match=next((match for match in comparison.matches if match.run == run), None),
        charts=list(_charts(lines)),
        differences=[_difference(line) for line in lines],
        groups=_groups([line for line in comparison.groups if line.run == run]),
        labels=[_labels(line) for line in comparison.labels if line.run == run],
        changed=changed,
    )


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
        titles = "Means", "Paired difference with interval"
        yield chart(beside_each_other(dumbbells(means, ends, labels), difference, titles), label)


def beside_each_other(left: dict[str, Any], right: dict[str, Any], titles: tuple[str, str]) -> dict[str, Any]:
    """Two charts with the same rows. Any: JSON of Vega-Lite."""
    parts = [{**part, "title": {"text": title}} for part, title in zip((left, right), titles, strict=True)]
    return {"hconcat": parts, "spacing": 26}


def _means(name: str, line: MetricComparison) -> tuple[ChartPoint, ChartPoint]:
    description = f"{line.metric}: {number(line.mean_a)} in the baseline, {number(line.mean_b)} in this run"
    return ChartPoint(name, line.mean_a, None, None, description), ChartPoint(
        name, line.mean_b, None, None, description
    )


def _dot(name: str, line: MetricComparison) -> ChartPoint:
    difference = line.difference
    description = f"{name}: {_with_ends(difference)}, {difference.n} rows"
    return ChartPoint(name, difference.mean, difference.ci_low, difference.ci_high, description)


def _around_zero(changes: Sequence[ChartPoint]) -> tuple[float, float]:
    most = max((abs(end) for dot in changes for end in (dot.low, dot.high, dot.value) if end is not None), default=0)
    return -(most or 1) * 1.05, (most or 1) * 1.05


def _difference(line: MetricComparison) -> DifferenceLine:
    difference = line.difference
    return DifferenceLine(
        metric=line.metric,
        lower_is_better=line.scale.better == "lower",
        mean_a=number(line.mean_a, 3),
        mean_b=number(line.mean_b, 3),
        difference=_signed(difference.mean),
        interval="" if difference.ci_low is None else f"[{_signed(difference.ci_low)}, {_signed(difference.ci_high)}]",
        why_no_interval=difference.ci_method.partition(": ")[2]
        if difference.ci_method.startswith(("none", "range"))
        else "",
        p=_p(line.p),
        p_holm=_p(line.p_holm),
        counts=f"{line.wins}/{line.ties}/{line.losses}",
        only=f"{line.only_a}/{line.only_b}" if line.only_a or line.only_b else "",
        finds=number(line.smallest_difference, 3),
        needed="–" if line.rows_needed is None else f"{line.rows_needed:,}",
        word=word(line),
    )


def _signed(value: float | None) -> str:
    return number(None) if value is None else signed(value, 3)


def _p(value: float | None) -> str:
    return number(None) if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _with_ends(estimate: Estimate) -> str:
    ends = "" if estimate.ci_low is None else f" [{_signed(estimate.ci_low)}, {_signed(estimate.ci_high)}]"
    return _signed(estimate.mean) + ends


def _groups(lines: Sequence[ComparedMetric]) -> dict[str, GroupDifferences]:
    columns: dict[str, list[ComparedMetric]] = {}
    for line in lines:
        columns.setdefault(line.group_by or "", []).append(line)
    return {column: _group(of_column) for column, of_column in columns.items()}


def _group(lines: Sequence[ComparedMetric]) -> GroupDifferences:
    names = list(dict.fromkeys(line.group or "" for line in lines))[:GROUPS]
    labels = dict(zip(names, chart_labels(names), strict=True))
    panels: dict[str, list[ChartPoint]] = {}
    for line in lines:
        if line.group in labels:
            panels.setdefault(line.figures.metric, []).append(_dot(labels[line.group], line.figures))
    return GroupDifferences(
        {
            metric: chart(dots(rows, _around_zero(rows), zero=True), f"Paired differences by group: {metric}")
            for metric, rows in panels.items()
        },
        [(line.group or "", _difference(line.figures)) for line in lines],
    )


def _labels(line: LabelDifference) -> LabelLine:
    figures = line.figures
    if figures is None or figures.label_mean is None:
        return LabelLine(line.metric, line.both, line.reason or (figures.ci_method if figures else ""))
    ends = "" if figures.ci_low is None else f" [{_signed(figures.ci_low)}, {_signed(figures.ci_high)}]"
    only = f"; {figures.labels_only}" if figures.labels_only else ""
    return LabelLine(line.metric, line.both, _signed(figures.label_mean) + ends + only)
