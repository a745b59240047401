"""The command line: subcommands, exit codes, and the only place that prints."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rag_evaluator.config import load, prepare_command
from rag_evaluator.errors import SHELL, JudgeLostError, MissingChunksError, RagEvaluatorError, did_you_mean
from rag_evaluator.files import OWN_PROCESS, Stop, StopSignal, loading_libraries

from .arguments import all_commands, parser_of_commands
from .options import BAD_INPUT, INTERRUPTED, TRY_AGAIN
from .watching import end_watching, watching


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    if arguments is None:
        OWN_PROCESS.set()
    commands = all_commands()
    arguments = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if (two_words := " ".join(arguments[:2])) in commands:
        arguments[:2] = [two_words]
    if arguments and not arguments[0].startswith("-") and arguments[0] not in commands:
        if not _is_path(arguments[0]):
            what = f"is neither a command nor a file.{did_you_mean(arguments[0], commands)}"
            print(f"error: '{arguments[0]}' {what}", file=sys.stderr)
            return BAD_INPUT
        arguments.insert(0, "evaluate")
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    reset = SHELL.set(True)
    try:
        typed = arguments[0] if arguments and arguments[0] in commands else None
        options = parser_of_commands(typed).parse_args(arguments[:cut])
        options.words = arguments[:cut]
        options.sbatch = arguments[cut + 1 :]
        prepare_command(options.verbose)
        with watching(commands[options.command]):
            return _run(options)
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


def _run(options: argparse.Namespace) -> int:
    """The exit code of a command."""
    command = all_commands()[options.command]
    with loading_libraries():
        function = load(command.function)
    return int(_until_stopped(function, options) if command.stoppable else function(options))


def _say_what_is_waited_for(grace: float, signal: str) -> None:
    """Written without the stream's own lock, which the code that was interrupted may hold."""
    line = f"{signal}: what is in progress is finished in at most {grace:g} s; a second signal ends it at once\n"
    os.write(2, (f"\n{line}" if os.isatty(2) else line).encode())


def _until_stopped(run: Callable[[argparse.Namespace, Stop], int], options: argparse.Namespace) -> int:
    """The exit code of a task that the first signal asks to end soon."""
    stop = Stop(options.grace)
    stop.heard = partial(_say_what_is_waited_for, options.grace)
    try:
        with stop:
            return run(options, stop)
    except StopSignal as signal:
        end_watching()
        print(f"stopped by {signal}: what was scored is kept, the same command continues.", file=sys.stderr, flush=True)
        if OWN_PROCESS.is_set():  # the models' thread may be at work on what nobody waits for
            sys.stdout.flush()
            os._exit(TRY_AGAIN)
        return TRY_AGAIN
