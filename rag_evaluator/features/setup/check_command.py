"""`rag-evaluator check config.yaml`: would a run work? Without a configuration: versions and devices."""

import argparse
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rag_evaluator.cli import (
    BAD_INPUT,
    FAILED,
    OK,
    TRY_AGAIN,
    add_json,
    add_rows,
    add_set,
    print_json,
    say,
    with_examples,
)
from rag_evaluator.errors import ConfigError, JudgeLostError, MissingChunksError
from rag_evaluator.files import loading_libraries
from rag_evaluator.resources import command
from rag_evaluator.results import counted

from .checks import Check, CheckReport

PASSING = (JudgeLostError, MissingChunksError)  # errors after which the same command may do
LETTERS = 160  # of texts that a check of the judge's work names
FIRST_LINES = 6  # of a prompt
LAST_LINES = 24  # between them are the examples


def add_check_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "check",
        help="look at everything that a run needs, and judge one row",
        description="Look at configuration, rows, prompts, model, memory, disk and what is in the results folder;\n"
        "load the judge, show a prompt as it gets it, judge one row, and measure the longest rows against its window.\n"
        "Nothing is written. Without a configuration: versions and devices, for a bug report.",
        **with_examples(
            "rag-evaluator check config.yaml",
            "rag-evaluator check config.yaml --set judge.model=/models/Qwen3-8B --prompt",
            "rag-evaluator check config.yaml --json",
            note="exit codes: 0 nothing failed, 1 the row got no score, 2 bad input, 75 the judge was lost",
        ),
    )
    add_json(command)
    command.add_argument("--prompt", action="store_true", help="show the whole prompt, not its beginning and end")
    command.add_argument("config", type=Path, nargs="?", help="YAML file; without one: versions and devices")
    add_set(command)
    add_rows(command)


def check(options: argparse.Namespace) -> int:
    """`rag-evaluator check config.yaml`."""
    from rag_evaluator.cli import read_config

    if options.config is None and (options.set or options.prompt):
        raise ConfigError(f"check: the configuration is missing: {command('check', 'config.yaml')}")
    shown = partial(_print, whole_prompt=options.prompt) if not options.json else lambda check: None
    if options.config is None:
        with loading_libraries():
            from .versions import look_at_versions

        look_at_versions(report := CheckReport(shown))
    else:
        config = read_config(options)
        with loading_libraries():
            from .checking import check as look

        report = look(config, shown=shown)
    if options.json:
        print_json(report.to_json())
    elif options.config is not None:
        failed, warned = (sum(entry.state == state for entry in report.checks) for state in ("failed", "warning"))
        say(f"{f'{failed} failed' if failed else 'ready to run'}, {counted(warned, 'warning')}")
    return exit_code(report)


def exit_code(report: CheckReport) -> int:
    """As a run that meets the same would end; what needs a hand comes first."""
    codes = {_code_of(check) for check in report.checks if check.state == "failed"}
    return next((code for code in (BAD_INPUT, TRY_AGAIN, FAILED) if code in codes), OK)


def _code_of(check: Check) -> int:
    if isinstance(check.error, PASSING):
        return TRY_AGAIN
    return FAILED if check.name == "row" and check.error is None else BAD_INPUT


def _print(check: Check, whole_prompt: bool) -> None:
    say(f"{check.state:<8} {check.name:<14} {check.text}")
    if check.name == "template":
        for line in _shortened(check.details["prompt"].split("\n"), whole_prompt):
            say(f"         | {line}")
    if check.name == "row":
        for metric, score in check.details.get("scores", {}).items():
            for line in _score_lines(metric, score):
                say(f"         {line}")


def _shortened(lines: list[str], whole: bool) -> list[str]:
    left_out = len(lines) - FIRST_LINES - LAST_LINES
    if whole or left_out <= 1:
        return lines
    return [*lines[:FIRST_LINES], f"... {left_out} lines (--prompt shows them) ...", *lines[-LAST_LINES:]]


def _score_lines(metric: str, score: Mapping[str, Any]) -> Iterator[str]:
    value = "no score" if score["value"] is None else f"{score['value']:.3f}"
    questions = counted(score["questions"], "question")
    tokens = f"{score['prompt_tokens']} + {score['generated_tokens']} tokens"
    cost = f"{questions}, {tokens}, " if score["questions"] else ""
    yield f"{metric}: {value} ({cost}{score['seconds']} s)"
    for flag, texts in score["flags"].items():
        yield f"  {flag}: {' · '.join(texts)[:LETTERS]}"
    for reason in score["reasons"]:
        yield f"  {reason}"
