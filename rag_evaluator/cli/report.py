"""`rag-evaluator report`: one HTML file that shows a run, or several beside each other."""

import argparse
from pathlib import Path
from typing import Any

from rag_evaluator.cli.options import with_examples

OK = 0


def add_report_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "report",
        help="one HTML file with figures, rows and what the judge said; needs no network",
        description="Write a finished run, or several beside each other, to one HTML file for a browser.",
        **with_examples(
            "rag-evaluator report results/demo                                   # results/demo/report.html",
            "rag-evaluator report results/base results/demo --out report.html    # the baseline first",
        ),
    )
    command.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="results folders; the baseline first")
    command.add_argument(
        "--out", type=Path, metavar="FILE", help="default: RUN/report.html; of several runs report.html in this folder"
    )
    command.add_argument("--force", action="store_true", help="replace a file that is there and is no report")
    command.add_argument("--on", metavar="COLUMN", help="match rows of several runs by this column, as in compare")


def report(options: argparse.Namespace) -> int:
    """`rag-evaluator report results/a results/b`."""
    from rag_evaluator.cli.console import say
    from rag_evaluator.comparison.compare import write_report

    path = write_report(*options.runs, out=options.out, on=options.on, force=options.force)
    say(f"written: {path} ({path.stat().st_size / 1e6:.1f} MB). Open it in a browser.")
    return OK
