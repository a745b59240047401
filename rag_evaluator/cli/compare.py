"""`rag-evaluator compare`: what runs differ in, as a table, as JSON or as a CSV file."""

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.cli.options import add_json, with_examples

if TYPE_CHECKING:
    from rag_evaluator.results.comparison import ChangedScore, Comparison

OK = 0
HEADER = b"run,metric,better,group_by,group,n,"  # how the table begins
LETTERS = 160  # of a question or a reason
HEADINGS = {"worse": "became worse", "better": "became better", "missing": "scored by one run only"}


def add_compare_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "compare",
        help="what runs over the same questions differ in, and how sure that is",
        description="Compare runs with the first one, row by row: means, paired difference with its interval, test.",
        **with_examples(
            "rag-evaluator compare results/base results/demo",
            "rag-evaluator compare results/base results/demo --group-by topic --cluster document --csv table.csv",
            "rag-evaluator compare ragas.csv results/demo --on question --json   # scores from elsewhere",
        ),
    )
    command.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="results folders, or tables of scores; the baseline first"
    )
    command.add_argument(
        "--on",
        metavar="COLUMN",
        help="match rows by this column; default: 'id' if every row has its own, else the question",
    )
    command.add_argument(
        "--effect",
        type=float,
        default=0.05,
        help="a difference worth finding: how many rows find it; default: %(default)s",
    )
    command.add_argument("--cluster", metavar="COLUMN", help="rows with the same value here depend on each other")
    command.add_argument(
        "--group-by",
        metavar="COLUMN",
        action="append",
        help="figures also for each value of this column; may be repeated",
    )
    add_json(command)
    command.add_argument("--csv", type=Path, metavar="FILE", help="write the table to a CSV file")
    command.add_argument("--force", action="store_true", help="replace a file that is there and is no such table")


def compare(options: argparse.Namespace) -> int:
    """`rag-evaluator compare results/a results/b`."""
    from rag_evaluator.cli.console import print_json
    from rag_evaluator.comparison.compare import compare as compare_runs
    from rag_evaluator.files.atomic import check_replaceable

    if options.csv:
        check_replaceable(options.csv, HEADER, options.force, options.runs)
    comparison = compare_runs(
        *options.runs, on=options.on, effect=options.effect, cluster=options.cluster, group_by=options.group_by
    )
    if options.csv:
        _write_csv(comparison.records(), options.csv)
    if options.json:
        print_json(comparison.to_json())
    else:
        print_comparison(comparison)
    return OK


def print_comparison(comparison: "Comparison") -> None:
    """What must be known first, then the tables, then the scores that changed most."""
    from rag_evaluator.cli.console import print_parts, say
    from rag_evaluator.results.comparison import tables_of

    print_parts(tables_of(comparison))
    for line in _of_changes(comparison.changed, several=len(comparison.matches) > 1):
        say(line)


def _of_changes(changes: Sequence["ChangedScore"], several: bool) -> Iterator[str]:
    from rag_evaluator.results.comparison import number

    heading = ""
    for change in changes:
        above = HEADINGS[change.direction] + (f", {change.run}" if several else "")
        if above != heading:
            heading = above
            yield f"{heading}:"
        yield f"  {change.metric} {number(change.a)} → {number(change.b)}  {one_line(change.question or change.key)}"
        yield from (f"    first:  {one_line(reason)}" for reason in change.reasons_a)
        yield from (f"    second: {one_line(reason)}" for reason in change.reasons_b)


def one_line(text: str) -> str:
    """One line without control characters, which a terminal would obey."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= LETTERS else line[: LETTERS - 1] + "…"


def _write_csv(records: Sequence[Mapping[str, Any]], path: Path) -> None:
    from rag_evaluator.features.setup.machine import harmless
    from rag_evaluator.files.atomic import write_whole

    def write(to: Path) -> None:
        with to.open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, lineterminator="\r\n")
            lines.writerow(records[0])
            for record in records:
                lines.writerow([harmless(value) if isinstance(value, str) else value for value in record.values()])

    write_whole(path, write)
