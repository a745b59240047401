"""What a probe found, as a table and sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

from rag_evaluator.results.overview import Grid
from rag_evaluator.results.shown import interval

COLUMNS = (
    ("metric", "left"),
    ("probe", "left"),
    ("worse/same/better", "right"),
    ("floor", "right"),
    ("missing", "right"),
    ("share", "right"),
    ("", "left"),
)


def parts_of(report: Mapping[str, Any], name: str = "") -> Iterator[Grid | str]:
    """What the judge notices. Any: JSON, as in `probe.json`.

    Args:
        name: of the run.
    """
    title = f"{name}: what" if name else "what"
    yield Grid(f"{title} the judge notices, {report['rows']} rows", COLUMNS, list(_rows(report["metrics"])))
    yield "share: of a probe, pairs whose changed side is worse, with half of the same ones; of a control, false alarms"
    yield from _worst(report["metrics"])
    few = {probe: about["rows"] for probe, about in report["probes"].items() if about["rows"] < report["rows"]}
    for probe, count in few.items():
        yield f"{probe}: {count} of {report['rows']} rows can be changed with certainty"
    yield from report["notes"]


def _worst(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What to do about cells in which every score is the worst."""
    for metric, cells in metrics.items():
        probes = [probe for probe, cell in cells.items() if cell["word"] == "always worst"]
        if probes:
            yield (
                f"{metric}: the judge gave the worst score to every text, the good ones too ({', '.join(probes)}); a "
                "larger sample does not help. Read some of its answers, then change the judge or its prompts"
            )


def _rows(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[list[str]]:
    for metric, cells in metrics.items():
        for position, (probe, cell) in enumerate(cells.items()):
            ways = "/".join(str(cell[way]) for way in ("falls", "ties", "rises"))
            counts = [str(cell[name]) if cell[name] else "" for name in ("floor", "missing")]
            first = "" if position else metric
            yield [first, probe, ways, *counts, interval(cell["share"]), cell["word"] or "control"]
