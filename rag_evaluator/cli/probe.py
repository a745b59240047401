"""`rag-evaluator probe`: what the judge notices, as a table."""

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rag_evaluator.cli.start import OK, beginning, read_config
from rag_evaluator.results.shown import interval

if TYPE_CHECKING:
    from rag_evaluator.signals import Stop


def probe(options: argparse.Namespace, stop: "Stop") -> int:
    """`rag-evaluator probe config.yaml`: change rows for the worse, and look whether the judge notices."""
    if options.sample is not None:
        options.set = [*options.set, f"probe.sample={options.sample}"]
    config, (worker, start) = read_config(options), beginning(options)
    from rag_evaluator.api.evaluator import RAGEvaluator
    from rag_evaluator.api.probe import run_probe
    from rag_evaluator.cli.console import progress_of, say
    from rag_evaluator.tasks.probe.stage import FOLDER, read_report

    with progress_of("scores") as progress:
        run_probe(RAGEvaluator(config), config.results_dir, None, worker, progress, stop, start)
    report = read_report(config.results_dir)
    _print(config.name, report)
    say(f"changed rows with both scores: {config.results_dir / FOLDER}")
    return OK


def _print(name: str, report: Mapping[str, Any]) -> None:
    from rag_evaluator.cli.console import print_table, say

    print_table(
        f"{name}: what the judge notices, {report['rows']} rows",
        [
            ("metric", "left"),
            ("probe", "left"),
            ("pairs", "right"),
            ("worse/equal/better", "right"),
            ("floor", "right"),
            ("share", "right"),
            ("", "left"),
        ],
        list(_rows(report["metrics"])),
    )
    say("share: of pairs in which the changed side is worse, half of the equal ones counted; of controls: false alarms")
    for probe, count in report["usable"].items():
        if count < report["rows"]:
            say(f"  {probe}: {count} of {report['rows']} rows can be changed with certainty")


def _rows(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[list[str]]:
    for metric, cells in metrics.items():
        for position, (probe, cell) in enumerate(cells.items()):
            ways = "/".join(str(cell[way]) for way in ("falls", "ties", "rises"))
            share = interval(cell["share"])
            first = "" if position else metric
            yield [first, probe, str(cell["pairs"]), ways, str(cell["floor"]), share, cell["word"] or "control"]
