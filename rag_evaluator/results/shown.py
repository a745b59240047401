"""How the table on the screen and the spreadsheet show figures: under their stage, a mean with its interval."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

STAGES = ("retrieval", "generation", "other")  # in the order shown; metrics of which no stage is known are `other`
Figures = Mapping[str, Any]  # those of a metric, as in `summary.json`


def interval(row: Figures, none: str = "-") -> str:
    """A mean with its interval: `0.81 [0.74, 0.86]`; with four digits where it has none."""
    if row["mean"] is None:
        return none
    if row.get("ci_low") is None:
        return f"{row['mean']:z.4f}"
    return f"{row['mean']:z.2f} [{row['ci_low']:z.2f}, {row['ci_high']:z.2f}]"


def mean_heading(rows: Iterable[Figures]) -> str:
    """The heading of a column of means: `mean [95 % interval]`."""
    levels = {f" [{100 * row['ci_level']:g} % interval]" for row in rows if "ci_level" in row}
    return f"mean{''.join(sorted(levels))}"


def by_stage(summary: Mapping[str, Figures]) -> Iterator[tuple[str, dict[str, Figures]]]:
    """The metrics of each stage that has any, in their order; all under an empty name if no stage is known."""
    stages = {name: row["stage"] if row.get("stage") in STAGES else "other" for name, row in summary.items()}
    if set(stages.values()) <= {"other"}:
        yield "", dict(summary)
        return
    for stage in STAGES:
        if part := {name: row for name, row in summary.items() if stages[name] == stage}:
            yield stage, part
