"""`rag-evaluator gate`: exit code 1 where a run does not keep its rules."""

import argparse
from pathlib import Path
from typing import Any

from rag_evaluator.cli.options import with_examples
from rag_evaluator.errors import ConfigError

OK, FAILED = 0, 1


def add_gate_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "gate",
        help="exit code 1 where scores do not keep rules, for CI",
        description="Check the scores of a run. A rule concerns the worse end of the 95 %% interval, or the mean if it "
        "says mean:METRIC=NUMBER.",
        **with_examples(
            "rag-evaluator gate results/demo --min faithfulness=0.8 --max noise_sensitivity=0.2",
            "rag-evaluator gate results/demo --min mean:faithfulness=0.8 --min-coverage 1",
            "rag-evaluator gate results/demo --not-worse-than results/base --margin 0.02 --junit gate.xml",
        ),
    )
    command.add_argument("run", type=Path, help="results folder, or a table of scores")
    for option, which in (("--min", "higher"), ("--max", "lower")):
        command.add_argument(
            option,
            action="append",
            default=[],
            metavar="METRIC=NUMBER",
            help=f"{option[2:]}imum of a metric of which {which} is better; may be repeated",
        )
    command.add_argument("--not-worse-than", type=Path, metavar="RUN", help="a baseline over the same questions")
    command.add_argument(
        "--margin",
        action="append",
        default=[],
        metavar="[METRIC=]NUMBER",
        help="how much worse than the baseline all metrics, or this one, may be, in units of the metric",
    )
    command.add_argument(
        "--min-coverage", type=float, metavar="SHARE", help="rows that must have a score; default: 0.95 for each rule"
    )
    command.add_argument(
        "--missing",
        choices=("worst", "ignore"),
        default="worst",
        help="what a row counts that the baseline scored and this run did not: the worst score, or nothing; "
        "default: %(default)s",
    )
    command.add_argument(
        "--better",
        action="append",
        default=[],
        metavar="METRIC=higher|lower",
        help="which scores are better, of a metric that this program does not know; may be repeated",
    )
    command.add_argument("--on", metavar="COLUMN", help="match rows with the baseline by this column, as in compare")
    command.add_argument("--cluster", metavar="COLUMN", help="rows with the same value here depend on each other")
    command.add_argument("--json", action="store_true", help="the verdicts as JSON on standard output")
    command.add_argument("--junit", type=Path, metavar="FILE", help="write the verdicts as JUnit XML")
    command.add_argument("--force", action="store_true", help="replace a JUnit file of another program")


def gate(options: argparse.Namespace) -> int:
    """`rag-evaluator gate results/demo --min faithfulness=0.8`."""
    from rag_evaluator.cli.console import print_json, say
    from rag_evaluator.comparison.gate import MARK, write_junit
    from rag_evaluator.comparison.gate import gate as check
    from rag_evaluator.files.atomic import check_replaceable
    from rag_evaluator.statistics.rules import parse_limit

    if options.junit:
        check_replaceable(options.junit, MARK, options.force, [options.run, options.not_worse_than])
    rules = [parse_limit("--min", "min", text) for text in options.min]
    rules += [parse_limit("--max", "max", text) for text in options.max]
    verdicts = check(
        options.run,
        rules,
        not_worse_than=options.not_worse_than,
        margin=_margin(options.margin),
        min_coverage=options.min_coverage,
        missing=options.missing,
        better=dict(_better(text) for text in options.better),
        on=options.on,
        cluster=options.cluster,
    )
    if options.junit:
        write_junit(verdicts, str(options.run), options.junit)
    failed = [verdict for verdict in verdicts if not verdict.passed]
    if options.json:
        shown = [verdict.to_json() for verdict in verdicts]
        print_json({"run": str(options.run), "passed": not failed, "verdicts": shown})
        return FAILED if failed else OK
    for verdict in verdicts:
        if verdict.noted or not verdict.passed:
            say(f"{'passed' if verdict.passed else 'failed'}: {verdict}")
    if not failed:
        say(f"{options.run}: {len(verdicts)} rule{'' if len(verdicts) == 1 else 's'} passed")
    return FAILED if failed else OK


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
    named = [text for text in texts if "=" in text]
    if named and len(named) < len(texts):
        raise ConfigError("--margin: expected one number for all metrics, or METRIC=NUMBER each, not both.")
    if named:
        rules = [parse_limit("--margin", "not worse", text) for text in named]
        return {(MEAN if rule.of_mean else "") + rule.metric: rule.number for rule in rules}
    if len(texts) > 1:
        raise ConfigError(f"--margin: expected one number for all metrics, received {', '.join(texts)}.")
    return parse_limit("--margin", "not worse", f"all={texts[0]}").number
