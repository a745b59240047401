"""The sheet `summary` of a workbook: a row for each metric and for each of its groups, under the metric's stage."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_evaluator.results.sheet import GENERAL, SCORE, SHARE, Sheet
from rag_evaluator.results.shown import Figures, by_stage, interval, mean_heading
from rag_evaluator.results.summary import Summary, flat_rows

FIRST = ("metric", "group_by", "group")
NUMBERS = {
    **dict.fromkeys(("coverage", "pass_mean", "pass_ci_low", "pass_ci_high"), SHARE),
    **dict.fromkeys(("ci_level", "pass_ci_level"), GENERAL),
}


def add_summary(worksheet: Any, formats: Mapping[str, Any], summary: Summary) -> None:
    """Write what `summary.json` says but the reasons, and each mean with its interval as text."""
    found = summary.to_json()
    shown = mean_heading(found.values())
    columns = _columns(found, shown)
    sheet = Sheet(worksheet, formats, columns, NUMBERS, SCORE)
    for stage, metrics in by_stage(found):
        if stage:
            sheet.add([stage], bold=True)
        for metric, figures in metrics.items():
            first = sheet.row + 1
            for row in flat_rows({metric: figures}):
                sheet.add([{**row, shown: interval(row)}.get(column) for column in columns])
            sheet.colour(columns.index("mean"), first, sheet.row, summary.scale(metric))
    sheet.finish(filtered=False, frozen=1)  # sorting would part the headings from their metrics


def _columns(summary: Mapping[str, Figures], shown: str) -> Sequence[str]:
    there = dict.fromkeys(column for row in flat_rows(summary) for column in row)
    first = [column for column in FIRST if column in there]
    return [*first, shown, *(column for column in there if column not in first)]
