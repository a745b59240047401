"""`rag-evaluator testset make` and `testset check`: questions from documents, and checks of questions that exist."""

import argparse
import json
from pathlib import Path
from typing import Any

from rag_evaluator.cli import (
    FAILED,
    OK,
    add_beginning,
    add_config,
    add_rows,
    add_set,
    print_end,
    print_json,
    print_table,
    print_task,
    say,
    with_examples,
)
from rag_evaluator.files import Stop, loading_libraries
from rag_evaluator.results import Conclusion, Grid

SHOWN = 10  # reasons, documents


def add_make_command(commands: Any) -> None:
    """Add `testset make` to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "testset make",
        help="make a test set from documents: questions, answers and their contexts",
        description="The judge writes questions about chunks of your documents, and filters keep those that can be "
        "answered, cannot be answered by heart, and name what they are about.",
        **with_examples(
            "rag-evaluator testset make config.yaml --documents docs/ --size 100 --set name=questions",
            "rag-evaluator testset make config.yaml --documents docs/ --set name=lists --set testset.kinds='{list: 1}'",
            "rag-evaluator testset make config.yaml --documents docs/ --size 100 --set name=questions --worker 0/4",
            note="exit codes: 0 as many questions as wanted, 1 fewer, 2 bad input, 75 stopped: run again to continue",
        ),
    )
    add_config(command)
    command.add_argument(
        "--documents", type=Path, nargs="+", metavar="PATH", help="files and folders; default: configured"
    )
    command.add_argument("--size", type=int, metavar="N", help="questions wanted; default: configured, else 100")
    add_beginning(command)


def add_check_command(commands: Any) -> None:
    """Add `testset check` to the parser."""
    command = commands.add_parser(
        "testset check",
        help="find questions that are too easy, unanswerable, copied, repeated or wrong",
        description="Pass the rows of a test set, also one made by people, through the filters of 'testset make'.",
        **with_examples(
            "rag-evaluator testset check questions.jsonl --config config.yaml --set name=questions",
            "rag-evaluator testset check questions.jsonl --config config.yaml --set name=questions --limit 20 --json",
            note="exit codes: 0 no row is flagged, 1 some are, 2 bad input, 75 stopped: run again to continue",
        ),
    )
    command.add_argument("file", type=Path, help="rows with user_input, reference and reference_contexts")
    command.add_argument("--config", type=Path, required=True, metavar="FILE", help="judge, embeddings, language")
    add_set(command)
    add_rows(command)
    add_beginning(command)


def make(options: argparse.Namespace, stop: Stop) -> int:
    """`rag-evaluator testset make config.yaml`."""
    from rag_evaluator.cli import beginning, read_config, refuse_wrong_paths
    from rag_evaluator.config import with_arguments

    from .section import TestsetConfig

    config = read_config(options)
    documents = None if options.documents is None else [path.expanduser().resolve() for path in options.documents]
    section = with_arguments(config.section(TestsetConfig), documents=documents, size=options.size)
    config = config.model_copy(update={"testset": section})
    refuse_wrong_paths(config, reads_rows=False)
    worker, start = beginning(options)
    with loading_libraries():
        from rag_evaluator.cli import run_task

        from .stage import SUMMARY, start_of, testset_stage

    stage = testset_stage(config)
    if not options.json:
        say(f"{stage.corpus.documents} documents, {len(stage.corpus.chunks)} chunks")
        for entry in stage.corpus.unread[:SHOWN]:
            say(f"  left out: {entry['id']}: {entry['reason']}")
        if len(stage.corpus.unread) > SHOWN:
            say(f"  left out: {len(stage.corpus.unread) - SHOWN} more, see {SUMMARY}")
    start = start_of(stage, config.results_dir, worker, start)
    _, seconds, wrote, changed = run_task(stage, config, worker, start, stop)
    summary: dict[str, Any] = json.loads((config.results_dir / SUMMARY).read_bytes())
    code = OK if summary["chosen"] >= section.size else FAILED
    if options.json:
        about = {"name": config.name, "results": str(config.results_dir)}
        print_json({**about, **summary, "judge_calls": stage.asked})
        return code
    chosen = f"{summary['chosen']} of {summary['wanted']} questions"
    say(f"{config.name}: {chosen}, chosen from {summary['candidates']} candidates")
    left_out = [(step, reason, str(n)) for step, counts in summary["left_out"].items() for reason, n in counts.items()]
    if left_out:
        print_table("left out", [("by", "left"), ("reason", "left"), ("candidates", "right")], left_out[:SHOWN])
    if summary["chosen"] < summary["wanted"]:
        say(f"{summary['survived']} survived the filters. More: --set testset.candidates={2 * summary['candidates']}")
    if without := summary["documents_without_questions"]:
        say(f"{len(without)} of {summary['documents']} documents have no question, see {SUMMARY}")
    say(f"{stage.asked} judge calls now in {seconds:.1f} s")
    print_end(config, True, wrote, changed)
    return code


def check(options: argparse.Namespace, stop: Stop) -> int:
    """`rag-evaluator testset check rows.jsonl --config config.yaml`."""
    from rag_evaluator.cli import beginning, read_config, refuse_wrong_paths

    config = read_config(options)
    refuse_wrong_paths(config, reads_rows=False)
    config = config.model_copy(update={"dataset": options.file.expanduser().resolve()})
    begun = beginning(options)
    with loading_libraries():
        from rag_evaluator.cli import run_task
        from rag_evaluator.tasks import read_rows

        from .check import NEEDED, TASK, check_stage, findings_summary

    rows = read_rows(config, TASK, NEEDED)
    stage = check_stage(rows, config)
    table, seconds, wrote, changed = run_task(stage, config, *begun, stop)
    summary = findings_summary(stage.findings(table))
    flagged = f"{summary['flagged']} of {summary['checked']} rows are flagged, of {summary['rows']} in all."
    flags = [(flag, str(count)) for flag, count in summary["flags"].items()]
    parts: list[Grid | str] = [
        *([Grid("flags", [("flag", "left"), ("rows", "right")], flags)] if flags else []),
        *(f"  {count} not checked: {reason}" for reason, count in summary["not_checked"].items()),
        f"{stage.asked} judge calls now in {seconds:.1f} s",
    ]
    document = {**summary, "judge_calls": stage.asked}
    print_task(options, config, stage.plan, Conclusion([flagged]), document, parts, wrote, changed)
    return FAILED if summary["flagged"] else OK
