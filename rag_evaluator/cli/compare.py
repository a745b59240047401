"""`rag-evaluator compare`: what runs differ in, as a table, as JSON or as a CSV file."""

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.cli.examples import with_examples

if TYPE_CHECKING:
    from rag_evaluator.results.comparison import (
        ChangedScore,
        ComparedMetric,
        Comparison,
        LabelDifference,
        RowMatch,
    )

OK = 0
LETTERS = 160  # of a question or a reason
FIGURES = ("first", "second", "difference", "won/tie/lost")
TESTS, POWER = ("p", "p Holm"), ("detectable",)
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
    command.add_argument("--json", action="store_true", help="everything as JSON on standard output")
    command.add_argument("--csv", type=Path, metavar="FILE", help="write the table to a CSV file")


def compare(options: argparse.Namespace) -> int:
    """`rag-evaluator compare results/a results/b`."""
    from rag_evaluator.api.compare import compare as compare_runs
    from rag_evaluator.files.json_text import json_text

    comparison = compare_runs(
        *options.runs, on=options.on, effect=options.effect, cluster=options.cluster, group_by=options.group_by
    )
    if options.csv:
        _write_csv(comparison.records(), options.csv)
    if options.json:
        print(json_text(comparison.to_json()), end="")
    else:
        print_comparison(comparison)
    return OK


def print_comparison(comparison: "Comparison") -> None:
    """What must be known first, then the tables, then the scores that changed most."""
    from rag_evaluator.cli.console import print_table, say

    for sentence in comparison.caveats:
        say(sentence)
    for match in comparison.matches:
        for line in _of_match(comparison, match):
            say(line)
        title, needed = f"{comparison.runs[0]} → {match.run}", f"rows\nfor {comparison.effect:g}"
        lines = _lines_of(comparison.metrics, match.run)
        print_table(title, [("metric", "left"), *_right(*FIGURES, *TESTS, *POWER, needed)], map(_cells, lines))
        if groups := _lines_of(comparison.groups, match.run):
            rows = [
                [f"{line.group_by}: {line.group}", str(line.figures.difference.n), *_figures(line)] for line in groups
            ]
            print_table(
                "groups, not tested", [("group", "left"), *_right("rows"), ("metric", "left"), *_right(*FIGURES)], rows
            )
    for difference in comparison.labels:
        say(_of_labels(difference))
    for line in _of_changes(comparison.changed, several=len(comparison.matches) > 1):
        say(line)


def _of_labels(line: "LabelDifference") -> str:
    start = f"{line.metric}, by people's labels of {line.both} rows, {line.run}: "
    if line.figures is None or line.figures.label_mean is None:
        return start + (line.reason or (line.figures.ci_method if line.figures else ""))
    mean = line.figures
    return start + f"difference {_number(mean.label_mean)} [{_number(mean.ci_low)}, {_number(mean.ci_high)}]"


def _lines_of(lines: Sequence["ComparedMetric"], run: str) -> list["ComparedMetric"]:
    return [line for line in lines if line.run == run]


def _of_match(comparison: "Comparison", match: "RowMatch") -> Iterator[str]:
    """How many rows belong together, and what does not count."""
    baseline = comparison.runs[0]
    yield f"{match.matched} rows of {baseline} and {match.run} matched by '{comparison.on}'"
    if match.unmatched_a or match.unmatched_b:
        yield f"  without a partner: {match.unmatched_a} rows of {baseline}, {match.unmatched_b} of {match.run}"
    if match.repeated:
        yield f"  {match.repeated} of them have several answers, whose scores are averaged"
    for line in _lines_of(comparison.metrics, match.run):
        if line.figures.only_a or line.figures.only_b:
            only = f"{line.figures.only_a} only in {baseline}, {line.figures.only_b} only in {match.run}"
            yield f"  {line.figures.metric}: rows that one run scored: {only}"


def _right(*headings: str) -> list[tuple[str, str]]:
    return [(heading, "right") for heading in headings]


def _cells(line: "ComparedMetric") -> list[str]:
    figures = line.figures
    needed = "-" if figures.rows_needed is None else f"{figures.rows_needed:,}"
    tests = [_number(p, 4) for p in (figures.p, figures.p_holm)]
    return [*_figures(line), *tests, _number(figures.smallest_difference), needed]


def _figures(line: "ComparedMetric") -> list[str]:
    figures, difference = line.figures, line.figures.difference
    interval = "-"
    if difference.mean is not None:
        interval = f"{_number(difference.mean)} [{_number(difference.ci_low)}, {_number(difference.ci_high)}]"
    counts = f"{figures.wins}/{figures.ties}/{figures.losses}"
    return [figures.metric, _number(figures.mean_a), _number(figures.mean_b), interval, counts]


def _of_changes(changes: Sequence["ChangedScore"], several: bool) -> Iterator[str]:
    heading = ""
    for change in changes:
        above = HEADINGS[change.direction] + (f", {change.run}" if several else "")
        if above != heading:
            heading = above
            yield f"{heading}:"
        yield f"  {change.metric} {_number(change.a)} → {_number(change.b)}  {one_line(change.question or change.key)}"
        yield from (f"    first:  {one_line(reason)}" for reason in change.reasons_a)
        yield from (f"    second: {one_line(reason)}" for reason in change.reasons_b)


def _number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def one_line(text: str) -> str:
    """One line without control characters, which a terminal would obey."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= LETTERS else line[: LETTERS - 1] + "…"


def _write_csv(records: Sequence[Mapping[str, Any]], path: Path) -> None:
    from rag_evaluator.dataset.formulas import harmless
    from rag_evaluator.files.atomic import write_whole

    def write(to: Path) -> None:
        with to.open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, lineterminator="\r\n")
            lines.writerow(records[0])
            for record in records:
                lines.writerow([harmless(value) if isinstance(value, str) else value for value in record.values()])

    write_whole(path, write)
