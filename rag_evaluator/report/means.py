"""The table of means: for each metric its line, and the mark that shows mean, interval and bounds on its range."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from rag_evaluator.report.pages import number
from rag_evaluator.results.overview import by_stage
from rag_evaluator.results.panel_names import BETWEEN
from rag_evaluator.results.summary import reporting_of
from rag_evaluator.statistics.formulas import Scale

REASONS = 50  # that are shown of a metric; all are in `summary.json`
Figures = Mapping[str, Any]  # those of a metric, as in `summary.json`; Any in this module: JSON


@dataclass(frozen=True)
class IntervalMark:
    """Where the parts of a mark are, in percent of its width; None: there is no such part.

    Attributes:
        mean, low, high: mean and interval.
        bound_low, bound_high: what the mean would be, were all missing scores the worst, or the best.
        zero: the place of 0 within a range that goes below it.
        threshold: from which a row passes.
        ends: the range, as shown where it is not 0 to 1.
    """

    mean: str | None
    low: str | None
    high: str | None
    bound_low: str | None = None
    bound_high: str | None = None
    zero: str | None = None
    threshold: str | None = None
    ends: tuple[str, str] | None = None

    @property
    def band(self) -> str | None:
        """The width of the bounds; None where nothing is missing."""
        if self.bound_low is None or self.bound_high is None or self.bound_low == self.bound_high:
            return None
        return _rounded(float(self.bound_high[:-1]) - float(self.bound_low[:-1]))


@dataclass(frozen=True)
class MetricLine:
    """A metric as the table shows it; `notes` are sentences below it, `reasons` why scores are missing, with counts."""

    metric: str
    of_judge: bool
    lower_is_better: bool
    mark: IntervalMark
    mean: str
    interval: str
    why_no_interval: str
    median: str
    std: str
    scored: int
    count: int
    notes: Sequence[str]
    reasons: Sequence[tuple[str, int]]
    missing_href: str

    @property
    def missing(self) -> int:
        return self.count - self.scored


@dataclass(frozen=True)
class StageMeans:
    """The metrics of a stage: `retrieval`, `generation` or `other`."""

    name: str
    lines: Sequence[MetricLine]


def scales_of(manifest: Mapping[str, Any], summary: Mapping[str, Figures]) -> dict[str, Scale]:
    """The scale of each metric; for one that nobody has described the range of what is known of its scores."""
    known = reporting_of(manifest).scales
    return {metric: known.get(metric) or _seen(row) for metric, row in summary.items()}


def _seen(row: Figures) -> Scale:
    ends = [row[key] for key in ("ci_low", "ci_high", "bound_low", "bound_high", "mean") if row.get(key) is not None]
    return Scale(min([0.0, *ends]), max([1.0, *ends]), row.get("kind", "continuous"), row.get("better", "higher"))


def stages(
    summary: Mapping[str, Figures], scales: Mapping[str, Scale], thresholds: Mapping[str, float]
) -> list[StageMeans]:
    """The tables, in the order shown."""
    return [
        StageMeans(name, [line(metric, row, scales[metric], thresholds.get(metric)) for metric, row in part.items()])
        for name, part in by_stage(summary)
    ]


def line(metric: str, row: Figures, scale: Scale, threshold: float | None = None) -> MetricLine:
    """A metric's line."""
    low, method = row.get("ci_low"), str(row.get("ci_method") or "")
    return MetricLine(
        metric=metric,
        of_judge=BETWEEN in metric,
        lower_is_better=scale.better == "lower",
        mark=mark(row, scale, threshold),
        mean=number(row["mean"]),
        interval="" if low is None else f"[{number(low)}, {number(row['ci_high'])}]",
        why_no_interval=method.partition(": ")[2] if method.startswith(("none", "range")) else "",
        median=number(row.get("median")),
        std=number(row.get("std")),
        scored=row["scored"],
        count=row["count"],
        notes=list(_notes(row)),
        reasons=list(row["reasons"].items())[:REASONS],
        missing_href=f"#{urlencode({'metric': metric, 'missing': 1}, errors='replace')}",
    )


def mark(row: Figures, scale: Scale, threshold: float | None = None) -> IntervalMark:
    """The mark of figures on the range of their metric."""

    def place(value: float | None) -> str | None:
        return None if value is None else _rounded(100 * (min(max(value, scale.low), scale.high) - scale.low) / width)

    width = scale.width or 1.0
    return IntervalMark(
        place(row["mean"]),
        place(row.get("ci_low")),
        place(row.get("ci_high")),
        place(row.get("bound_low")),
        place(row.get("bound_high")),
        place(0.0) if scale.low < 0 < scale.high else None,
        place(threshold),
        None if (scale.low, scale.high) == (0.0, 1.0) else _ends(scale),
    )


def _ends(scale: Scale) -> tuple[str, str]:
    return f"{scale.low:g}".replace("-", "−"), f"{scale.high:g}".replace("-", "−")


def _rounded(percent: float) -> str:
    return f"{percent:.1f}%"


def _notes(row: Figures) -> Iterator[str]:
    """What else is known of a metric, a sentence each."""
    if warning := row.get("ci_warning"):
        yield f"warning: {warning}"
    if rate := row.get("pass_rate"):
        sign = "≤" if row.get("better") == "lower" else "≥"
        yield f"passes {sign} {rate['threshold']:g}: {with_ends(rate)}"
    if outcomes := row.get("outcomes"):
        yield "outcomes: " + ", ".join(f"{name} {count}" for name, count in outcomes.items())
    if row.get("scored", 0) < row.get("count", 0) and row.get("bound_low") is not None:
        yield f"bounds {number(row['bound_low'])} to {number(row['bound_high'])}"
    if row.get("dropped"):
        yield f"{row['dropped']} rows with contexts left out, as they did not fit the judge's window"
    if row.get("repeats"):
        noise, icc = number(row.get("stderr_rerun"), 4), number(row.get("icc"))
        yield f"{row['repeats']} repeats: the mean varies by {noise} (sd) between runs, ICC {icc}"
    if panel := row.get("panel"):
        means = ", ".join(f"{judge} {number(mean)}" for judge, mean in panel["judges"].items())
        alpha = number(panel["alpha"]) if panel.get("alpha") is not None else f"– ({panel.get('alpha_reason')})"
        yield f"agreement of the judges: alpha {alpha} over {panel['rows']} rows; {means}"
    if labels := row.get("labels"):
        share = with_ends({**labels, "mean": labels.get("label_mean")})
        yield f"mean of people's labels: {share}"


def with_ends(row: Figures) -> str:
    """A mean with its interval: `0.81 [0.74, 0.86]`."""
    if row.get("ci_low") is None:
        return number(row.get("mean"))
    return f"{number(row['mean'])} [{number(row['ci_low'])}, {number(row['ci_high'])}]"
