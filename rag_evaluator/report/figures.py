"""The figures of a run as HTML, from its summary and from all of its rows; the means of several runs."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import urlencode

import numpy as np
from markupsafe import Markup

from rag_evaluator.report.charts import (
    Bar,
    ChartPoint,
    chart,
    chart_labels,
    dots,
    histogram,
    in_order,
    steps,
    why_no_charts,
)
from rag_evaluator.report.facts import MetricLine, certified, controlled, line, probed
from rag_evaluator.report.pages import render, with_interval
from rag_evaluator.resources import NAME, program
from rag_evaluator.results.conclusion import asks_judge, asks_verifier
from rag_evaluator.results.judgement import judgements_of
from rag_evaluator.results.run import Run
from rag_evaluator.results.run_conclusion import conclude_run
from rag_evaluator.results.summary import clusters_at
from rag_evaluator.results.tally import Floats, Tally, scales_of, whole_tally
from rag_evaluator.results.worst import RowScore, WorstRow, worst_rows
from rag_evaluator.statistics.formulas import TIE, Estimate, Scale
from rag_evaluator.statistics.intervals import mean_interval

LEAST = 5  # rows in a bin of lengths
BINS = 5
RANKED = ("context_precision_with_reference", "context_precision_without_reference")
CHUNKS = ("retrieval_precision", "retrieval_mrr", "retrieval_ndcg", "retrieval_map")
"""Metrics that ask the same of each context, so that one of them says it for all."""
ONE_BY_ONE = ("prompt", "chunk_prompt")  # the prompts that show a judge one context
MOST = 20  # ranks that are shown


def by_length(tally: Tally, metric: str, scale: Scale) -> Iterator[tuple[tuple[int, int], Estimate]]:
    """Bins with about as many rows each, as the shortest and longest response in characters, and their means.

    Nothing for rows that are too few, or whose responses have one length. Responses of one length share a bin.
    """
    known = np.flatnonzero(~np.isnan(tally.lengths) & ~np.isnan(tally.scores[metric]))
    count = min(BINS, len(known) // LEAST)
    if count < 2:
        return
    lengths = tally.lengths[known]
    starts = np.unique(np.sort(lengths)[np.arange(count) * len(known) // count])
    if len(starts) < 2:
        return
    bins = np.searchsorted(starts, lengths, side="right") - 1
    for place in range(len(starts)):
        places = known[bins == place]
        shortest, longest = tally.lengths[places].min(), tally.lengths[places].max()
        yield (int(shortest), int(longest)), tally.mean(metric, places.tolist(), scale)


@dataclass(frozen=True)
class ScoreBin:
    """The scores from `low` to `high`, both included, of which there are `count`.

    Attributes:
        at: where its bar is drawn.
        is_value: whether all of them are `at`.
    """

    low: float
    high: float
    count: int
    at: float
    is_value: bool = False


def bins_of(values: Floats, scale: Scale, most: int = 20) -> list[ScoreBin]:
    """A histogram: a bar for each value where values are few and far between, else `most` bins over the range.

    Of a range from below 0 the upper part only, if no score lies below.
    """
    seen = values[~np.isnan(values)]
    if not len(seen):
        return []
    low, high = axis_of(seen, scale)
    step = (high - low) / most
    distinct, which = np.unique(np.round(seen, 5) + 0.0, return_inverse=True)
    if len(distinct) <= most + 1 and (len(distinct) == 1 or np.diff(distinct).min() >= step * 0.99):
        parts = [seen[which == place] for place in range(len(distinct))]
        return [_value_bin(value, part) for value, part in zip(distinct.tolist(), parts, strict=True)]
    edges = low + step * np.arange(most + 1) - TIE
    places = np.clip(np.searchsorted(edges, seen, side="right") - 1, 0, most - 1)
    counts = np.bincount(places, minlength=most).tolist()
    ends = [_below(low), *edges[1:-1].tolist(), _above(high)]
    return [ScoreBin(ends[k], ends[k + 1], counts[k], low + step * (k + 0.5)) for k in range(most)]


def _value_bin(value: float, scores: Floats) -> ScoreBin:
    return ScoreBin(_below(float(scores.min())), _above(float(scores.max())), len(scores), value, is_value=True)


def axis_of(values: Floats, scale: Scale) -> tuple[float, float]:
    """The range that scores are shown on."""
    seen = values[~np.isnan(values)]
    low = 0.0 if scale.low < 0 < scale.high and (not len(seen) or seen.min() >= 0) else scale.low
    return (low, scale.high) if not len(seen) else (min(low, float(seen.min())), max(scale.high, float(seen.max())))


def _below(value: float) -> float:
    """With six decimals, and not above the value."""
    near = round(value, 6)
    return near if near <= value else near - TIE


def _above(value: float) -> float:
    near = round(value, 6)
    return near if near >= value else near + TIE


def by_rank(run: Run, tally: Tally) -> dict[str, list[Estimate]]:
    """Metric -> the share of useful contexts at each rank, from 1.

    Nothing is read without metrics that judge contexts one by one.
    """
    wanted = _wanted(run.metrics)
    if not wanted:
        return {}
    by_metric: dict[str, list[tuple[array[int], array[float]]]] = {metric: [] for metric in wanted}
    most = (run.config.get("retrieval") or {}).get("k")
    for metric, row, verdicts in _ranked_rows(run.all_details(set(wanted)), most):
        ranks = by_metric[metric]
        ranks.extend((array("q"), array("d")) for _ in range(len(ranks), min(len(verdicts), MOST)))
        for (rows, values), verdict in zip(ranks, verdicts, strict=False):
            rows.append(row)
            values.append(verdict)
    return {name: [_share(tally, *rank) for rank in ranks] for name, ranks in by_metric.items() if ranks}


def _wanted(metrics: Sequence[str]) -> list[str]:
    """Metrics whose verdicts have ranks; of `CHUNKS` the first."""
    chosen: dict[str, str] = {}
    for metric in metrics:
        if metric in RANKED or metric in CHUNKS:
            chosen.setdefault("chunks" if metric in CHUNKS else metric, metric)
    return list(chosen.values())


def _ranked_rows(records: Iterator[Mapping[str, Any]], most: int | None) -> Iterator[tuple[str, int, list[float]]]:
    """Metric, row and its verdicts by rank, the mean of several repeats: their lines follow each other."""
    key, repeats = None, list[list[float]]()
    for record in records:
        new = record["metric"], record["row"]
        if new != key:
            yield from _mean_of_repeats(key, repeats)
            key, repeats = new, []
        if verdicts := verdicts_of(record, most):
            repeats.append(verdicts)
    yield from _mean_of_repeats(key, repeats)


def _mean_of_repeats(key: tuple[str, int] | None, repeats: list[list[float]]) -> Iterator[tuple[str, int, list[float]]]:
    if key is not None and repeats:
        yield *key, [sum(column) / len(column) for column in zip(*repeats, strict=False)]


def verdicts_of(record: Mapping[str, Any], most: int | None = None) -> list[float]:
    """The verdicts of a score by rank; empty where it is not sure which context each one is of.

    Args:
        most: contexts that metrics of `CHUNKS` look at; None: all.
    """
    asked = [judgement for judgement in judgements_of(record) if judgement.prompt in ONE_BY_ONE]
    verdicts = [float(judgement.verdict) for judgement in asked if judgement.verdict is not None]
    contexts, limit = len(record.get("contexts") or ()), most if record["metric"] in CHUNKS else None
    return verdicts if len(verdicts) == len(asked) == (contexts if limit is None else min(contexts, limit)) else []


def _share(tally: Tally, rows: Sequence[int], verdicts: Sequence[float]) -> Estimate:
    """The mean of the verdicts at one rank, which are of these rows."""
    return mean_interval(verdicts, Scale(), tally.level, clusters_at(tally.clusters, rows))


Figures = Mapping[str, Any]  # those of a metric, as in `summary.json`; Any: JSON
GROUPS, LONGEST = 40, 160  # in a chart; letters of a name there


def figures_html(run: Run) -> str:
    """The charts of a run, and what is known of its judge, as a fragment of a page. Bars lead to their rows, by
    `#metric=faithfulness&min=0.2&max=0.3`. Raises `ResultsError` for files that cannot be read.
    """
    rows, scales = whole_tally(run), scales_of(run.manifest, run.summary)
    return render(
        "figures.html",
        judged_by=_judged_by(run),
        certificate=certified(run),
        probes=probed(run),
        control=controlled(run),
        groups=list(groups_of(run.summary, scales)),
        spreads=list(spreads_of(rows, scales)),
        ranks=list(ranks_of(run, rows)),
        lengths=list(lengths_of(run.summary, rows, scales)),
        no_charts=why_no_charts(),
    )


def _judged_by(run: Run) -> str:
    """Who decided on the rows: judge, verifier, or both."""
    is_verified = any(asks_verifier(run.manifest, metric) for metric in run.metrics)
    is_judged = any(asks_judge(run.manifest, metric) for metric in run.metrics)
    names = {"judge": is_judged or not is_verified, "verifier": is_verified}
    return " and ".join(name for name, asked in names.items() if asked)


def runs_html(runs: Sequence[Run]) -> str:
    """The means of several runs beside each other, each on the range of its metric."""
    metrics = dict.fromkeys(metric for run in runs for metric in run.metrics)
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
                (scales[metric].low, scales[metric].high),
            )
            for metric, groups in by_metric.items()
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
    shown = with_interval(row["mean"], row.get("ci_low"), row.get("ci_high"))
    description = f"{group[:LONGEST]}: {shown}, {row['scored']:,} rows"
    return ChartPoint(label, row["mean"], row.get("ci_low"), row.get("ci_high"), description)


@dataclass(frozen=True)
class FiguresChart:
    """A chart with the table of the same figures: `rows` under `heading`.

    Attributes:
        svg: None where there is no score; empty where no chart can be drawn.
    """

    name: str
    svg: Markup | None
    heading: Sequence[str]
    rows: Sequence[Sequence[str]]


def spreads_of(rows: Tally, scales: Mapping[str, Scale]) -> Iterator[FiguresChart]:
    heading = ["Scores", "Rows"]
    for metric, values in rows.scores.items():
        bins, ends = bins_of(values, scales[metric]), axis_of(values, scales[metric])
        bars = [
            Bar(score_bin.at, score_bin.count, _description(score_bin), _href(metric, score_bin)) for score_bin in bins
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
        points = [
            _point(str(rank), share, f"rank {rank}: {_estimate(share)} of {share.n:,} contexts")
            for rank, share in enumerate(ranks, start=1)
        ]
        table = [(str(rank), _estimate(share), f"{share.n:,}") for rank, share in enumerate(ranks, start=1)]
        spec = steps(points, (0.0, 1.0), "Rank", "Share useful")
        svg = chart(spec, f"{metric}: share of useful contexts at each rank")
        yield FiguresChart(metric, svg, heading, table)


def _point(label: str, estimate: Estimate, description: str) -> ChartPoint:
    return ChartPoint(label, estimate.mean, estimate.ci_low, estimate.ci_high, description)


def lengths_of(summary: Mapping[str, Figures], rows: Tally, scales: Mapping[str, Scale]) -> Iterator[FiguresChart]:
    heading = ["Characters of the response", "Mean", "Scored"]
    for metric, row in summary.items():
        bins = list(by_length(rows, metric, scales[metric])) if row.get("stage") == "generation" else []
        if not bins:
            continue
        points = [
            _point(f"≤{high:,}", mean, f"{low:,} to {high:,} characters: {_estimate(mean)}, {mean.n:,} rows")
            for (low, high), mean in bins
        ]
        spec = steps(points, axis_of(rows.scores[metric], scales[metric]), "Characters of the response", "Mean score")
        table = [(f"{low:,}–{high:,}", _estimate(estimate), f"{estimate.n:,}") for (low, high), estimate in bins]
        yield FiguresChart(metric, chart(spec, f"{metric} by length of the response"), heading, table)


def _estimate(estimate: Estimate) -> str:
    return with_interval(estimate.mean, estimate.ci_low, estimate.ci_high)


LINES = 3  # of scores, or of how many more there are: all are in the row itself


@dataclass(frozen=True)
class ShownRow:
    """A row among the worst; `scores`: the first of its bad ones, `more`: how many there are beside them."""

    row: WorstRow
    scores: Sequence[RowScore]
    more: int


def answer_html(run: Run) -> str:
    """Sentences and worst rows as a fragment of a page; rows lead to `#row=N`. Raises `ResultsError`."""
    rows = whole_tally(run)
    worst, conclusion = worst_rows(run, rows), conclude_run(run, rows, shown_folder(run))
    return render(
        "answer.html",
        conclusion=conclusion,
        next=conclusion.next.replace(program(), NAME, 1),  # not how it was started here: a page goes to others
        worst=[_shown(row) for row in worst],
        references=any(row.reference for row in worst),
    )


def shown_folder(run: Run) -> str:
    """The folder of a run as it was called where it ran, such as `results/demo`; never the folders of that machine."""
    output_dir, name = PurePath(run.config.get("output_dir") or "."), run.manifest.get("name") or run.folder.name
    return str(PurePath(output_dir.name if output_dir.is_absolute() else output_dir, name))


def _shown(row: WorstRow) -> ShownRow:
    """Where none of its scores is bad, those in the middle."""
    bad = [score for score in row.scores if score.tone == "bad"]
    chosen = bad or [score for score in row.scores if score.tone == "middle"]
    shown = len(chosen) if len(chosen) <= LINES else LINES - 1
    return ShownRow(row, chosen[:shown], len(chosen) - shown)
