"""`rag-evaluator compare`, `gate` and `report`: what finished runs say, alone or beside each other."""

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.cli.options import FAILED, OK, add_json, with_examples
from rag_evaluator.errors import ConfigError

if TYPE_CHECKING:
    from rag_evaluator.results.changes import ChangedScore, ScorePair

HEADER = b"run,metric,better,group_by,group,n,"  # how the table begins
LETTERS = 160  # of a question, a response or what changed
HEADINGS = {
    "worse": "became worse",
    "better": "became better",
    "differs": "changed",
    "missing": "scored by one run only",
}


def add_compare_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "compare",
        help="what runs over the same questions differ in, and how sure that is",
        description="Compare runs with the first one, row by row: means, paired difference with its interval, test.",
        **with_examples(
            "rag-evaluator compare results/base results/demo",
            "rag-evaluator compare results/base results/demo --group-by topic --cluster document --csv table.csv",
            "rag-evaluator compare results/base results/demo --margin 0.05   # what lies within it is called equal",
            "rag-evaluator compare ragas.csv results/demo --on question --json   # scores from elsewhere",
        ),
    )
    command.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="results folders, or tables of scores; the baseline first"
    )
    command.add_argument(
        "--effect",
        type=float,
        default=0.05,
        help="a difference worth finding: how many rows find it; default: %(default)s",
    )
    command.add_argument(
        "--group-by",
        metavar="COLUMN",
        action="append",
        help="figures also for each value of this column; may be repeated",
    )
    _add_pairing(command)
    add_json(command)
    command.add_argument("--csv", type=Path, metavar="FILE", help="write the table to a CSV file")
    command.add_argument("--force", action="store_true", help="replace a file that is there and is no such table")


def compare(options: argparse.Namespace) -> int:
    """`rag-evaluator compare results/a results/b`."""
    from rag_evaluator.cli.console import print_json, print_parts, say
    from rag_evaluator.comparison.compare import compare as compare_runs
    from rag_evaluator.files.atomic import check_replaceable

    if options.csv:
        check_replaceable(options.csv, HEADER, options.force, options.runs)
    comparison = compare_runs(
        *options.runs,
        on=options.on,
        effect=options.effect,
        cluster=options.cluster,
        group_by=options.group_by,
        margin=_margin(options.margin),
        better=dict(_better(text) for text in options.better),
    )
    if options.csv:
        _write_csv(comparison.records(), options.csv)
    if options.json:
        print_json(comparison.to_json())
        return OK
    print_parts(comparison.overview())  # what must be known first, then the tables
    for line in _of_changes(comparison.changed, several=len(comparison.matches) > 1):
        say(line)
    return OK


def _of_changes(changes: Sequence["ChangedScore"], several: bool) -> Iterator[str]:
    """The rows that changed most, with what the judge said of them."""
    from rag_evaluator.results.conclusion import listed

    heading = ""
    for change in changes:
        above = HEADINGS[change.direction] + (f", {change.run}" if several else "")
        if above != heading:
            heading = above
            yield f"{heading}:"
        yield f"  {_scores(change)}  {one_line(change.question or change.key)}"
        for sentence, reason in change.says():
            yield f"    {one_line(sentence + (f'. {reason}' if reason else ''))}"
        if change.also:
            yield f"    also changed: {listed(map(_scores, change.also))}"
        if change.response_a != change.response_b:
            yield f"    first:  {one_line(change.response_a or '-')}"
            yield f"    second: {one_line(change.response_b or '-')}"


def _scores(change: "ChangedScore | ScorePair") -> str:
    from rag_evaluator.results.changes import from_to

    return f"{change.metric} {' → '.join(from_to(change.a, change.b))}"


def one_line(text: str) -> str:
    """One line without control characters, which a terminal would obey."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= LETTERS else line[: LETTERS - 1] + "…"


def _write_csv(records: Sequence[Mapping[str, Any]], path: Path) -> None:
    from rag_evaluator.dataset.readers.spreadsheets import harmless
    from rag_evaluator.files.atomic import write_whole

    def write(to: Path) -> None:
        with to.open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, lineterminator="\r\n")
            lines.writerow(records[0])
            for record in records:
                lines.writerow([harmless(value) if isinstance(value, str) else value for value in record.values()])

    write_whole(path, write)


def add_gate_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "gate",
        help="exit code 1 where scores do not keep rules, for CI",
        description="Check the scores of a run. A rule concerns the worse end of the 95 % interval, or the mean if it "
        "says mean:METRIC=NUMBER.",
        **with_examples(
            "rag-evaluator gate results/demo --min faithfulness=0.8 --max noise_sensitivity=0.2",
            "rag-evaluator gate results/demo --min mean:faithfulness=0.8 --min-coverage 1",
            "rag-evaluator gate results/demo --fail-if-worse results/base --junit gate.xml",
            "rag-evaluator gate results/demo --not-worse-than results/base --margin 0.02",
        ),
    )
    command.add_argument("run", type=Path, help="results folder, or a table of scores")
    for option, which in (("--min", "higher"), ("--max", "lower")):
        command.add_argument(
            option,
            action="append",
            default=[],
            metavar="METRIC=NUMBER",
            help=f"{option[2:]}imum of a metric of which {which} is better; mean:METRIC=NUMBER: of its mean alone; may "
            "be repeated",
        )
    baselines = command.add_mutually_exclusive_group()
    baselines.add_argument(
        "--fail-if-worse",
        type=Path,
        metavar="RUN",
        help="a baseline over the same questions; fails only where a metric is shown to be worse",
    )
    baselines.add_argument(
        "--not-worse-than", type=Path, metavar="RUN", help="a baseline; fails unless it is shown to be no worse"
    )
    command.add_argument(
        "--min-coverage",
        type=float,
        default=0.95,
        metavar="SHARE",
        help="rows that must have a score, for each rule; default: %(default)s",
    )
    _add_pairing(command)
    add_json(command)
    command.add_argument("--junit", type=Path, metavar="FILE", help="write the verdicts as JUnit XML")
    command.add_argument("--force", action="store_true", help="replace a JUnit file of another program")


def gate(options: argparse.Namespace) -> int:
    """`rag-evaluator gate results/demo --min faithfulness=0.8`."""
    from rag_evaluator.cli.console import print_json, print_parts, say
    from rag_evaluator.comparison.gate import MARK, write_junit
    from rag_evaluator.comparison.gate import gate as check
    from rag_evaluator.files.atomic import check_replaceable
    from rag_evaluator.statistics.rules import parse_limit

    if options.junit:
        check_replaceable(
            options.junit, MARK, options.force, [options.run, options.not_worse_than, options.fail_if_worse]
        )
    rules = [parse_limit("--min", "min", text) for text in options.min]
    rules += [parse_limit("--max", "max", text) for text in options.max]
    verdicts = check(
        options.run,
        rules,
        not_worse_than=options.not_worse_than,
        fail_if_worse=options.fail_if_worse,
        margin=_margin(options.margin),
        min_coverage=options.min_coverage,
        better=dict(_better(text) for text in options.better),
        on=options.on,
        cluster=options.cluster,
    )
    if options.junit:
        write_junit(verdicts, options.run.resolve().name, options.junit)
    code = OK if verdicts.passed else FAILED
    if options.json:
        shown = [verdict.to_json() for verdict in verdicts]
        conclusion = verdicts.conclusion.to_json()
        print_json({"run": str(options.run), "passed": verdicts.passed, "conclusion": conclusion, "verdicts": shown})
        return code
    print_parts(verdicts.conclusion.lines())
    for verdict in verdicts:
        if verdict.measured.notes and verdict.passed:  # a failure is named above
            say(f"passed: {verdict.rule}: {'; '.join(verdict.measured.notes)}")
    return code


def _add_pairing(command: argparse.ArgumentParser) -> None:
    """Add what `compare` and `gate` share: which rows belong together, and which differences count."""
    _add_on(command)
    command.add_argument("--cluster", metavar="COLUMN", help="rows with the same value here depend on each other")
    command.add_argument(
        "--margin",
        action="append",
        default=[],
        metavar="[METRIC=]NUMBER",
        help="a difference that does not matter, of all metrics or of this one, in its units: what lies within it is "
        "called equal, and no worse; say it before you see the figures",
    )
    command.add_argument(
        "--better",
        action="append",
        default=[],
        metavar="METRIC=higher|lower",
        help="which scores are better, of a metric that this program does not know; may be repeated",
    )


def _add_on(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--on",
        metavar="COLUMN",
        help="match rows by this column; default: 'id' if every row has its own, else the question",
    )


def _better(text: str) -> tuple[str, str]:
    """A metric and which end of it is better. Raises `ConfigError`."""
    metric, sign, end = text.rpartition("=")
    if not sign or not metric:
        raise ConfigError(f"--better {text}: expected METRIC=higher or METRIC=lower, such as --better toxicity=lower")
    return metric, end


def _margin(texts: list[str]) -> float | dict[str, float] | None:
    """One margin for all metrics, or one for each that is named. Raises `ConfigError`."""
    from rag_evaluator.statistics.rules import MEAN, parse_limit

    if not texts:
        return None
    if any("=" in text for text in texts):
        rules = [parse_limit("--margin", "not worse", text) for text in texts]
        return {(MEAN if rule.of_mean else "") + rule.metric: rule.number for rule in rules}
    try:
        [number] = map(float, texts)
    except ValueError:
        expected = "expected one number for all metrics, or METRIC=NUMBER each."
        raise ConfigError(f"--margin {' '.join(texts)}: {expected}") from None
    return number


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
    _add_on(command)
    command.add_argument("--title", metavar="TEXT", help="of the page; default: the names of the runs")


def report(options: argparse.Namespace) -> int:
    """`rag-evaluator report results/a results/b`."""
    from rag_evaluator.cli.console import say
    from rag_evaluator.comparison.compare import write_report

    path = write_report(*options.runs, out=options.out, on=options.on, force=options.force, title=options.title)
    say(f"written: {path} ({path.stat().st_size / 1e6:.1f} MB). Open it in a browser.")
    return OK
