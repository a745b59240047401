"""The figures of groups of rows: their charts, and the table of all."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from rag_evaluator.report.charts import chart
from rag_evaluator.report.labels import in_order, short
from rag_evaluator.report.means import MetricLine, line, with_ends
from rag_evaluator.report.pages import page_text
from rag_evaluator.report.specs import Dot, dots
from rag_evaluator.results.panel_names import BETWEEN
from rag_evaluator.trust.scale import Scale

Figures = Mapping[str, Any]  # those of a metric, as in `summary.json`; Any: JSON
GROUPS, LONGEST = 40, 160  # in a chart; letters of a name there


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
            {metric: _chart(metric, column, *panel) for metric, panel in panels.items()},
            len(shown),
        )


def _chart(metric: str, column: str, rows: Sequence[Dot], ends: tuple[float, float]) -> Markup | None:
    """None where no group has a score."""
    if all(row.value is None for row in rows):
        return None
    return chart(dots(rows, ends), page_text("groups.chart", metric=metric, column=column))


def _dot(label: str, group: str, row: Figures) -> Dot:
    said = page_text("groups.point", group=group[:LONGEST], value=with_ends(row), rows=row["scored"])
    return Dot(label, row["mean"], row.get("ci_low"), row.get("ci_high"), said)


def _ends(scale: Scale) -> tuple[float, float]:
    return scale.low, scale.high
