"""The command line: subcommands, exit codes, and the only place that prints."""  # PYTHON_ARGCOMPLETE_OK

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.cli.arguments import parser_of_commands
from rag_evaluator.cli.certify import SHEET, certify, sheet
from rag_evaluator.cli.check import check
from rag_evaluator.cli.compare import compare
from rag_evaluator.cli.completion import ASKED, complete
from rag_evaluator.cli.doctor import doctor
from rag_evaluator.cli.duel import duel_inputs
from rag_evaluator.cli.gate import gate
from rag_evaluator.cli.init import init
from rag_evaluator.cli.lists import list_names
from rag_evaluator.cli.panel import all_journals, evaluate_panel, merge_panel, print_panel_status
from rag_evaluator.cli.prompts import prompts
from rag_evaluator.cli.report import report
from rag_evaluator.cli.review import review
from rag_evaluator.cli.start import LIBRARIES, beginning, read_config
from rag_evaluator.cli.testset import check_inputs, make_inputs
from rag_evaluator.cli.view import view
from rag_evaluator.cli.watching import end_watching, watching
from rag_evaluator.config import Config
from rag_evaluator.errors import (
    SHELL,
    ConfigError,
    JudgeLostError,
    MissingChunksError,
    RagEvaluatorError,
    ResultsError,
    did_you_mean,
)
from rag_evaluator.offline import libraries_quiet, prepare_command
from rag_evaluator.program import command
from rag_evaluator.progress import ACTIVITY
from rag_evaluator.results.panel_names import is_panel
from rag_evaluator.run.journal import Journal
from rag_evaluator.run.notes import now
from rag_evaluator.run.worker_journal import Start
from rag_evaluator.run.workers import ALONE, Worker, process_name, run_id
from rag_evaluator.signals import Stop, StopSignal

OK, NOTHING_SCORED, BAD_INPUT, TRY_AGAIN, INTERRUPTED = 0, 1, 2, 75, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    if ASKED in os.environ:
        complete(parser_of_commands(), COMMANDS)
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if " ".join(arguments[:2]) == SHEET:
        arguments[:2] = [SHEET]
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        if not _is_path(arguments[0]):
            print(
                f"error: '{arguments[0]}' is neither a command nor a file.{did_you_mean(arguments[0], COMMANDS)}",
                file=sys.stderr,
            )
            return BAD_INPUT
        arguments.insert(0, "evaluate")
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    reset = SHELL.set(True)
    try:
        options = parser_of_commands().parse_args(arguments[:cut])
        options.sbatch = arguments[cut + 1 :]
        prepare_command(options.verbose)
        with libraries_quiet(options.verbose), watching(options.command):
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
    with ACTIVITY.phase(LIBRARIES):
        from rag_evaluator.cli import tasks

    return _stoppable(getattr(tasks, options.command), options)


def probe(options: argparse.Namespace) -> int:
    """`rag-evaluator probe config.yaml`: see whether the judge notices texts that are worse by construction."""
    from rag_evaluator.cli import probe as probing

    return _stoppable(probing.probe, options)


def duel(options: argparse.Namespace) -> int:
    """`rag-evaluator duel results/a results/b`."""
    from rag_evaluator.cli import duel as module

    return _stoppable(module.duel, options)


def plan(options: argparse.Namespace) -> int:
    """`rag-evaluator plan config.yaml`: what a run will ask and take."""
    from rag_evaluator.cli import plan as module

    return _stoppable(module.plan, options)


def testset(options: argparse.Namespace) -> int:
    """`rag-evaluator testset make config.yaml --documents docs/`."""
    from rag_evaluator.cli import testset as module

    return _stoppable(module.testset, options)


def _stoppable(run: Callable[[argparse.Namespace, Stop], int], options: argparse.Namespace) -> int:
    """The exit code of a task that the first signal asks to end soon."""
    stop = Stop(options.grace)
    try:
        with stop:
            return run(options, stop)
    except StopSignal as signal:
        print(f"stopped by {signal}: what was scored is kept, the same command continues.", file=sys.stderr, flush=True)
        if stop.overdue:  # the model's thread is still at work on a batch that nobody waits for
            end_watching()
            sys.stdout.flush()
            os._exit(TRY_AGAIN)
        return TRY_AGAIN


def merge(options: argparse.Namespace) -> int:
    """`rag-evaluator merge results/<name>`: write the result files of a run whose workers have finished."""
    from rag_evaluator.run.merge import merge
    from rag_evaluator.run.worker_journal import MERGE, WorkerJournal
    from rag_evaluator.tasks import stage_of

    incomplete: list[MissingChunksError] = []
    for journal in all_journals(options.folder):
        stage, plan = stage_of(journal), journal.plan
        try:
            merge(WorkerJournal(journal.results, stage, process_name(ALONE), MERGE), stage, run_id(), None)
        except MissingChunksError as error:  # of one task; the others may be complete
            incomplete.append(error)
            continue
        print(f"{plan.units} {plan.unit_noun} from {plan.chunks} chunks written to {journal.results}")
    if incomplete:
        raise MissingChunksError(" ".join(map(str, incomplete)))
    if is_panel(options.folder):
        merge_panel(options.folder)
    return OK


def status(options: argparse.Namespace) -> int:
    """`rag-evaluator status results/<name>`: how far a run is."""
    from rag_evaluator.cli.console import print_json, print_status
    from rag_evaluator.run.status import read_status

    if is_panel(options.folder):
        return print_panel_status(options.folder, options.json)
    stages = read_status(options.folder)
    if options.json:
        print_json({"stages": [stage.to_json() for stage in stages]})
        return OK
    for stage in stages:
        print_status(stage)
    return OK


def submit(options: argparse.Namespace) -> int:
    """`rag-evaluator submit config.yaml --workers 16`: hand a run to Slurm."""
    from rag_evaluator.run import slurm

    config = read_config(options)
    if options.workers < 1:
        raise ConfigError(f"--workers {options.workers}: expected 1 or more.")
    if options.runs and options.task != "duel":
        raise ConfigError(f"--runs is for --task duel, received --task {options.task}.")
    task, results, inputs = _submitted(options, config)
    node = slurm.whole_node(config.judges or [config.judge]) if options.whole_nodes else []
    submission = slurm.prepare(
        options.config,
        results,
        options.workers,
        options.set,
        [*node, *options.sbatch],
        options.launcher,
        task,
        inputs,
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
    print(f"watch it: {command('status', results)}")
    return OK


def _submitted(options: argparse.Namespace, config: Config) -> tuple[str, Path, list[str] | None]:
    """The command of each worker, the results folder, and the command's arguments; None: the configuration."""
    if options.task == "duel":
        return options.task, *duel_inputs(options)
    if options.task in TESTSET_INPUTS:
        return "testset", config.results_dir, TESTSET_INPUTS[options.task](options, config)
    return options.task, config.results_dir, None


TESTSET_INPUTS = {"testset": make_inputs, "testset_check": check_inputs}
COMMANDS = {
    "init": init,
    "check": check,
    "evaluate": evaluate,
    "merge": merge,
    "status": status,
    "submit": submit,
    "sort": function,
    "generate": function,
    "probe": probe,
    "duel": duel,
    "plan": plan,
    "testset": testset,
    "report": report,
    "compare": compare,
    "gate": gate,
    "certify": certify,
    SHEET: sheet,
    "view": view,
    "review": review,
    "prompts": prompts,
    "list": list_names,
    "doctor": doctor,
}


def _evaluate(options: argparse.Namespace, stop: Stop) -> int:
    config = read_config(options)
    worker, start = beginning(options)
    if config.judges:
        evaluate_panel(config, start, lambda: _run(config, worker, start, stop), options.json)
        return _reported(config, options.json)
    from rag_evaluator.cli.console import print_summary
    from rag_evaluator.results.manifest import rows_of
    from rag_evaluator.results.summary import read_summary
    from rag_evaluator.run.finished import outcome
    from rag_evaluator.tasks.run_digest import find_finished

    began = now()
    journal = (None if start == "fresh" else find_finished(config)) or _run(config, worker, start, stop)
    summary = read_summary(config.results_dir)
    if not options.json:
        print_summary(summary, rows_of(journal.about), config, *outcome(journal, began))
    return _reported(config, options.json)


def _reported(config: Config, as_json: bool) -> int:
    """Print what the certificate says, and the requirements that the scores do not keep; the exit code.

    Args:
        as_json: print all that is known of the run instead, as one document.
    """
    from rag_evaluator.results.summary import read_summary

    summary = read_summary(config.results_dir)
    if as_json:
        _print_as_json(config, summary)
        return _code(summary)
    if config.certificate is not None:
        _print_standing(config.certificate, config.results_dir)
    if config.require:
        _print_failed(config.results_dir)
    return _code(summary)


def _code(summary: Mapping[str, Mapping[str, Any]]) -> int:
    return OK if any(row["scored"] for row in summary.values()) else NOTHING_SCORED


def _print_as_json(config: Config, summary: Mapping[str, Any]) -> None:
    from rag_evaluator.api.gate import gate as check
    from rag_evaluator.cli.console import print_json

    verdicts = [verdict.to_json() for verdict in check(config.results_dir)] if config.require else []
    standing = None if config.certificate is None else _standing(config.certificate, config.results_dir)
    about = {"name": config.name, "results": str(config.results_dir), "requirements": verdicts}
    print_json({**about, "certificate": standing, "metrics": summary})


def _print_standing(certificate: Path, results: Path) -> None:
    """What is certified of these scores; whatever has happened to the certificate meanwhile, they are there."""
    from rag_evaluator.cli.console import say

    for line in _standing(certificate, results):
        say(line)


def _standing(certificate: Path, results: Path) -> list[str]:
    from rag_evaluator.results.certificate import standing_lines

    try:
        return list(standing_lines(certificate, results))
    except ResultsError as error:
        return [f"certificate: {error}"]


def _print_failed(results: Path) -> None:
    """The requirements of the configuration that the scores do not keep; `gate` makes them an exit code."""
    from rag_evaluator.api.gate import gate as verdicts_of
    from rag_evaluator.cli.console import say

    for verdict in verdicts_of(results):
        if not verdict.passed:
            say(f"requirement failed: {verdict}")


def _run(config: Config, worker: Worker, start: Start, stop: Stop) -> Journal:
    with ACTIVITY.phase(LIBRARIES):
        from rag_evaluator.api.evaluator import RAGEvaluator

    evaluator = RAGEvaluator(config)
    with ACTIVITY.counted("scores") as progress:
        return evaluator.run(config.results_dir, worker=worker, progress=progress, stop=stop, start=start)
