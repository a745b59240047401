"""`rag-evaluator probe`: what the judge notices, as a table."""

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rag_evaluator.cli.start import OK, beginning, read_config

if TYPE_CHECKING:
    from rag_evaluator.signals import Stop

ARROWS = {"falls": "fell", "ties": "tied", "rises": "rose"}


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
    from rich.table import Table

    from rag_evaluator.cli.console import print_table, say
    from rag_evaluator.tasks.probe.table import PROBES

    table = Table(title=f"{name}: does the judge notice? {report['rows']} rows")
    for heading in ("metric", "probe", "pairs", "fell/tied/rose", "floor", "win share", "word"):
        table.add_column(heading, justify="left" if heading in ("metric", "probe", "word") else "right")
    for metric, cells in report["metrics"].items():
        table.add_section()
        for position, (probe, cell) in enumerate(cells.items()):
            counts = "/".join(str(cell[way]) for way in ARROWS)
            kind = "alarms" if PROBES[probe].is_control else ""
            table.add_row(
                metric if position == 0 else "",
                probe,
                str(cell["pairs"]),
                counts,
                str(cell["floor"]),
                _share(cell["share"]),
                cell["word"] or f"control: share of {kind}",
            )
    print_table(table)
    for probe, count in report["usable"].items():
        if count < report["rows"]:
            say(f"  {probe}: {count} of {report['rows']} rows can be changed with certainty")


def _share(share: Mapping[str, Any]) -> str:
    if share["mean"] is None:
        return "-"
    return f"{share['mean']:.2f} [{share['ci_low']:.2f}, {share['ci_high']:.2f}]"
