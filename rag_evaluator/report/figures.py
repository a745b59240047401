"""The figures of a run as HTML, from its summary and from all of its rows."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
from markupsafe import Markup

from rag_evaluator.config import hooks
from rag_evaluator.resources import for_others
from rag_evaluator.results import Floats, Run, Tally, WorstRow, conclude_run, faults_of, worst_rows
from rag_evaluator.statistics import TIE, Scale

from .charts import (
    ChartPoint,
    chart,
    chart_labels,
    dots,
    in_order,
    why_no_charts,
)
from .facts import MetricLine, judged_by, line_of
from .pages import number, render, rows_link
from .table import group_name, names_of, rows_of

GROUPS = 40  # in a chart
BARS = 20  # beside each other
HEIGHT = 80  # of the highest, pixels
LINES = 3  # of scores, or of how many more there are: all are in the row itself


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
        parts = [(value, seen[which == place]) for place, value in enumerate(distinct.tolist())]
        return [
            ScoreBin(_beside(part.min(), -1), _beside(part.max(), 1), len(part), value, True) for value, part in parts
        ]
    edges = low + step * np.arange(most + 1) - TIE
    places = np.clip(np.searchsorted(edges, seen, side="right") - 1, 0, most - 1)
    counts = np.bincount(places, minlength=most).tolist()
    ends = [_beside(low, -1), *edges[1:-1].tolist(), _beside(high, 1)]
    return [ScoreBin(ends[k], ends[k + 1], counts[k], low + step * (k + 0.5)) for k in range(most)]


def axis_of(values: Floats, scale: Scale) -> tuple[float, float]:
    """The range that scores are shown on."""
    seen = values[~np.isnan(values)]
    low = 0.0 if scale.low < 0 < scale.high and (not len(seen) or seen.min() >= 0) else scale.low
    return (low, scale.high) if not len(seen) else (min(low, float(seen.min())), max(scale.high, float(seen.max())))


def _beside(value: float, side: int) -> float:
    """With six decimals, and not above the value where `side` is -1, not below it where it is 1."""
    near = round(float(value), 6)
    return near if side * (near - value) >= 0 else near + side * TIE


def figures_html(run: Run) -> str:
    """The charts of a run, and what is known of its judge, as a fragment of a page. Scores lead to their rows, by
    `#metric=faithfulness&min=0.2&max=0.3`. Raises `ResultsError` for files that cannot be read.
    """
    return render(
        "figures.html",
        judged_by=judged_by(run),
        known=[Markup(part) for part_of in hooks("report") if (part := part_of(run))],
        groups=list(groups_of(run.tally)),
        spreads=list(spreads_of(run.tally)),
        no_charts=why_no_charts(),
        height=HEIGHT,
    )


def groups_of(tally: Tally) -> Iterator[dict[str, Any]]:
    """The groups of each column, and a chart of the largest for each metric; None where none has a score."""
    summary = tally.summary
    scales = tally.scales
    for column in dict.fromkeys(column for row in summary.values() for column in row.get("groups", {})):
        by_metric = {
            metric: row["groups"][column] for metric, row in summary.items() if column in row.get("groups", {})
        }
        counts = {name: row["count"] for groups in by_metric.values() for name, row in groups.items()}
        names = in_order(counts)
        shown = sorted(sorted(names, key=lambda name: -counts[name])[:GROUPS], key=names.index)
        labels = dict(zip(shown, chart_labels(shown), strict=True))
        cells = {
            name: [MetricLine(metric, groups[name], scales[metric]) for metric, groups in by_metric.items()]
            for name in names
        }
        charts: dict[str, Markup | None] = {}
        for metric, groups in by_metric.items():
            rows = [(label, groups[name]) for name, label in labels.items()]
            points = [ChartPoint(label, row["mean"], row.get("ci_low"), row.get("ci_high")) for label, row in rows]
            ends = (scales[metric].low, scales[metric].high)
            says = "mean and interval of each group"
            is_known = any(point.value is not None for point in points)
            charts[metric] = chart(dots(points, ends), f"{metric} by {column}: {says}") if is_known else None
        links = {name: rows_link(**{f"group:{column}": group_name(name)}) for name in names}
        yield {
            "column": column,
            "counts": counts,
            "links": links,
            "cells": cells,
            "charts": charts,
            "shown": len(shown),
        }


def spreads_of(tally: Tally) -> Iterator[tuple[str, list[dict[str, Any]], list[str]]]:
    """The distribution of each metric: its bars, and the ends of the axis. Any: see `figures.html`."""
    for metric, values in tally.scores.items():
        bins = bins_of(values, tally.scales[metric])
        low, high = axis_of(values, tally.scales[metric])
        width = 100 / (BARS + 1)
        most = max((score_bin.count for score_bin in bins), default=1)
        bars = []
        for score_bin in bins:
            scores = f"{score_bin.at:g}" if score_bin.is_value else f"{score_bin.low:.2f} – {score_bin.high:.2f}"
            least, largest = (f"{end:.6f}".rstrip("0").rstrip(".") for end in (score_bin.low, score_bin.high))
            share = (score_bin.at - low) / ((high - low) or 1.0)
            bars.append(
                {
                    "scores": scores,
                    "count": score_bin.count,
                    "href": rows_link(metric=metric, min=least, max=largest),
                    "x": f"{share * (100 - width):.2f}%",
                    "width": f"{width - 0.6:.2f}%",
                    "height": math.ceil(HEIGHT * score_bin.count / most),
                }
            )
        yield metric, bars, [number(low), number(high)]


def answer_html(run: Run) -> str:
    """Sentences and worst rows as a fragment of a page; rows lead to `#row=N`. Raises `ResultsError`."""
    worst = worst_rows(run)
    conclusion = conclude_run(run, shown_folder(run))
    tiles = [MetricLine(metric, row, run.tally.scales[metric]) for metric, row in run.summary.items()]
    return render(
        "answer.html",
        line=line_of(run),
        tiles=[(tile, faults_of(run.tally, tile.metric).capitalize()) for tile in tiles],
        conclusion=conclusion,
        next=for_others(conclusion.next),
        of="",
        place="worst",
        worst=[_shown(row, row.number, row.name) for row in worst],
    )


def worst_html(runs: Sequence[Run], on: str) -> str:
    """The worst rows of each run but the first, the baseline, as a fragment of a page. Raises `ResultsError`.

    Args:
        on: the column by which rows belong together.
    """
    table = enumerate(rows_of(runs, on))
    called = {
        (place, own): (number, row.label or str(number + 1))
        for number, row in table
        for place, own in enumerate(row.numbers)
    }
    parts = []
    for place, (run, name) in enumerate(list(zip(runs, names_of(runs), strict=True))[1:], start=1):
        worst = worst_rows(run)
        shown = [_shown(row, *called[place, row.number]) for row in worst]
        parts.append(render("worst.html", of=name, place=f"worst-{place}", worst=shown, lines_of=names_of(runs)[0]))
    return "\n".join(parts)


def shown_folder(run: Run) -> str:
    """The folder of a run as it was called where it ran, such as `results/demo`; never the folders of that machine."""
    output_dir = PurePath(run.config.get("output_dir") or ".")
    return str(PurePath(output_dir.name if output_dir.is_absolute() else output_dir, run.title))


def _shown(row: WorstRow, number: int, name: str) -> dict[str, Any]:
    """A row with the first of its bad scores, and how many more there are; where none is bad, those in the middle.

    Args:
        number, name: of the row in the table of all rows.
    """
    bad = [score for score in row.scores if score.tone == "bad"]
    chosen = bad or [score for score in row.scores if score.tone == "middle"]
    shown = len(chosen) if len(chosen) <= LINES else LINES - 1
    return {"row": row, "number": number, "name": name, "scores": chosen[:shown], "more": len(chosen) - shown}
