"""The upper part of a run's page, and the means of several runs beside each other, as HTML."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from rag_evaluator.files.jsonl import json_text
from rag_evaluator.report.charts import Bar, ChartPoint, chart, chart_labels, dots, histogram, in_order, steps
from rag_evaluator.report.facts import certified, facts, probed, shown_config
from rag_evaluator.report.means import MetricLine, line, scales_of, stages, with_ends
from rag_evaluator.report.pages import number, render
from rag_evaluator.report.tally import Rank, ScoreBin, Tally, axis_of, bins_of, by_length, by_rank, tally
from rag_evaluator.results.panel_names import BETWEEN
from rag_evaluator.results.run import Run
from rag_evaluator.results.summary import reporting_of
from rag_evaluator.statistics.formulas import Estimate, Scale

Figures = Mapping[str, Any]  # those of a metric, as in `summary.json`; Any: JSON
GROUPS, LONGEST = 40, 160  # in a chart; letters of a name there


def figures_html(run: Run, links: bool = True) -> str:
    """The figures of a run as a fragment of a page. Raises `ResultsError` for files that cannot be read.

    Args:
        links: whether bars and counts lead to their rows, by `#metric=faithfulness&min=0.2&max=0.3`.
    """
    rows, scales = tally(run), scales_of(run.manifest, run.summary)
    thresholds = reporting_of(run.manifest).thresholds
    return render(
        "figures.html",
        run=run,
        facts=facts(run),
        signatures=run.manifest.get("signatures") or {},
        prompts=run.manifest.get("prompts") or {},
        config=json_text(shown_config(run.config)),
        level=f"{100 * rows.level:g} %",
        stages=stages(run.summary, scales, thresholds),
        certificate=certified(run),
        probes=probed(run),
        groups=list(groups_of(run.summary, scales)),
        spreads=list(spreads_of(rows, scales, links)),
        ranks=list(ranks_of(run, rows)),
        lengths=list(lengths_of(run.summary, rows, scales)),
        links=links,
    )


def runs_html(runs: Sequence[Run]) -> str:
    """The means of several runs beside each other, each on the range of its metric."""
    metrics = dict.fromkeys(metric for run in runs for metric in run.metrics if BETWEEN not in metric)
    known: dict[str, Scale] = {}
    for run in runs:
        known = {**scales_of(run.manifest, run.summary), **known}
    table = [
        (
            metric,
            [(run.title, line(metric, run.summary[metric], known[metric])) for run in runs if metric in run.summary],
        )
        for metric in metrics
    ]
    return render("runs.html", table=table)


@dataclass(frozen=True)
class Group:
    """The rows with one value of a column: a cell for each metric."""

    name: str
    rows: int
    cells: Sequence[MetricLine]


@dataclass(frozen=True)
class Groups:
    """The groups of a column, and a chart of them for each metric."""

    column: str
    metrics: Sequence[str]
    groups: Sequence[Group]
    charts: Mapping[str, Markup | None]
    shown: int


def groups_of(summary: Mapping[str, Figures], scales: Mapping[str, Scale]) -> Iterator[Groups]:
    columns = dict.fromkeys(column for row in summary.values() for column in row.get("groups", {}))
    for column in columns:
        by_metric = {
            metric: row["groups"][column] for metric, row in summary.items() if column in row.get("groups", {})
        }
        counts: dict[str, int] = {}
        for groups in by_metric.values():
            counts |= {name: groups[name]["count"] for name in in_order(groups)}
        largest = set(sorted(counts, key=lambda name: (-counts[name], name))[:GROUPS])
        shown = [name for name in counts if name in largest]
        labels = dict(zip(shown, chart_labels(shown), strict=True))
        panels = {
            metric: (
                [_group_dot(labels[name], name, groups[name]) for name in shown if name in groups],
                _ends(scales[metric]),
            )
            for metric, groups in by_metric.items()
            if BETWEEN not in metric
        }
        yield Groups(
            column,
            list(by_metric),
            [
                Group(name, count, [line(metric, by_metric[metric][name], scales[metric]) for metric in by_metric])
                for name, count in counts.items()
            ],
            {metric: _group_chart(metric, column, *panel) for metric, panel in panels.items()},
            len(shown),
        )


def _group_chart(metric: str, column: str, rows: Sequence[ChartPoint], ends: tuple[float, float]) -> Markup | None:
    """None where no group has a score."""
    if all(row.value is None for row in rows):
        return None
    return chart(dots(rows, ends), f"{metric} by {column}: mean and interval of each group")


def _group_dot(label: str, group: str, row: Figures) -> ChartPoint:
    description = f"{group[:LONGEST]}: {with_ends(row)}, {row['scored']} rows"
    return ChartPoint(label, row["mean"], row.get("ci_low"), row.get("ci_high"), description)


def _ends(scale: Scale) -> tuple[float, float]:
    return scale.low, scale.high


@dataclass(frozen=True)
class FiguresChart:
    """A chart with the table of the same figures: `rows` under `heading`."""

    name: str
    svg: Markup | None
    heading: Sequence[str]
    rows: Sequence[Sequence[str]]


def spreads_of(rows: Tally, scales: Mapping[str, Scale], links: bool) -> Iterator[FiguresChart]:
    heading = ["Scores", "Rows"]
    for metric, values in rows.scores.items():
        bins, ends = bins_of(values, scales[metric]), axis_of(values, scales[metric])
        bars = [
            Bar(score_bin.at, score_bin.count, _description(score_bin), _href(metric, score_bin) if links else None)
            for score_bin in bins
        ]
        svg = chart(histogram(bars, ends), f"Distribution of {metric}") if bars else None
        yield FiguresChart(metric, svg, heading, [(_range(score_bin), f"{score_bin.count:,}") for score_bin in bins])


def _description(score_bin: ScoreBin) -> str:
    if score_bin.is_value:
        return f"{score_bin.at:g}: {score_bin.count:,} rows"
    return f"{score_bin.low:.2f} to {score_bin.high:.2f}: {score_bin.count:,} rows"


def _range(score_bin: ScoreBin) -> str:
    return f"{score_bin.at:g}" if score_bin.is_value else f"{score_bin.low:.2f} – {score_bin.high:.2f}"


def _href(metric: str, score_bin: ScoreBin) -> str:
    ends = {"min": _plain(score_bin.low), "max": _plain(score_bin.high)}
    return f"#{urlencode({'metric': metric, **ends}, errors='replace')}"


def _plain(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")


def ranks_of(run: Run, rows: Tally) -> Iterator[FiguresChart]:
    heading = ["Rank", "Share useful", "Scored"]
    for metric, ranks in by_rank(run, rows).items():
        points = [_at_rank(rank) for rank in ranks]
        svg = chart(steps(points, (0.0, 1.0), "Rank"), f"{metric}: share of useful contexts at each rank")
        yield FiguresChart(metric, svg, heading, [(str(r.rank), _estimate(r.share), f"{r.share.n:,}") for r in ranks])


def _at_rank(rank: Rank) -> ChartPoint:
    description = f"rank {rank.rank}: {_estimate(rank.share)} of {rank.share.n} contexts"
    return ChartPoint(str(rank.rank), rank.share.mean, rank.share.ci_low, rank.share.ci_high, description)


def lengths_of(summary: Mapping[str, Figures], rows: Tally, scales: Mapping[str, Scale]) -> Iterator[FiguresChart]:
    heading = ["Characters of the response", "Mean", "Scored"]
    for metric, row in summary.items():
        bins = list(by_length(rows, metric, scales[metric])) if row.get("stage") == "generation" else []
        if not bins:
            continue
        points = [
            ChartPoint(
                f"≤{high}",
                estimate.mean,
                estimate.ci_low,
                estimate.ci_high,
                f"{low} to {high} characters: {_estimate(estimate)}, {estimate.n} rows",
            )
            for (low, high), estimate in bins
        ]
        spec = steps(points, axis_of(rows.scores[metric], scales[metric]), "Characters of the response")
        table = [(f"{low}–{high}", _estimate(estimate), f"{estimate.n:,}") for (low, high), estimate in bins]
        yield FiguresChart(metric, chart(spec, f"{metric} by length of the response"), heading, table)


def _estimate(estimate: Estimate) -> str:
    if estimate.ci_low is None:
        return number(estimate.mean)
    return f"{number(estimate.mean)} [{number(estimate.ci_low)}, {number(estimate.ci_high)}]"
