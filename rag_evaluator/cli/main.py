"""The command line: subcommands, exit codes, and the only place that prints."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from rag_evaluator import __version__
from rag_evaluator.cli.compare import add_compare_command, compare
from rag_evaluator.cli.gate import add_gate_command, gate
from rag_evaluator.cli.prompts import add_prompt_commands, prompts
from rag_evaluator.cli.start import beginning, read_config
from rag_evaluator.config import Config
from rag_evaluator.errors import (
    SHELL,
    ConfigError,
    JudgeLostError,
    MissingChunksError,
    RagEvaluatorError,
    did_you_mean,
)
from rag_evaluator.offline import prepare_command
from rag_evaluator.run.journal import Journal, journals_in
from rag_evaluator.run.notes import now
from rag_evaluator.run.worker_journal import Start
from rag_evaluator.run.workers import ALONE, Worker, process_name, run_id
from rag_evaluator.signals import GRACE, Stop, StopSignal

OK, NOTHING_SCORED, BAD_INPUT, TRY_AGAIN, INTERRUPTED = 0, 1, 2, 75, 130
EXAMPLES = """examples:
  rag-evaluator config.yaml
  rag-evaluator config.yaml --set judge.model=/models/Qwen3-8B --set judge.batch_size=32
  rag-evaluator config.yaml --set metrics='[faithfulness, answer_relevancy]' --fresh
  rag-evaluator sort config.yaml --set sort.strategy=merge
  rag-evaluator generate config.yaml
  rag-evaluator config.yaml --worker 3/16
  rag-evaluator status results/demo
  rag-evaluator merge results/demo
  rag-evaluator submit config.yaml --workers 16 --dry-run
  rag-evaluator submit config.yaml --workers 4 --task sort
  rag-evaluator compare results/base results/demo
  rag-evaluator gate results/demo --min faithfulness=0.8 --not-worse-than results/base --margin 0.02
  rag-evaluator prompts check

exit codes: 0 scored, 1 nothing could be scored, 2 bad input, 75 stopped by a signal, the judge is lost or not all
there: run again to continue, 130, 143 and 138 stopped at once by a second signal; gate: 1 a rule failed
'python main.py' does the same as 'rag-evaluator'."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        if not _is_path(arguments[0]):
            print(
                f"error: '{arguments[0]}' is neither a command nor a file.{did_you_mean(arguments[0], COMMANDS)}",
                file=sys.stderr,
            )
            return BAD_INPUT
        arguments.insert(0, "evaluate")
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    options = _parser().parse_args(arguments[:cut])
    options.sbatch = arguments[cut + 1 :]
    prepare_command()
    reset = SHELL.set(True)
    try:
        return int(COMMANDS[options.command](options))
    except MissingChunksError as error:
        print(f"not complete: {error}", file=sys.stderr)
        return TRY_AGAIN
    except JudgeLostError as error:
        print(f"the judge is lost: {error}. What was made is kept, the same command continues.", file=sys.stderr)
        return TRY_AGAIN
    except RagEvaluatorError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted: what was made is kept, the same command continues.", file=sys.stderr)
        return INTERRUPTED
    finally:
        SHELL.reset(reset)


def _is_path(word: str) -> bool:
    """Whether the first word of a command is its configuration file, there or not, and no misspelt command."""
    return Path(word).exists() or bool(Path(word).suffix) or os.sep in word


def evaluate(options: argparse.Namespace) -> int:
    """`rag-evaluator config.yaml`: score the dataset, write the results, print the table."""
    return _stoppable(_evaluate, options)


def function(options: argparse.Namespace) -> int:
    """`rag-evaluator sort config.yaml` and `rag-evaluator generate config.yaml`."""
    from rag_evaluator.cli import tasks

    return _stoppable(getattr(tasks, options.command), options)


def _stoppable(run: Callable[[argparse.Namespace, Stop], int], options: argparse.Namespace) -> int:
    """The exit code of a task that the first signal asks to end soon."""
    stop = Stop(options.grace)
    try:
        with stop:
            return run(options, stop)
    except StopSignal as signal:
        print(f"stopped by {signal}: what was scored is kept, the same command continues.", file=sys.stderr, flush=True)
        if stop.overdue:  # the model's thread is still at work on a batch that nobody waits for
            sys.stdout.flush()
            os._exit(TRY_AGAIN)
        return TRY_AGAIN


def merge(options: argparse.Namespace) -> int:
    """`rag-evaluator merge results/<name>`: write the result files of a run whose workers have finished."""
    from rag_evaluator.run.merge import merge
    from rag_evaluator.run.worker_journal import MERGE, WorkerJournal
    from rag_evaluator.tasks import stage_of

    incomplete: list[MissingChunksError] = []
    for journal in journals_in(options.folder):
        stage, plan = stage_of(journal), journal.plan
        try:
            merge(WorkerJournal(options.folder, stage, process_name(ALONE), MERGE), stage, run_id(), None)
        except MissingChunksError as error:  # of one task; the others may be complete
            incomplete.append(error)
            continue
        print(f"{plan.units} {plan.unit_noun} from {plan.chunks} chunks written to {options.folder}")
    if incomplete:
        raise MissingChunksError(" ".join(map(str, incomplete)))
    return OK


def status(options: argparse.Namespace) -> int:
    """`rag-evaluator status results/<name>`: how far a run is."""
    from rag_evaluator.cli.console import print_status
    from rag_evaluator.run.status import read_status

    for stage in read_status(options.folder):
        print_status(stage)
    return OK


def submit(options: argparse.Namespace) -> int:
    """`rag-evaluator submit config.yaml --workers 16`: hand a run to Slurm."""
    from rag_evaluator.run import slurm

    config = read_config(options)
    if options.workers < 1:
        raise ConfigError(f"--workers {options.workers}: expected 1 or more.")
    submission = slurm.prepare(
        options.config,
        config.results_dir,
        options.workers,
        options.set,
        options.sbatch,
        options.launcher,
        options.task,
    )
    if options.dry_run:
        for path, text in submission.scripts.items():
            print(f"# {path}\n{text}")
        print(*slurm.commands(submission), sep="\n")
        return OK
    array, merge = slurm.submit(submission)
    print(*(f"wrote {path}" for path in submission.scripts), sep="\n")
    print(*slurm.commands(submission, array), sep="\n")
    print(f"array {array} with {options.workers} workers, merge {merge} when it has ended")
    print(f"watch it: rag-evaluator status {config.results_dir}")
    return OK


COMMANDS = {
    "evaluate": evaluate,
    "merge": merge,
    "status": status,
    "submit": submit,
    "sort": function,
    "generate": function,
    "compare": compare,
    "gate": gate,
    "prompts": prompts,
}
FUNCTIONS = {
    "sort": "order each row's contexts by the judge, and compare with the retriever's order",
    "generate": "write a reference answer for each row that has none, from its contexts",
}


def _evaluate(options: argparse.Namespace, stop: Stop) -> int:
    config = read_config(options)
    worker, start = beginning(options)
    from rag_evaluator.cli.console import print_summary
    from rag_evaluator.results.summary import read_summary
    from rag_evaluator.run.finished import outcome
    from rag_evaluator.tasks.run_digest import find_finished

    began = now()
    journal = (None if start == "fresh" else find_finished(config)) or _run(config, worker, start, stop)
    summary = read_summary(config.results_dir)
    print_summary(summary, journal.plan.units, config, *outcome(journal, began))
    if config.require:
        _print_failed(config.results_dir)
    return OK if any(row["scored"] for row in summary.values()) else NOTHING_SCORED


def _print_failed(results: Path) -> None:
    """The requirements of the configuration that the scores do not keep; `gate` makes them an exit code."""
    from rag_evaluator.api.gate import gate as check
    from rag_evaluator.cli.console import say

    for verdict in check(results):
        if not verdict.passed:
            say(f"requirement failed: {verdict}")


def _run(config: Config, worker: Worker, start: Start, stop: Stop) -> Journal:
    from rag_evaluator.api.evaluator import RAGEvaluator
    from rag_evaluator.cli.console import progress_of

    evaluator = RAGEvaluator(config)
    with progress_of("scores") as progress:
        return evaluator.run(config.results_dir, worker=worker, progress=progress, stop=stop, start=start)


class _Parser(argparse.ArgumentParser):
    """Tells about a shell's quotes where words are left over: `--set columns={a: b}` is two words."""

    def error(self, message: str) -> NoReturn:
        hint = "A value with spaces needs quotes in a shell: --set columns='{a: b}'"
        super().error(f"{message}. {hint}" if message.startswith("unrecognized arguments") else message)


def _parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = _Parser(
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
    _add_beginning(run)
    for name, help_text in (
        ("merge", "check that all chunks are there and write the result files; exit code 75 if some are missing"),
        ("status", "done, missing, rate, time left, and each worker"),
    ):
        command = commands.add_parser(name, help=help_text)
        command.add_argument("folder", type=Path, help="results folder of the run: <output_dir>/<name>")
    slurm = commands.add_parser(
        "submit",
        help="submit a run to Slurm: an array of workers, and the merge after it",
        epilog="what follows '--' goes to sbatch: rag-evaluator submit config.yaml --workers 16 -- --partition=gpu",
    )
    _add_config(slurm)
    slurm.add_argument("--workers", type=int, required=True, help="elements of the array")
    slurm.add_argument(
        "--task", choices=("evaluate", *FUNCTIONS), default="evaluate", help="what to run; default: %(default)s"
    )
    slurm.add_argument("--dry-run", action="store_true", help="show scripts and commands, write and submit nothing")
    slurm.add_argument(
        "--launcher",
        type=Path,
        help="launcher of your site; default: launcher.sh here, beside the configuration, or of the package",
    )
    for name, help_text in FUNCTIONS.items():
        command = commands.add_parser(name, help=help_text, description=f"{help_text.capitalize()}.")
        _add_config(command)
        _add_beginning(command)
    add_compare_command(commands)
    add_gate_command(commands)
    add_prompt_commands(commands)
    return parser


def _add_beginning(parser: argparse.ArgumentParser) -> None:
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--fresh", action="store_true", help="forget what earlier runs left in the results folder")
    start.add_argument(
        "--update", action="store_true", help="the configuration or the rows have changed: keep what still holds"
    )
    parser.add_argument(
        "--worker", metavar="N/COUNT", help="this process is worker N of COUNT, from 0; default: from the environment"
    )
    parser.add_argument(
        "--grace",
        type=float,
        default=GRACE,
        metavar="SECONDS",
        help="time to finish what is in the making after SIGTERM, SIGINT or SIGUSR1; default: %(default)s",
    )


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", type=Path, help="YAML file; config.yaml of the project shows every key")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a key, the value read as YAML; relative paths count from the config file; may be repeated",
    )
