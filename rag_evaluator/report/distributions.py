"""How scores are distributed, and what they depend on: histograms, useful contexts by rank, scores by answer length."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from rag_evaluator.report.charts import chart
from rag_evaluator.report.pages import number, page_text
from rag_evaluator.report.ranks import Rank, by_rank
from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.report.specs import Bar, Dot, histogram, steps
from rag_evaluator.report.tally import ScoreBin, Tally, axis_of, bins_of, by_length
from rag_evaluator.trust.estimate import Estimate
from rag_evaluator.trust.scale import Scale

Figures = Mapping[str, Any]  # those of a metric, as in `summary.json`; Any: JSON


@dataclass(frozen=True)
class Drawn:
    """A chart with the table of the same figures: `rows` under `heading`."""

    name: str
    svg: Markup | None
    heading: Sequence[str]
    rows: Sequence[Sequence[str]]


def spreads_of(rows: Tally, scales: Mapping[str, Scale], links: bool) -> Iterator[Drawn]:
    heading = [page_text("spread.scores"), page_text("spread.count")]
    for metric, values in rows.scores.items():
        bins, ends = bins_of(values, scales[metric]), axis_of(values, scales[metric])
        bars = [Bar(one.at, one.count, _said(one), _href(metric, one) if links else None) for one in bins]
        svg = chart(histogram(bars, ends), page_text("spread.chart", metric=metric)) if bars else None
        yield Drawn(metric, svg, heading, [(_range(one), f"{one.count:,}") for one in bins])


def _said(one: ScoreBin) -> str:
    if one.is_value:
        return page_text("spread.value", value=f"{one.at:g}", count=f"{one.count:,}")
    return page_text("spread.bar", low=f"{one.low:.2f}", high=f"{one.high:.2f}", count=f"{one.count:,}")


def _range(one: ScoreBin) -> str:
    return f"{one.at:g}" if one.is_value else f"{one.low:.2f} – {one.high:.2f}"


def _href(metric: str, one: ScoreBin) -> str:
    ends = {"min": _plain(one.low), "max": _plain(one.high)}
    return f"#{urlencode({'metric': metric, **ends}, errors='replace')}"


def _plain(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")


def ranks_of(run: RunFiles, rows: Tally) -> Iterator[Drawn]:
    heading = [page_text("ranks.rank"), page_text("ranks.share"), page_text("means.scored")]
    for metric, ranks in by_rank(run, rows).items():
        points = [_at_rank(rank) for rank in ranks]
        svg = chart(steps(points, (0.0, 1.0), page_text("ranks.rank")), page_text("ranks.chart", metric=metric))
        yield Drawn(metric, svg, heading, [(str(r.rank), _estimate(r.share), f"{r.share.n:,}") for r in ranks])


def _at_rank(rank: Rank) -> Dot:
    said = page_text("ranks.point", rank=rank.rank, value=_estimate(rank.share), count=rank.share.n)
    return Dot(str(rank.rank), rank.share.mean, rank.share.ci_low, rank.share.ci_high, said)


def lengths_of(summary: Mapping[str, Figures], rows: Tally, scales: Mapping[str, Scale]) -> Iterator[Drawn]:
    heading = [page_text("lengths.axis"), page_text("means.mean"), page_text("means.scored")]
    for metric, row in summary.items():
        bins = list(by_length(rows, metric, scales[metric])) if row.get("stage") == "generation" else []
        if not bins:
            continue
        points = [
            Dot(
                f"≤{high}",
                found.mean,
                found.ci_low,
                found.ci_high,
                page_text("lengths.point", low=low, high=high, value=_estimate(found), rows=found.n),
            )
            for (low, high), found in bins
        ]
        spec = steps(points, axis_of(rows.scores[metric], scales[metric]), page_text("lengths.axis"))
        table = [(f"{low}–{high}", _estimate(found), f"{found.n:,}") for (low, high), found in bins]
        yield Drawn(metric, chart(spec, page_text("lengths.chart", metric=metric)), heading, table)


def _estimate(found: Estimate) -> str:
    if found.ci_low is None:
        return number(found.mean)
    return f"{number(found.mean)} [{number(found.ci_low)}, {number(found.ci_high)}]"
