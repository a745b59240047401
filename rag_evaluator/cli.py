"""The command line: subcommands, exit codes, progress, and the only place that prints."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from rag_evaluator import __version__
from rag_evaluator.cli_prompts import add_prompt_commands, prompts
from rag_evaluator.config import DEMO, Config, load_config
from rag_evaluator.errors import RagEvaluatorError
from rag_evaluator.metrics import METRICS
from rag_evaluator.offline import quiet_libraries

if TYPE_CHECKING:
    from rag_evaluator.results import Results

OK, NOTHING_SCORED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
REASONS_SHOWN = 3
EXAMPLES = """examples:
  rag-evaluator config.yaml
  rag-evaluator config.yaml --set judge.model=/models/Qwen3-8B --set judge.batch_size=32
  rag-evaluator config.yaml --set metrics='[faithfulness, answer_relevancy]' --fresh
  rag-evaluator sort config.yaml --set sort.strategy=merge
  rag-evaluator generate config.yaml
  rag-evaluator prompts check

exit codes: 0 scored, 1 nothing could be scored, 2 bad input, 130 interrupted (run again to continue)
'python main.py' does the same as 'rag-evaluator'."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        arguments.insert(0, "evaluate")
    options = _parser().parse_args(arguments)
    try:
        return int(COMMANDS[options.command](options))
    except RagEvaluatorError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted: what was scored is kept, the same command continues.", file=sys.stderr)
        return INTERRUPTED


def evaluate(options: argparse.Namespace) -> int:
    """`rag-evaluator config.yaml`: score the dataset, write the results, print the table."""
    quiet_libraries()
    config = load_config(options.config, options.set)
    from rag_evaluator.evaluator import RAGEvaluator
    from rag_evaluator.journal import Journal

    evaluator = RAGEvaluator(config)
    evaluator.check()
    journal = Journal(config.results_dir, fresh=options.fresh)
    try:
        with _progress() as bar:
            task = bar.add_task("scores", total=None)
            results = evaluator.evaluate(
                progress=lambda done, total: bar.update(task, completed=done, total=total), journal=journal
            )
        results.write(config.results_dir)
    finally:
        journal.close()
    _print_table(results, config)
    return OK if any(summary["scored"] for summary in results.summary().values()) else NOTHING_SCORED


def function(options: argparse.Namespace) -> int:
    """`rag-evaluator sort config.yaml` and `rag-evaluator generate config.yaml`."""
    from rag_evaluator import cli_functions

    run: Callable[[argparse.Namespace, Any], int] = getattr(cli_functions, options.command)
    return run(options, _watched)


COMMANDS = {"evaluate": evaluate, "prompts": prompts, "sort": function, "generate": function}
FUNCTIONS = {
    "sort": "order each row's contexts by the judge, and compare with the retriever's order",
    "generate": "write a reference answer for each row that has none, from its contexts",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rag-evaluator",
        description="Evaluate RAG outputs with ragas metrics and local Hugging Face models, offline.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"rag-evaluator {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser(
        "evaluate",
        help="score a dataset; the default: 'rag-evaluator config.yaml'",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_config(run)
    for name, text in FUNCTIONS.items():
        _add_config(commands.add_parser(name, help=text, description=f"{text.capitalize()}."))
    add_prompt_commands(commands)
    return parser


def _add_config(parser: argparse.ArgumentParser) -> None:
    """The configuration and how it is overridden."""
    parser.add_argument("config", type=Path, help="YAML file; config.yaml of the project shows every key")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a key, the value read as YAML; relative paths count from the config file; may be repeated",
    )
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs left in the results folder")


class _Rate(ProgressColumn):
    """Scores a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.1f}/s" if task.speed else "")


def _progress() -> Progress:
    """A bar with rate and time left on standard error; silent where that is no terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, disable=not console.is_terminal)


def _watched(label: str, work: Callable[[Callable[[int, int], None]], Any]) -> Any:
    """The result of work that tells its progress. Any: whatever it makes."""
    with _progress() as bar:
        task = bar.add_task(label, total=None)
        return work(lambda done, total: bar.update(task, completed=done, total=total))


def _print_table(results: "Results", config: Config) -> None:
    console = Console(width=None if sys.stdout.isatty() else 120)
    table = Table(title=f"{config.name}: {len(results.samples)} rows")
    for heading, side in (("metric", "left"), ("mean", "right"), ("coverage", "right")):
        table.add_column(heading, justify=side)  # type: ignore[arg-type]  # rich wants a Literal
    summary = results.summary()
    for name, row in summary.items():
        mean = "no score" if row["mean"] is None else f"{row['mean']:.4f}"
        table.add_row(name, mean, f"{row['scored']}/{row['count']}")
    console.print(table)
    for name, row in summary.items():
        for reason, count in list(row["reasons"].items())[:REASONS_SHOWN]:
            console.print(f"  {name}: {count} missing: {reason}", markup=False, highlight=False, soft_wrap=True)
    if config.judge.model == DEMO and any(METRICS[name].judge for name in results.scores):
        console.print("The demo judge is a toy that shows the way; set judge.model to a model of your own.")
    console.print(f"written to {config.results_dir}", markup=False, highlight=False, soft_wrap=True)
