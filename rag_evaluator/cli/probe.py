"""`rag-evaluator probe`: what the judge notices, as a table."""

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rag_evaluator.cli.start import LIBRARIES, OK, beginning, read_config
from rag_evaluator.progress import ACTIVITY
from rag_evaluator.results.shown import interval

NOTHING = 1  # exit code: nothing could be scored

if TYPE_CHECKING:
    from rag_evaluator.signals import Stop


def probe(options: argparse.Namespace, stop: "Stop") -> int:
    """`rag-evaluator probe config.yaml`: change rows for the worse, and look whether the judge notices."""
    if options.sample is not None:
        options.set = [*options.set, f"probe.sample={options.sample}"]
    config, (worker, start) = read_config(options), beginning(options)
    with ACTIVITY.phase(LIBRARIES):
        from rag_evaluator.api.evaluator import RAGEvaluator
        from rag_evaluator.api.probe import run_probe
    from rag_evaluator.cli.console import say
    from rag_evaluator.tasks.probe.stage import FOLDER, read_report

    with ACTIVITY.counted("scores") as progress:
        run_probe(RAGEvaluator(config), config.results_dir, None, worker, progress, stop, start)
    report = read_report(config.results_dir)
    _print_report(config.name, report)
    say(f"changed rows with both scores: {config.results_dir / FOLDER}")
    return OK if any(cell["share"]["n"] for cells in report["metrics"].values() for cell in cells.values()) else NOTHING


def _print_report(name: str, report: Mapping[str, Any]) -> None:
    from rag_evaluator.cli.console import print_table, say

    columns = [
        ("metric", "left"),
        ("probe", "left"),
        ("worse/same/better", "right"),
        ("floor", "right"),
        ("missing", "right"),
        ("share", "right"),
        ("", "left"),
    ]
    print_table(f"{name}: what the judge notices, {report['rows']} rows", columns, _lines(report["metrics"]))
    say("share: of a probe, pairs whose changed side is worse, with half of the same ones; of a control, false alarms")
    few = {probe: about["rows"] for probe, about in report["probes"].items() if about["rows"] < report["rows"]}
    for probe, count in few.items():
        say(f"{probe}: {count} of {report['rows']} rows can be changed with certainty")
    for reason in report["notes"]:
        say(reason)


def _lines(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[list[str]]:
    for metric, cells in metrics.items():
        for position, (probe, cell) in enumerate(cells.items()):
            ways = "/".join(str(cell[way]) for way in ("falls", "ties", "rises"))
            counts = [str(cell[name]) if cell[name] else "" for name in ("floor", "missing")]
            first = "" if position else metric
            yield [first, probe, ways, *counts, interval(cell["share"]), cell["word"] or "control"]
