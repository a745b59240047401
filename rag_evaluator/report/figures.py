"""The upper part of a run's page: what was run, means, groups, distributions, ranks and lengths, as HTML."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from rag_evaluator.files.json_text import json_text
from rag_evaluator.report.charts import chart
from rag_evaluator.report.compared import comparison_html as comparison_html
from rag_evaluator.report.facts import certified, facts, probed
from rag_evaluator.report.labels import in_order, short
from rag_evaluator.report.means import Line, line, scales_of, stages, with_ends
from rag_evaluator.report.pages import number, page_text, render
from rag_evaluator.report.ranks import Rank, by_rank
from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.report.specs import Bar, Dot, beside, histogram, steps
from rag_evaluator.report.tally import Bin, Tally, axis_of, bins_of, by_length, tally
from rag_evaluator.results.panel_names import BETWEEN
from rag_evaluator.results.reporting import reporting_of
from rag_evaluator.trust.estimate import Estimate
from rag_evaluator.trust.scale import Scale

Figures = Mapping[str, Any]  # those of a metric, as in `summary.json`; Any: JSON
PANELS, GROUPS, LONGEST = 4, 40, 160  # metrics beside each other; groups in a chart; letters of a name there


@dataclass(frozen=True)
class Drawn:
    """A chart with the table of the same figures: `rows` under `heading`."""

    name: str
    svg: Markup | None
    heading: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Group:
    """The rows with one value of a column: a cell for each metric."""

    name: str
    rows: int
    cells: Sequence[Line]


@dataclass(frozen=True)
class Groups:
    """The groups of a column, with their charts."""

    column: str
    metrics: Sequence[str]
    groups: Sequence[Group]
    charts: Sequence[Markup]
    shown: int


def figures_html(run: RunFiles, links: bool = True) -> str:
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
        config=json_text(dict(run.config)),
        level=f"{100 * rows.level:g} %",
        stages=stages(run.summary, scales, thresholds),
        certificate=certified(run),
        probes=probed(run),
        groups=list(_groups(run.summary, scales)),
        spreads=list(_spreads(rows, scales, links)),
        ranks=list(_ranks(run, rows)),
        lengths=list(_lengths(run.summary, rows, scales)),
        links=links,
    )


def runs_html(runs: Sequence[RunFiles]) -> str:
    """The means of several runs beside each other, each on the range of its metric."""
    metrics = dict.fromkeys(metric for run in runs for metric in run.metrics if BETWEEN not in metric)
    known: dict[str, Scale] = {}
    for run in runs:
        known = {**scales_of(run.manifest, run.summary), **known}
    table = [
        (
            metric,
            [(run.name, line(metric, run.summary[metric], known[metric])) for run in runs if metric in run.summary],
        )
        for metric in metrics
    ]
    return render("runs.html", table=table)


def _groups(summary: Mapping[str, Figures], scales: Mapping[str, Scale]) -> Iterator[Groups]:
    columns = dict.fromkeys(column for row in summary.values() for column in row.get("groups", {}))
    for column in columns:
        found = {metric: row["groups"][column] for metric, row in summary.items() if column in row.get("groups", {})}
        counts: dict[str, int] = {}
        for groups in found.values():
            counts |= {name: groups[name]["count"] for name in in_order(groups)}
        largest = set(sorted(counts, key=lambda name: (-counts[name], name))[:GROUPS])
        shown = [name for name in counts if name in largest]
        labels = dict(zip(shown, short(shown), strict=True))
        panels = {
            metric: (
                [_dot(labels[name], name, groups[name]) for name in shown if name in groups],
                _ends(scales[metric]),
            )
            for metric, groups in found.items()
            if BETWEEN not in metric
        }
        yield Groups(
            column,
            list(found),
            [
                Group(name, count, [line(metric, found[metric][name], scales[metric]) for metric in found])
                for name, count in counts.items()
            ],
            [
                chart(beside(part), page_text("groups.chart", metric=", ".join(part), column=column))
                for part in _parts(panels)
            ],
            len(shown),
        )


def _parts(panels: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    items = iter(panels.items())
    while part := dict(islice(items, PANELS)):
        yield part


def _dot(label: str, group: str, row: Figures) -> Dot:
    said = page_text("groups.point", group=group[:LONGEST], value=with_ends(row), rows=row["scored"])
    return Dot(label, row["mean"], row.get("ci_low"), row.get("ci_high"), said)


def _ends(scale: Scale) -> tuple[float, float]:
    return scale.low, scale.high


def _spreads(rows: Tally, scales: Mapping[str, Scale], links: bool) -> Iterator[Drawn]:
    heading = [page_text("spread.scores"), page_text("spread.count")]
    for metric, values in rows.scores.items():
        bins, ends = bins_of(values, scales[metric]), axis_of(values, scales[metric])
        bars = [Bar(one.at, one.count, _said(one), _href(metric, one) if links else None) for one in bins]
        svg = chart(histogram(bars, ends), page_text("spread.chart", metric=metric)) if bars else None
        yield Drawn(metric, svg, heading, [(_range(one), f"{one.count:,}") for one in bins])


def _said(one: Bin) -> str:
    if one.is_value:
        return page_text("spread.value", value=f"{one.at:g}", count=f"{one.count:,}")
    return page_text("spread.bar", low=f"{one.low:.2f}", high=f"{one.high:.2f}", count=f"{one.count:,}")


def _range(one: Bin) -> str:
    return f"{one.at:g}" if one.is_value else f"{one.low:.2f} – {one.high:.2f}"


def _href(metric: str, one: Bin) -> str:
    said = {"metric": metric, "min": f"{one.low:.6f}".rstrip("0").rstrip("."), "max": f"{one.high:.6f}".rstrip("0").rstrip(".")}
    return f"#{urlencode(said, errors='replace')}"


def _ranks(run: RunFiles, rows: Tally) -> Iterator[Drawn]:
    heading = [page_text("ranks.rank"), page_text("ranks.share"), page_text("means.scored")]
    for metric, ranks in by_rank(run, rows).items():
        points = [_at_rank(rank) for rank in ranks]
        svg = chart(steps(points, (0.0, 1.0), page_text("ranks.rank")), page_text("ranks.chart", metric=metric))
        yield Drawn(metric, svg, heading, [(str(r.rank), _estimate(r.share), f"{r.share.n:,}") for r in ranks])


def _at_rank(rank: Rank) -> Dot:
    said = page_text("ranks.point", rank=rank.rank, value=_estimate(rank.share), count=rank.share.n)
    return Dot(str(rank.rank), rank.share.mean, rank.share.ci_low, rank.share.ci_high, said)


def _lengths(summary: Mapping[str, Figures], rows: Tally, scales: Mapping[str, Scale]) -> Iterator[Drawn]:
    heading = [page_text("lengths.axis"), page_text("means.mean"), page_text("means.scored")]
    for metric, row in summary.items():
        bins = list(by_length(rows, metric, scales[metric])) if row.get("stage") == "generation" else []
        if not bins:
            continue
        points = [
            Dot(
                f"{low}–{high}",
                found.mean,
                found.ci_low,
                found.ci_high,
                page_text("lengths.point", low=low, high=high, value=_estimate(found), rows=found.n),
            )
            for (low, high), found in bins
        ]
        spec = steps(points, axis_of(rows.scores[metric], scales[metric]), page_text("lengths.axis"))
        table = [
            (point.label, _estimate(found), f"{found.n:,}") for point, (_, found) in zip(points, bins, strict=True)
        ]
        yield Drawn(metric, chart(spec, page_text("lengths.chart", metric=metric)), heading, table)


def _estimate(found: Estimate) -> str:
    if found.ci_low is None:
        return number(found.mean)
    return f"{number(found.mean)} [{number(found.ci_low)}, {number(found.ci_high)}]"
