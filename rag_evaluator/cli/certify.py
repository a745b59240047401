"""`rag-evaluator certify` and `certify sheet`: a run's scores against people's labels, and rows to be labelled."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rag_evaluator.errors import ConfigError
from rag_evaluator.program import command

OK = 0
SHEET = "certify sheet"  # a command of two words
Read = TypeVar("Read", str, float)
EXAMPLES = """examples:
  rag-evaluator certify sheet results/demo --size 100 --out to_label.xlsx   # rows for people to label
  rag-evaluator certify results/demo --labels to_label.xlsx                 # compare, write certificate.json
  rag-evaluator certify results/demo --labels anna.xlsx --labels bob.xlsx   # two annotators
  rag-evaluator certify results/demo --labels labels.csv --threshold faithfulness=0.5
  rag-evaluator certify results/demo --labels grades.csv --scale faithfulness=1..5
  rag-evaluator certify results/demo --label faithfulness=response_is_correct

docs/judging-the-judge.md explains the forms of labels and every figure."""


def add_certify_commands(commands: Any) -> None:
    """Add both commands to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "certify",
        help="how far a run's scores agree with people's labels",
        description="Compare the scores of a finished run with labels that people gave, and write certificate.json.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("results", type=Path, help="results folder of a finished run")
    command.add_argument(
        "--labels", type=Path, action="append", default=[], metavar="FILE",
        help="a table of labels, or a sheet that was filled in; of several files each is that of one annotator",
    )  # fmt: skip
    command.add_argument(
        "--label", action="append", default=[], metavar="METRIC=COLUMN",
        help="a column of the run's own rows holds the labels of a metric; may be repeated",
    )  # fmt: skip
    command.add_argument(
        "--threshold", action="append", default=[], metavar="METRIC=NUMBER",
        help="the score from which on the judge accepts, fixed before the labels were seen; default: that of the "
        "configuration, else one chosen on the labels by cross-fitting",
    )  # fmt: skip
    command.add_argument(
        "--scale", action="append", default=[], metavar="METRIC=LOW..HIGH",
        help="labels are grades from LOW to HIGH, the best: faithfulness=1..5",
    )  # fmt: skip
    command.add_argument(
        "--on", metavar="COLUMN", help="key column of the labels; default: row, sample, id or question"
    )
    command.add_argument(
        "--random", action="store_true", help="the labelled rows are a random sample of all rows, though not of a sheet"
    )
    command.add_argument("--json", action="store_true", help="everything as JSON on standard output")
    command.add_argument("--out", type=Path, metavar="FILE", help="default: certificate.json in the results folder")
    command.add_argument("--force", action="store_true", help="replace a file that is there and is no certificate")
    _add_sheet(commands)


def _add_sheet(commands: Any) -> None:
    command = commands.add_parser(
        SHEET,
        help="draw rows of a run for people to label, as a workbook",
        description="Draw rows at random and write a workbook to be filled in: no scores, rows in random order, "
        "answers from a list, instructions in the language of the run.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("results", type=Path, help="results folder of a finished run")
    command.add_argument("--out", type=Path, required=True, metavar="FILE", help="the workbook, .xlsx")
    command.add_argument("--size", type=int, default=100, help="rows to draw; default: %(default)s")
    command.add_argument(
        "--metric", action="append", default=[],
        help="to be labelled; may be repeated, rows are drawn by the first; default: all metrics of the run",
    )  # fmt: skip
    command.add_argument(
        "--uncertain", action="store_true",
        help="draw half in proportion to the judge's uncertainty; default: from groups of similar scores",
    )  # fmt: skip
    command.add_argument("--seed", type=int, default=0, help="of the draw; default: %(default)s")
    command.add_argument(
        "--like", type=Path, metavar="RUN", help="the rows that were drawn for this run, to compare both by labels"
    )
    command.add_argument("--force", action="store_true", help="replace a workbook that is there")


def sheet(options: argparse.Namespace) -> int:
    """`rag-evaluator certify sheet results/demo --size 100 --out to_label.xlsx`."""
    from rag_evaluator.api.label_sheet import label_sheet
    from rag_evaluator.cli.console import say

    record = label_sheet(
        options.results,
        options.out,
        options.size,
        options.metric,
        options.uncertain,
        options.seed,
        options.like,
        options.force,
    )
    say(f"{len(record.rows)} of {len(record.strata)} rows written to {options.out}: {', '.join(record.metrics)}")
    say(f"their probabilities are kept in {options.results}/labels/{record.name}.json")
    say(f"when it is filled in: {command('certify', options.results, '--labels', options.out)}")
    return OK


def certify(options: argparse.Namespace) -> int:
    """`rag-evaluator certify results/demo --labels labels.csv`."""
    from rag_evaluator.api.certify import certify as compare_with_labels
    from rag_evaluator.cli.certified import print_certification
    from rag_evaluator.cli.console import print_json

    found = compare_with_labels(
        options.results,
        options.labels,
        label=_pairs("--label", "METRIC=COLUMN", options.label, str),
        threshold=_pairs("--threshold", "METRIC=NUMBER", options.threshold, float),
        scale=options.scale,
        on=options.on,
        random=options.random,
        out=options.out,
        force=options.force,
    )
    if options.json:
        print_json(found.to_json())
    else:
        print_certification(found)
    return OK


def _pairs(option: str, form: str, texts: Sequence[str], read: Callable[[str], Read]) -> dict[str, Read]:
    pairs = {}
    for text in texts:
        name, _, value = text.rpartition("=") if read is float else text.partition("=")
        try:
            pairs[name.strip()] = read(value.strip())
        except ValueError:
            name = ""
        if not name.strip() or not value.strip():
            raise ConfigError(f"{option}: expected {form}, received '{text}'.")
    return pairs
