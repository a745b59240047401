"""`rag-evaluator review apply`: the dataset as people have corrected it, as a new file."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.cli.options import add_json

if TYPE_CHECKING:
    from rag_evaluator.features.app.apply import Applied

OK = 0
SHOWN = 20  # changes
LONGEST = 60  # characters of a text
EXAMPLES = """examples:
  rag-evaluator view results/ --review
  rag-evaluator review apply results/demo --dry-run
  rag-evaluator review apply results/demo --drop too_easy --drop duplicate
  rag-evaluator config.yaml --set dataset=data.reviewed.jsonl --update

The dataset that was reviewed stays as it is. The new one has its history beside it: data.reviewed.history.jsonl"""


def add_review_commands(commands: Any) -> None:
    """Add the commands to the parser. Any: argparse has no public name for a group of subcommands."""
    review = commands.add_parser(
        "review",
        help="apply people's corrections of a run to its dataset",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = review.add_subparsers(dest="kind", required=True, metavar="COMMAND")
    command = kinds.add_parser(
        "apply",
        help="write the revised dataset as a new file, with its history",
        description="Write the dataset of a run with the corrections in its reviews.jsonl, as a new file. "
        "'--update' with this file then judges only what changed.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("results", type=Path, help="results folder that was reviewed")
    command.add_argument(
        "--out", type=Path, metavar="FILE",
        help="the new file; its suffix chooses the format; default: <dataset>.reviewed<suffix> beside the dataset",
    )  # fmt: skip
    command.add_argument(
        "--drop", action="append", default=[], metavar="FLAG",
        help="leave out rows with this flag; may be repeated: too_easy, ambiguous, not_answerable, duplicate",
    )  # fmt: skip
    command.add_argument("--dataset", type=Path, metavar="FILE", help="where the dataset is now, if it was moved")
    command.add_argument(
        "--skip-edited", action="store_true", help="leave out reviews of rows that were edited since; else an error"
    )
    command.add_argument("--force", action="store_true", help="replace a file that is there")
    command.add_argument("--dry-run", action="store_true", help="show what would change, write nothing")
    add_json(command)


def review(options: argparse.Namespace) -> int:
    """`rag-evaluator review apply results/demo`."""
    from rag_evaluator.cli.console import print_json
    from rag_evaluator.features.app.apply import apply_reviews

    applied = apply_reviews(
        options.results,
        options.out,
        drop=options.drop,
        dataset=options.dataset,
        skip_edited=options.skip_edited,
        force=options.force,
        dry_run=options.dry_run,
    )
    if options.json:
        print_json({**applied.to_json(), "written": not options.dry_run})
    else:
        _print(applied, options.dry_run)
    return OK


def _print(applied: "Applied", dry_run: bool) -> None:
    from rag_evaluator.cli.console import say
    from rag_evaluator.resources import command

    for change in applied.changes[:SHOWN]:
        if change.field == "row":
            say(f"row {change.place} left out, {change.by}: {_short(change.before)}")
        else:
            say(f"row {change.place}, {change.field}, {change.by}: {_short(change.before)} -> {_short(change.after)}")
    if len(applied.changes) > SHOWN:
        say(f"and {len(applied.changes) - SHOWN} more")
    if applied.already:
        say(f"{applied.already} reviews are in this dataset already")
    if applied.skipped:
        say(f"{applied.skipped} reviews left out: their rows were edited since")
    if dry_run:
        say(f"nothing written; it would be {applied.path}, {applied.rows} rows")
        return
    say(f"{applied.rows} rows written to {applied.path}, who changed what to {applied.history}")
    say(f"judge what changed: {command('config.yaml', '--set', f'dataset={applied.path}', '--update')}")


def _short(value: Any) -> str:
    """A value on one line. Any: JSON."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
